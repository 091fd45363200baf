//! Outbound calls and messages of workflows and jobs, all checked by the same egress rules.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use brokers::Brokers;
use engine::{Catalogs, Engine};
use host::Clock;
use ingest::Ingest;
use outbound::{Client, JobCaller, JobOrders, Performer, Sender, sign_in};
use prometheus_client::registry::Registry;
use sources::PartitionOwners;
use vault::Vault;

use crate::config::{Config, ConfigError};
use crate::descriptors::DescriptorBudget;
use crate::queue_sender::QueueSender;
use crate::remote_owners::RemoteOwners;
use crate::starter::WorkflowStarter;

pub(crate) struct Outbound {
    pub performer: Performer,
    brokers: Brokers,
    pub queue_sender: QueueSender,
    remote_owners: Option<RemoteOwners>,
}

impl Outbound {
    pub(crate) fn new(
        config: &Config,
        descriptors: DescriptorBudget,
        vault: Arc<Vault>,
        starter: Arc<WorkflowStarter>,
        region_epoch: Arc<AtomicU64>,
        clock: Clock,
    ) -> Result<Outbound, ConfigError> {
        let client = Client::new(outbound::Settings {
            egress: config.egress()?,
            connections_total: descriptors.outbound,
            region_epoch,
            ..Default::default()
        });
        let brokers = Brokers::new(Arc::new(config.egress()?));
        let remote_owners = starter.remote_owners.clone();
        let queue_sender = QueueSender::new(config.partitions, remote_owners.clone());
        let sender =
            Sender::new(client.clone(), brokers.clone(), Arc::new(queue_sender.clone()), clock.clone());
        let settings = config.job_settings();
        let caller = JobCaller::new(client.clone(), sender.clone(), vault, starter, clock.clone(), settings);
        let orders = JobOrders { caller, region: config.jobs.region.clone() };
        let performer = Performer::new(client, sender, orders, clock);
        Ok(Outbound { performer, brokers, queue_sender, remote_owners })
    }

    /// The sources, which share connections and secrets with outbound messages.
    pub(crate) fn sources(
        &self,
        config: &Config,
        engine: &Engine,
        ingest: &Arc<Ingest>,
        catalogs: &Catalogs,
        metrics: &mut Registry,
    ) -> sources::SourceParts {
        sources::SourceParts {
            engine: engine.clone(),
            ingest: ingest.clone(),
            catalogs: catalogs.clone(),
            partitions: config.partitions,
            metrics: sources::SourceMetrics::register(metrics),
            brokers: self.brokers.clone(),
            login: |service| sign_in::login_of(service, sign_in::PROCESS),
            holders: self.remote_owners.clone().map(|owners| Arc::new(owners) as Arc<dyn PartitionOwners>),
        }
    }
}
