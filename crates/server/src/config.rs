//! The settings of a server: a TOML file, with every key overridable by a `SORTIE_…` variable.
//!
//! A setting is declared here or in the module of its section, once: see [`declare`].

pub(crate) mod declare;

mod cluster;
mod keys;
mod load;
mod tokens;

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use rest::Access;
use serde::Deserialize;
use types::Span;
use vault::{KeyFileError, Vault};

use self::declare::{Declared, Setting, settings};

pub use cluster::{ClusterConfig, InstanceRole, RegionConfig};
pub use keys::KeyConfig;
pub(crate) use load::{has_variable, variable};
pub use tokens::TokenConfig;

settings! {
    /// All settings. Unknown keys are refused: a misspelt one must not be a silent default.
    pub struct Config {
        /// The directory of the journal and the view.
        data: PathBuf = PathBuf::from("sortie-data"), shown;
        /// The address that the API listens on.
        listen: SocketAddr = SocketAddr::from((Ipv4Addr::LOCALHOST, 7070)), shown;
        /// The number of partitions, fixed when the data directory is created.
        partitions: u16 = 32, shown;
        /// How long ended runs are kept: they can be looked up, and a request that repeats one of their ids is a duplicate.
        keep_ended: Span = Span::from_secs(90 * 24 * 3600), shown;
        /// API tokens by name.
        tokens: BTreeMap<String, TokenConfig>, entries;
        /// Keys for shared access signatures.
        keys: Vec<KeyConfig>, entries;
        egress: EgressConfig, section;
        journal: JournalConfig, section;
        limits: LimitsConfig, section;
        jobs: JobsConfig, section;
        secrets: SecretsConfig, section;
        cluster: ClusterConfig, section;
        region: RegionConfig, section;
    }
    not settings {
        /// Without tokens, on loopback only; `sortie dev` alone turns it on.
        dev: bool;
        /// The file that the settings were read from.
        file: Option<PathBuf>;
    }
}

settings! {
    /// Which addresses workflows and jobs may call. Without any allowance: public ones only.
    pub struct EgressConfig {
        /// Networks that workflows and jobs may call, like `10.0.0.0/8`.
        networks: Vec<String>, shown;
        /// Host names, or `*.suffix`, that may resolve to private addresses.
        names: Vec<String>, shown;
        /// Whether workflows and jobs may call loopback addresses.
        loopback: bool, shown;
    }
}

settings! {
    /// How the journal on disk is written.
    pub struct JournalConfig {
        /// When an append is acknowledged: `data`, after a data sync of the disk; `off`, at once, so that a power failure loses acknowledged requests (for benchmarks only).
        sync: SyncMode = SyncMode::Data, shown;
        /// How long, at most, a group of appends waits for further ones before it is synced, when many are in flight.
        linger_max_us: u64 = 500, shown;
        /// The size of a segment file.
        segment_bytes: u64 = 64 << 20, bytes;
        /// Disk space that is reserved so that running work can end when the disk is full.
        reserve_bytes: u64 = 64 << 20, bytes;
        /// When the journal is larger than this, partitions take snapshots so that it can be trimmed.
        bytes_max: u64 = 512 << 20, bytes;
    }
}

settings! {
    /// How much work is accepted at once.
    pub struct LimitsConfig {
        /// Runs that are accepted and have not ended; further requests are refused with 429.
        unfinished_runs_max: usize = ingest::limits::UNFINISHED_RUNS_MAX, shown;
        /// Resident memory above which requests are refused; at most two fifths of what the machine or its cgroup allows.
        memory_bytes_max: u64 = ingest::limits::MEMORY_BYTES_MAX, bytes;
        /// Calls in flight or waiting for their service at which no more requests are taken from the inbox; divided evenly among the partitions.
        calls_max: usize = engine::limits::CALLS_MAX, shown;
        /// Runs in memory, parked ones not counted; divided evenly among the partitions. A partition that has reached its share fires no jobs until some runs have ended.
        live_runs_max: usize = engine::limits::LIVE_RUNS_MAX, shown;
    }
}

settings! {
    /// How jobs are kept and called. The defaults are those of Azure Scheduler.
    pub struct JobsConfig {
        /// The value of the header `x-ms-scheduler-execution-region` in calls of jobs.
        region: String = "local".to_owned(), shown;
        /// The timeout of one attempt of a job.
        timeout: Span = Span::from_secs(60), shown;
        /// Calls of jobs in flight to one origin; further ones wait.
        calls_per_origin: usize = outbound::JobSettings::default().calls_per_origin, shown;
        /// The shortest `retryInterval` of a job.
        retry_interval_min: Span = schedule::Limits::default().retry_interval_min, shown;
        /// The largest `retryCount` of a job.
        retry_count_max: u32 = schedule::Limits::default().retry_count_max, shown;
        /// How long the attempts of a job are kept; not longer than `keep_ended`.
        history_for: Span = Span::from_secs(60 * 24 * 3600), shown;
        /// Ended occurrences that are kept of each job.
        history_max_per_job: usize = engine::limits::HISTORY_MAX_PER_JOB, shown;
        /// The authority that issues tokens for `ActiveDirectoryOAuth`, asked at `AUTHORITY/TENANT/oauth2/token`; the egress rules apply to it.
        authority: String = outbound::JobSettings::default().authority, url;
    }
}

settings! {
    /// The keys that secrets are sealed with.
    pub struct SecretsConfig {
        /// The key that secrets are sealed with: 32 bytes as base64, or 64 hexadecimal digits. Set it by its variable.
        key: Option<String>, secret;
        /// The file of the key; created if it is missing, refused if other users can read it. Not together with `secrets.key`.
        key_file: Option<PathBuf>, shown, default "`secrets.key` in `data`";
        /// Former keys, which older secrets may be sealed with.
        old_keys: Vec<String>, secret;
    }
}

/// When an append is acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SyncMode {
    /// After a data sync of the disk.
    Data,
    /// At once: a power failure loses acknowledged requests. For benchmarks only.
    Off,
}

impl SyncMode {
    pub(crate) fn name(self) -> &'static str {
        match self {
            SyncMode::Data => "data",
            SyncMode::Off => "off",
        }
    }
}

/// Why the settings cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error("reading {}: {source}", path.display())]
    Read { path: PathBuf, source: std::io::Error },
    #[error("{}: {message}", path.display())]
    File { path: PathBuf, message: String },
    #[error("{0}")]
    Setting(String),
    /// Nothing is wrong with the settings: the disk failed.
    #[error("secrets.key_file: {0}")]
    KeyFile(KeyFileError),
}

impl Config {
    /// The settings of `sortie dev`: no tokens, listening on loopback only, calls to loopback allowed.
    pub fn dev(data: PathBuf, port: u16) -> Config {
        Config {
            data,
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, port)),
            egress: EgressConfig { loopback: true, ..EgressConfig::default() },
            dev: true,
            ..Config::default()
        }
    }

    /// Every setting with its value, section by section.
    pub(crate) fn settings(&self) -> Vec<Setting> {
        let mut settings = Vec::new();
        Config::list(Some(self), "", &mut settings);
        settings
    }

    fn check(&self) -> Result<(), ConfigError> {
        let setting = |text: String| Err(ConfigError::Setting(text));
        if self.partitions == 0 || self.partitions > 1024 {
            return setting(format!("partitions: {} is not 1 to 1024", self.partitions));
        }
        if self.journal.segment_bytes < 16 << 20 {
            return setting("journal.segment_bytes: must be at least 16777216 (16 MiB)".to_owned());
        }
        if self.journal.segment_bytes > 1 << 30 {
            return setting("journal.segment_bytes: must be at most 1073741824 (1 GiB)".to_owned());
        }
        let limits = &self.limits;
        for (name, value) in [("calls_max", limits.calls_max), ("live_runs_max", limits.live_runs_max)] {
            if value < usize::from(self.partitions) {
                let text = format!(
                    "limits.{name}: {value} is less than one for each of {} partitions",
                    self.partitions
                );
                return setting(text);
            }
        }
        self.cluster.check(self)?;
        self.access()?;
        self.egress()?;
        Ok(())
    }

    /// Who has access. Without tokens nobody, except in `dev` on loopback.
    pub(crate) fn access(&self) -> Result<Access, ConfigError> {
        let keys = keys::read(&self.keys)?;
        if self.dev && self.tokens.is_empty() {
            if !self.listen.ip().is_loopback() {
                return Err(ConfigError::Setting(format!(
                    "listen: {} is not loopback, and without tokens everybody would have access",
                    self.listen
                )));
            }
            return Ok(Access::Open);
        }
        if self.tokens.is_empty() {
            return Err(ConfigError::Setting(
                "tokens: none is set, so nobody would have access; add [tokens.ops] with role = \"admin\" and \
                 sha256 = the output of: printf %s YOUR-TOKEN | sha256sum"
                    .to_owned(),
            ));
        }
        let tokens = self.tokens.iter().map(|(name, token)| token.read(name)).collect::<Result<_, _>>()?;
        Ok(Access::Known { tokens, keys })
    }

    /// The vault that secrets are sealed in.
    pub(crate) fn vault(&self) -> Result<Vault, ConfigError> {
        let setting = |name: &str, error: &dyn std::fmt::Display| {
            ConfigError::Setting(format!("secrets.{name}: {error}"))
        };
        let secrets = &self.secrets;
        let vault = match (&secrets.key, &secrets.key_file) {
            (Some(_), Some(_)) => {
                return Err(setting("key", &"give either key or key_file, not both"));
            }
            (Some(key), None) => Vault::from_text(key).map_err(|error| setting("key", &error))?,
            (None, file) => {
                let path = file.clone().unwrap_or_else(|| self.data.join("secrets.key"));
                Vault::open_or_create(&path).map_err(|error| match error {
                    KeyFileError::Io { ref source, .. } if is_of_the_disk(source.kind()) => {
                        ConfigError::KeyFile(error)
                    }
                    error => setting("key_file", &error),
                })?
            }
        };
        let old = secrets.old_keys.iter().map(|key| vault::SealingKey::from_text(key));
        let old = old.collect::<Result<Vec<_>, _>>().map_err(|error| setting("old_keys", &error))?;
        Ok(vault.with_old_keys(old))
    }

    /// The bounds of jobs.
    pub(crate) fn job_limits(&self) -> schedule::Limits {
        schedule::Limits {
            retry_interval_min: self.jobs.retry_interval_min,
            retry_count_max: self.jobs.retry_count_max,
            ..schedule::Limits::default()
        }
    }

    /// How jobs are called.
    pub(crate) fn job_settings(&self) -> outbound::JobSettings {
        outbound::JobSettings {
            timeout: self.jobs.timeout.as_std(),
            calls_per_origin: self.jobs.calls_per_origin,
            authority: self.jobs.authority.clone(),
            ..outbound::JobSettings::default()
        }
    }

    pub(crate) fn egress(&self) -> Result<outbound::Egress, ConfigError> {
        let parse = |text: &String| {
            text.parse().map_err(|error| ConfigError::Setting(format!("egress.networks: {error}")))
        };
        Ok(outbound::Egress {
            networks: self.egress.networks.iter().map(parse).collect::<Result<_, _>>()?,
            names: self.egress.names.clone(),
            loopback: self.egress.loopback,
        })
    }
}

/// Whether the disk failed: a file that is missing or not permitted is a matter of settings.
fn is_of_the_disk(kind: std::io::ErrorKind) -> bool {
    use std::io::ErrorKind;
    !matches!(kind, ErrorKind::NotFound | ErrorKind::PermissionDenied | ErrorKind::NotADirectory)
}

#[cfg(test)]
mod tests;
