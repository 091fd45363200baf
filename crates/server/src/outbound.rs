//! What reaches out: calls of workflows and jobs, and messages, all under one outbound guard.

use std::sync::Arc;

use brokers::Brokers;
use effects::{Client, JobCaller, JobOrders, Performer, Sender};
use host::Clock;
use vault::Vault;

use crate::config::{Config, ConfigError};
use crate::descriptors::Descriptors;
use crate::post::Postman;
use crate::starter::WorkflowStarter;

pub(crate) struct Outbound {
    pub performer: Performer,
    pub brokers: Brokers,
    pub postman: Postman,
}

impl Outbound {
    pub(crate) fn new(
        config: &Config,
        descriptors: Descriptors,
        vault: Arc<Vault>,
        starter: Arc<WorkflowStarter>,
        clock: Clock,
    ) -> Result<Outbound, ConfigError> {
        let client = Client::new(effects::Settings {
            egress: config.egress()?,
            connections_total: descriptors.outbound,
            ..Default::default()
        });
        let brokers = Brokers::new(Arc::new(config.egress()?));
        let postman = Postman::new(config.partitions);
        let sender = Sender::new(client.clone(), brokers.clone(), Arc::new(postman.clone()), clock.clone());
        let settings = config.job_settings();
        let caller = JobCaller::new(client.clone(), sender.clone(), vault, starter, clock.clone(), settings);
        let orders = JobOrders { caller, region: config.jobs.region.clone() };
        let performer = Performer::new(client, sender, orders, clock);
        Ok(Outbound { performer, brokers, postman })
    }
}
