//! The settings of a cluster and of paired regions.

use std::path::PathBuf;

use rest::PeerSecret;
use serde::Deserialize;
use vault::Secret;

use super::declare::settings;
use super::{Config, ConfigError};

/// 250,000 requests of 400 bytes in each partition: enough for a spike, and 4 GiB on each NATS server with 32 partitions.
const INBOX_BYTES_MAX: u64 = 128 << 20;
/// Four full messages.
const INBOX_BYTES_LOWEST: u64 = 16 << 20;
/// A value above this is a typing error.
const INBOX_BYTES_HIGHEST: u64 = 1 << 40;

settings! {
    /// How this instance finds the others. Without `nats` it is a single server.
    pub struct ClusterConfig {
        /// NATS servers, like `["nats://10.0.0.1:4222"]`; with them this server is an instance of a [cluster](../operating/cluster.md).
        nats: Vec<String>, url;
        /// The name of the installation, which the names of all its streams and buckets in NATS begin with.
        name: String = "sortie".to_owned(), shown;
        /// The URL at which other instances reach this one.
        advertise: Option<String>, url, default "`http://` and `listen`";
        /// The secret that instances authenticate to each other with, the same for all; at least 16 characters. Set it by its variable.
        secret: Option<String>, secret;
        /// How many NATS servers keep a copy of each stream.
        replicas: usize = 3, shown;
        /// The size of each partition's inbox on the NATS servers; requests beyond it are refused with 503.
        inbox_bytes_max: u64 = INBOX_BYTES_MAX, bytes;
        /// What this instance does: `ingest`, `engine`, `rest`.
        roles: Vec<InstanceRole> = InstanceRole::ALL.to_vec(), shown, default "all";
        /// The number of this instance, when partitions are assigned by ordinal; also `--ordinal`.
        ordinal: Option<u32>, shown;
        /// The number of instances, when partitions are assigned by ordinal.
        ordinals: Option<u32>, shown;
        /// Where snapshots are stored: `nats`, or a URL with the scheme `s3`, `az`, `gs` or `file`.
        snapshots: String = "nats".to_owned(), url;
        /// The user name for NATS.
        user: Option<String>, shown;
        /// The password for NATS. Set it by its variable.
        password: Option<String>, secret;
        /// Or a NATS credentials file.
        credentials: Option<PathBuf>, shown;
        /// A PEM file with certificate authorities to trust in addition to those of the machine. With it, a client certificate or a `tls://` address, NATS servers without TLS are refused.
        tls_ca_file: Option<PathBuf>, shown;
        /// The PEM file of the client certificate for NATS.
        tls_certificate_file: Option<PathBuf>, shown;
        /// The PEM file of its private key.
        tls_key_file: Option<PathBuf>, shown;
        /// A user of the NATS system account, with which the servers' configuration is read and checked.
        system_user: Option<String>, shown;
        /// Its password. Set it by its variable.
        system_password: Option<String>, secret;
        /// Or the monitoring URLs of the NATS servers, like `["http://10.0.0.1:8222"]`.
        monitor: Vec<String>, url;
        /// Whether to start although the configuration of the NATS servers could not be read.
        trust_servers: bool, shown;
    }
}

settings! {
    /// The region of this installation, when it has a pair.
    pub struct RegionConfig {
        /// The name of this region, when the installation is one of a [pair](../operating/regions.md).
        name: Option<String>, shown;
        /// The name of the other region.
        pair: Option<String>, shown, default "Azure's pair of `region.name`";
        /// The region that is active before any switch; the same in both.
        home: Option<String>, shown, default "the first of the two by name";
        /// The JetStream domain of this region.
        domain: Option<String>, shown, default "`region.name`";
        /// The JetStream domain of the other region.
        pair_domain: Option<String>, shown, default "`region.pair`";
        /// NATS servers at a third location; with them, failover to the other region is automatic.
        witness: Vec<String>, url;
        /// Whether a request is acknowledged only after the other region has a copy of it.
        semi_sync: bool, shown;
    }
}

/// What an instance does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum InstanceRole {
    Ingest,
    Engine,
    Rest,
}

impl InstanceRole {
    const ALL: [InstanceRole; 3] = [InstanceRole::Ingest, InstanceRole::Engine, InstanceRole::Rest];

    pub(crate) fn name(self) -> &'static str {
        match self {
            InstanceRole::Ingest => "ingest",
            InstanceRole::Engine => "engine",
            InstanceRole::Rest => "rest",
        }
    }
}

impl ClusterConfig {
    /// Whether this server is an instance of a cluster.
    pub fn is_on(&self) -> bool {
        !self.nats.is_empty()
    }

    pub(crate) fn roles(&self) -> cluster::Roles {
        let has = |role| self.roles.contains(&role);
        cluster::Roles {
            ingest: has(InstanceRole::Ingest),
            engine: has(InstanceRole::Engine),
            rest: has(InstanceRole::Rest),
        }
    }

    pub(super) fn check(&self, config: &Config) -> Result<(), ConfigError> {
        let setting = |text: String| Err(ConfigError::Setting(text));
        if !self.is_on() {
            if config.region.name.is_some() {
                return setting("region.name: regions need cluster.nats".to_owned());
            }
            return Ok(());
        }
        config.region_settings()?;
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if self.name.is_empty() || self.name.len() > 32 || !self.name.chars().all(plain) {
            return setting(format!("cluster.name: {:?} is not 1 to 32 letters, digits, - and _", self.name));
        }
        if !(1..=5).contains(&self.replicas) {
            return setting(format!("cluster.replicas: {} is not 1 to 5", self.replicas));
        }
        let inbox = self.inbox_bytes_max;
        if !(INBOX_BYTES_LOWEST..=INBOX_BYTES_HIGHEST).contains(&inbox) {
            return setting(format!(
                "cluster.inbox_bytes_max: {inbox} is not {INBOX_BYTES_LOWEST} to {INBOX_BYTES_HIGHEST}; all inboxes \
                 together must fit into max_file_store of the NATS servers, with room for events and snapshots"
            ));
        }
        if self.tls_certificate_file.is_some() != self.tls_key_file.is_some() {
            return setting(
                "cluster.tls_certificate_file: give it together with cluster.tls_key_file".to_owned(),
            );
        }
        if self.roles.is_empty() {
            return setting("cluster.roles: give at least one of ingest, engine and rest".to_owned());
        }
        self.peer()?;
        if config.secrets.key.is_none() && config.secrets.key_file.is_none() {
            return setting(
                "secrets.key: instances seal secrets for each other, so all need the same key; make one with: \
                 openssl rand -hex 32"
                    .to_owned(),
            );
        }
        Ok(())
    }

    /// The secret that instances authenticate to each other with.
    pub(crate) fn peer(&self) -> Result<PeerSecret, ConfigError> {
        let secret = self.secret.as_ref().filter(|secret| secret.len() >= 16);
        let peer = secret.and_then(|secret| PeerSecret::new(&Secret::new(secret.clone())));
        peer.ok_or_else(|| {
            ConfigError::Setting(
                "cluster.secret: instances need a secret of at least 16 characters that a header can carry, the same \
                 for all; give it as SORTIE_CLUSTER__SECRET"
                    .to_owned(),
            )
        })
    }

    /// The ordinal of this instance, which the command line may have given after the settings were read.
    pub(crate) fn checked_ordinal(&self) -> Result<Option<u32>, ConfigError> {
        let setting = |text: String| Err(ConfigError::Setting(text));
        match (self.ordinal, self.ordinals) {
            (None, None) => Ok(None),
            (Some(ordinal), Some(ordinals)) if ordinal < ordinals => Ok(Some(ordinal)),
            (Some(ordinal), Some(ordinals)) => {
                setting(format!("cluster.ordinal: {ordinal} is not below cluster.ordinals, {ordinals}"))
            }
            (Some(_), None) => setting(
                "cluster.ordinals: give the number of instances together with cluster.ordinal".to_owned(),
            ),
            (None, Some(_)) => setting(
                "cluster.ordinal: give the number of this instance, here or with --ordinal".to_owned(),
            ),
        }
    }
}

impl Config {
    /// The region and its pair, when there is one.
    pub(crate) fn region_settings(&self) -> Result<Option<regions::Settings>, ConfigError> {
        let RegionConfig { name, pair, home, domain, pair_domain, .. } = &self.region;
        let Some(name) = name else { return Ok(None) };
        let Some(pair) = pair.clone().or_else(|| types::azure_pair(name).map(str::to_owned)) else {
            return Err(ConfigError::Setting(format!(
                "region.pair: name the region that stands in for {name}; Azure has no pair for it"
            )));
        };
        if pair == *name {
            return Err(ConfigError::Setting("region.pair: a region is not its own pair".to_owned()));
        }
        let home = home.clone().unwrap_or_else(|| name.min(&pair).clone());
        if home != *name && home != pair {
            return Err(ConfigError::Setting(format!("region.home: {home} is neither {name} nor {pair}")));
        }
        let mut settings = regions::Settings::new(name, &pair, &home, &self.cluster.name);
        settings.domain = domain.clone().unwrap_or(settings.domain);
        settings.pair_domain = pair_domain.clone().unwrap_or(settings.pair_domain);
        settings.replicas = self.cluster.replicas;
        settings.data = self.data.clone();
        Ok(Some(settings))
    }
}
