//! Settings of a server that is one of several, and of regions.

use std::path::PathBuf;

use rest::PeerSecret;
use serde::Deserialize;
use vault::Secret;

use super::{Config, ConfigError};

/// 250,000 requests of 400 bytes in each partition: enough for a rush, and 4 GiB of each NATS server with 32 of them.
const INBOX_BYTES_MAX: u64 = 128 << 20;
/// Four full messages.
const INBOX_BYTES_LEAST: u64 = 16 << 20;
/// A slip of the pen, above it.
const INBOX_BYTES_MOST: u64 = 1 << 40;

/// How this instance finds the others. Without `nats` it is alone.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ClusterConfig {
    /// The NATS servers, like `nats://10.0.0.1:4222`.
    pub nats: Vec<String>,
    /// The installation: what everything that it keeps in NATS is named after.
    pub name: String,
    /// How the others reach this instance, like `http://10.0.0.5:7070`; `http://` and `listen` unless it is given.
    pub advertise: Option<String>,
    /// What instances show each other; the same for all.
    pub secret: Option<String>,
    /// How many NATS servers keep each stream.
    pub replicas: usize,
    /// What the inbox of each partition may hold; more is refused.
    pub inbox_bytes_max: u64,
    pub roles: Vec<Role>,
    /// The place of this instance among `ordinals`, when partitions are assigned by it.
    pub ordinal: Option<u32>,
    pub ordinals: Option<u32>,
    /// Where snapshots are kept: `nats`, or a URL with s3, az, gs or file.
    pub snapshots: String,
    pub user: Option<String>,
    pub password: Option<String>,
    /// A file with credentials of NATS.
    pub credentials: Option<PathBuf>,
    /// Files in PEM: authorities beside those of the machine, and the certificate that this instance shows, with its key.
    pub tls_ca_file: Option<PathBuf>,
    pub tls_certificate_file: Option<PathBuf>,
    pub tls_key_file: Option<PathBuf>,
    /// A user of the servers' system account, which can ask them how they are set up.
    pub system_user: Option<String>,
    pub system_password: Option<String>,
    /// Or the servers' monitoring addresses, like `http://10.0.0.1:8222`.
    pub monitor: Vec<String>,
    /// Whether the servers' settings were checked by a person, so that not being able to ask is no reason to refuse.
    pub trust_servers: bool,
}

/// What an instance does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    Ingest,
    Engine,
    Rest,
}

/// The region of this installation, when it has a pair.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RegionConfig {
    /// The name of this region; without one there are no regions.
    pub name: Option<String>,
    /// The other one; for Azure's locations the one that Azure pairs it with.
    pub pair: Option<String>,
    /// The region that is active when neither has ever been; the first of the two by name unless it is given.
    pub home: Option<String>,
    /// The JetStream domains of both; the regions' names unless they are given.
    pub domain: Option<String>,
    pub pair_domain: Option<String>,
    /// NATS servers at a third place, which decide when one region has to stand in for the other.
    pub witness: Vec<String>,
    /// Whether an answer waits until the pair has what it promises.
    pub semi_sync: bool,
}

impl Default for ClusterConfig {
    fn default() -> ClusterConfig {
        ClusterConfig {
            nats: Vec::new(),
            name: "sortie".to_owned(),
            advertise: None,
            secret: None,
            replicas: 3,
            inbox_bytes_max: INBOX_BYTES_MAX,
            roles: vec![Role::Ingest, Role::Engine, Role::Rest],
            ordinal: None,
            ordinals: None,
            snapshots: "nats".to_owned(),
            user: None,
            password: None,
            credentials: None,
            tls_ca_file: None,
            tls_certificate_file: None,
            tls_key_file: None,
            system_user: None,
            system_password: None,
            monitor: Vec::new(),
            trust_servers: false,
        }
    }
}

impl ClusterConfig {
    /// Whether this instance is one of several.
    pub fn is_on(&self) -> bool {
        !self.nats.is_empty()
    }

    pub(crate) fn roles(&self) -> cluster::Roles {
        let has = |role| self.roles.contains(&role);
        cluster::Roles { ingest: has(Role::Ingest), engine: has(Role::Engine), rest: has(Role::Rest) }
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
        if !(INBOX_BYTES_LEAST..=INBOX_BYTES_MOST).contains(&inbox) {
            return setting(format!(
                "cluster.inbox_bytes_max: {inbox} is not {INBOX_BYTES_LEAST} to {INBOX_BYTES_MOST}; all inboxes \
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

    /// What instances know each other by.
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

    /// The place of this instance, which the command line may have given after the settings were read.
    pub(crate) fn place(&self) -> Result<Option<u32>, ConfigError> {
        let setting = |text: String| Err(ConfigError::Setting(text));
        match (self.ordinal, self.ordinals) {
            (None, None) => Ok(None),
            (Some(ordinal), Some(ordinals)) if ordinal < ordinals => Ok(Some(ordinal)),
            (Some(ordinal), Some(ordinals)) => {
                setting(format!("cluster.ordinal: {ordinal} is not below cluster.ordinals, {ordinals}"))
            }
            (Some(_), None) => setting("cluster.ordinals: say how many instances have ordinals".to_owned()),
            (None, Some(_)) => setting(
                "cluster.ordinal: say which of them this instance is, or start it with --ordinal".to_owned(),
            ),
        }
    }
}

impl Config {
    /// The region and its pair, when there is one.
    pub(crate) fn region_settings(&self) -> Result<Option<journal_nats::regions::Settings>, ConfigError> {
        let RegionConfig { name, pair, home, domain, pair_domain, .. } = &self.region;
        let Some(name) = name else { return Ok(None) };
        let Some(pair) = pair.clone().or_else(|| types::azure_pair(name).map(str::to_owned)) else {
            return Err(ConfigError::Setting(format!(
                "region.pair: name the region that stands in for {name}; it is no location of Azure with a pair"
            )));
        };
        if pair == *name {
            return Err(ConfigError::Setting("region.pair: a region is not its own pair".to_owned()));
        }
        let home = home.clone().unwrap_or_else(|| name.min(&pair).clone());
        if home != *name && home != pair {
            return Err(ConfigError::Setting(format!("region.home: {home} is neither {name} nor {pair}")));
        }
        let mut settings = journal_nats::regions::Settings::new(name, &pair, &home, &self.cluster.name);
        settings.domain = domain.clone().unwrap_or(settings.domain);
        settings.pair_domain = pair_domain.clone().unwrap_or(settings.pair_domain);
        settings.replicas = self.cluster.replicas;
        settings.data = self.data.clone();
        Ok(Some(settings))
    }
}
