//! NATS as this instance uses it: the connection, the journal on it, the register of instances, the regions.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use cluster::NatsRegister;
use journal_nats::jetstream::JetStream;
use journal_nats::{
    Installation, Login, NatsJournal, NatsWire, OpenError, Proof, Servers, Settings, Tls, layout, names,
    new_process, preflight,
};
use regions::{Paired, RegionError, Regions};
use snapshots::address::{AddressError, AnyStore, without_secrets};
use snapshots::bucket::Bucket;
use snapshots::stored::StoredSnapshots;
use tokio::sync::watch;

use crate::config::{ClusterConfig, Config, ConfigError};
use crate::journals::{AnyJournal, Snapshots};

/// How often a standby looks whether the active region has created the streams that it mirrors.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Why NATS cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum NatsError {
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error(transparent)]
    Region(#[from] RegionError),
    #[error(transparent)]
    Address(#[from] AddressError),
    #[error("the bucket {bucket} of the active region is not mirrored yet")]
    NotMirrored { bucket: String },
}

impl NatsError {
    /// Whether a retry can succeed only after an operator has changed something.
    pub(crate) fn is_of_settings(&self) -> bool {
        match self {
            NatsError::Config(_) | NatsError::Address(_) => true,
            NatsError::Open(error) => error.is_of_settings(),
            NatsError::Region(error) => matches!(error, RegionError::LinkCarries { .. }),
            NatsError::NotMirrored { .. } => false,
        }
    }
}

/// What an instance uses of NATS.
pub(crate) struct Nats {
    pub journal: Arc<AnyJournal>,
    pub register: NatsRegister,
    pub regions: Option<Regions>,
    /// What the servers report about their configuration.
    pub survey: watch::Receiver<preflight::Survey>,
}

impl Nats {
    pub async fn open(config: &Config) -> Result<Nats, NatsError> {
        let settings = settings(config);
        let jetstream = JetStream::connect(&settings).await?;
        let servers = preflight::check(&settings, &jetstream).await?;
        let wire = NatsWire::new(jetstream.clone(), &settings, servers.clone());
        let regions = join_regions(config, &jetstream).await?;
        if regions.is_some() {
            layout::check_region(&jetstream, &settings.installation, settings.replicas).await?;
        }
        let is_active = regions.as_ref().is_none_or(|regions| *regions.active().borrow());
        let (active, shown_active) = watch::channel(is_active);
        let cluster = &config.cluster;
        let register = NatsRegister::start(&jetstream, &cluster.name, cluster.replicas, shown_active).await?;
        let journal = loop {
            // Checked in each round: with a witness this region may become active at any moment, or its pair may.
            let own = regions.as_ref().is_none_or(Regions::has_own_streams);
            let opened = async {
                if own {
                    layout::ensure(&jetstream, &settings.installation, settings.replicas).await?;
                    let (region, place) =
                        (config.region.name.as_deref(), without_secrets(&cluster.snapshots));
                    layout::note_snapshots(&jetstream, &settings.installation, region, &place).await?;
                } else {
                    layout::check_partitions(&jetstream, &settings.installation).await?;
                }
                open_journal(config, &settings, &wire, regions.as_ref(), own).await
            };
            match opened.await {
                // A standby that has never reached its pair has no mirrors yet.
                Err(error) if !own && !error.is_of_settings() => {
                    tracing::info!(%error, "waiting for the streams of the active region");
                    tokio::time::sleep(LOOK_EVERY).await;
                }
                opened => break opened?,
            }
        };
        let journal = Arc::new(journal);
        if let Some(regions) = &regions {
            host::spawn("region role", follow_role(regions.active(), active, Arc::downgrade(&journal)));
        }
        Ok(Nats { journal, register, regions, survey: servers.survey() })
    }
}

/// Forwards whether the region is active; that it became active only after the journal has dropped what it remembered.
async fn follow_role(mut from: watch::Receiver<bool>, to: watch::Sender<bool>, journal: Weak<AnyJournal>) {
    loop {
        let active = *from.borrow_and_update();
        if active && !*to.borrow() {
            let Some(journal) = journal.upgrade() else { return };
            journal.forget().await;
        }
        to.send_if_modified(|current| std::mem::replace(current, active) != active);
        if from.changed().await.is_err() {
            return;
        }
    }
}

/// The region's epoch as calls carry it; zero, and so none, without regions.
pub(crate) fn region_epoch(regions: Option<&Regions>) -> Arc<AtomicU64> {
    let shown = Arc::new(AtomicU64::new(0));
    if let Some(regions) = regions {
        let (mut epoch, shown) = (regions.epoch(), shown.clone());
        shown.store(*epoch.borrow_and_update(), Ordering::Relaxed);
        host::spawn("region epoch", async move {
            while epoch.changed().await.is_ok() {
                shown.store(*epoch.borrow_and_update(), Ordering::Relaxed);
            }
        });
    }
    shown
}

async fn open_journal(
    config: &Config,
    settings: &Settings,
    wire: &NatsWire,
    regions: Option<&Regions>,
    own: bool,
) -> Result<AnyJournal, NatsError> {
    let cluster = &config.cluster;
    let bucket = names::snapshot_bucket(&cluster.name);
    let store = match cluster.snapshots.as_str() {
        "nats" => {
            // In a standby the bucket is a mirror, which must not be created here.
            let made = wire.jetstream().info(&format!("OBJ_{bucket}")).await.is_ok();
            if !made && !own {
                return Err(NatsError::NotMirrored { bucket });
            }
            AnyStore::Bucket(Box::new(Bucket::open(wire.jetstream(), &bucket, cluster.replicas).await?))
        }
        address => AnyStore::at(address)?,
    };
    let snapshots: Snapshots = StoredSnapshots::new(store, &cluster.name);
    let wire = Paired::new(wire.clone(), regions.cloned(), config.region.semi_sync);
    let opened = NatsJournal::over(wire, &settings.installation, snapshots, new_process()).await;
    Ok(AnyJournal::Nats(opened.map_err(OpenError::from)?))
}

async fn join_regions(config: &Config, jetstream: &JetStream) -> Result<Option<Regions>, NatsError> {
    let Some(mut settings) = config.region_settings()? else { return Ok(None) };
    // One instance at a time does the work of the region, so each needs an id.
    settings.instance = host::new_run_id().to_string();
    if !config.region.witness.is_empty() {
        let witness = Settings { servers: Servers(config.region.witness.clone()), ..self::settings(config) };
        settings.witness = Some(JetStream::connect_whenever(&witness).await?);
    }
    loop {
        match Regions::join(jetstream.clone(), settings.clone()).await {
            // Instances that start together update the same record; all but one must read it again.
            Err(RegionError::Changed) => tokio::time::sleep(LOOK_EVERY).await,
            joined => return Ok(Some(joined?)),
        }
    }
}

fn settings(config: &Config) -> Settings {
    let cluster = &config.cluster;
    let pair = config.region_settings().ok().flatten();
    Settings {
        servers: Servers(cluster.nats.clone()),
        login: login(cluster),
        tls: tls(cluster),
        installation: Installation {
            name: cluster.name.clone(),
            partitions: config.partitions,
            inbox_bytes_max: Some(cluster.inbox_bytes_max),
        },
        replicas: cluster.replicas,
        pair_domain: pair.map(|pair| pair.pair_domain),
        proof: proof(cluster),
    }
}

fn tls(cluster: &ClusterConfig) -> Tls {
    let ca_file = cluster.tls_ca_file.clone();
    let certificate = cluster.tls_certificate_file.clone().zip(cluster.tls_key_file.clone());
    Tls { required: ca_file.is_some() || certificate.is_some(), ca_file, certificate }
}

fn login(cluster: &ClusterConfig) -> Login {
    match (&cluster.credentials, &cluster.user, &cluster.password) {
        (Some(file), _, _) => Login::Credentials(file.clone()),
        (None, Some(user), password) => {
            Login::Password { user: user.clone(), password: password.clone().unwrap_or_default() }
        }
        (None, None, _) => Login::Anonymous,
    }
}

fn proof(cluster: &ClusterConfig) -> Proof {
    match (&cluster.system_user, &cluster.system_password) {
        (Some(user), password) => Proof::SystemAccount(Login::Password {
            user: user.clone(),
            password: password.clone().unwrap_or_default(),
        }),
        (None, _) if !cluster.monitor.is_empty() => Proof::Monitoring(cluster.monitor.clone()),
        (None, _) if cluster.trust_servers => Proof::Trusted,
        (None, _) => Proof::Missing,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_that_carries_too_much_needs_an_operator_and_an_unreachable_pair_does_not() {
        let pair = || "west".to_owned();
        let carries = RegionError::LinkCarries { subject: "$KV.>".to_owned(), pair: pair() };
        let away = RegionError::PairUnreachable { pair: pair(), cause: "no answer".to_owned() };
        assert_eq!([carries, away].map(|error| NatsError::from(error).is_of_settings()), [true, false]);
    }
}
