//! The settings of a server: a TOML file, with every key overridable by a `SORTIE_…` variable.

mod cluster;
mod keys;
pub(crate) mod reference;

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use rest::{Access, Role, Token};
use serde::Deserialize;
use toml::{Table, Value};
use types::Span;
use vault::{KeyFileError, Vault};

pub use cluster::{ClusterConfig, RegionConfig, Role as ClusterRole};
pub use keys::KeyConfig;

/// Variables that begin like settings but belong to the command line.
const NOT_SETTINGS: [&str; 5] =
    ["SORTIE_URL", "SORTIE_TOKEN", "SORTIE_LOG", "SORTIE_LOG_FORMAT", "SORTIE_NATS_SERVER"];
/// Variables that Kubernetes makes of a Service with the name of the installation, in every pod of its namespace.
const OF_A_SERVICE: [&str; 2] = ["SORTIE_PORT_", "SORTIE_SERVICE_"];
/// Settings that stand in the file alone: a list of tables is no text for a variable.
const IN_THE_FILE: &str = "keys";
/// Those that hold the secrets of workflows' services.
const SECRETS: &str = "SORTIE_SECRET_";

/// All settings. Unknown keys are refused: a misspelt one must not be a silent default.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Where the journal and the view are kept.
    pub data: PathBuf,
    pub listen: SocketAddr,
    /// Fixed when the data directory is created.
    pub partitions: u16,
    /// How long ended runs can be looked up, and their ids are known; like `90d`.
    pub keep_ended: Span,
    /// API tokens by name.
    pub tokens: BTreeMap<String, TokenConfig>,
    /// Keys for shared access signatures.
    pub keys: Vec<KeyConfig>,
    pub egress: EgressConfig,
    pub journal: JournalConfig,
    pub limits: LimitsConfig,
    pub jobs: JobsConfig,
    pub secrets: SecretsConfig,
    pub cluster: ClusterConfig,
    pub region: RegionConfig,
    /// Without tokens, on loopback only. Not a setting: `sortie dev` alone turns it on.
    #[serde(skip)]
    pub dev: bool,
    /// The file that they were read from.
    #[serde(skip)]
    pub file: Option<PathBuf>,
}

/// One API token. Exactly one of `sha256` and `secret` is given.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TokenConfig {
    /// viewer, ingest, consumer, operator, editor or admin
    pub role: String,
    /// The SHA-256 of the token in hexadecimal digits: the file then opens nothing when it is stolen.
    pub sha256: Option<String>,
    /// The token itself; for a variable like `SORTIE_TOKENS__OPS__SECRET`.
    pub secret: Option<String>,
}

/// Which addresses workflows may call. Without any allowance: public ones only.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct EgressConfig {
    /// Networks that are allowed, like 10.0.0.0/8.
    pub networks: Vec<String>,
    /// Host names, or `*.suffix`, that may resolve to private addresses.
    pub names: Vec<String>,
    pub loopback: bool,
}

/// How the journal is written.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct JournalConfig {
    pub segment_bytes: u64,
    pub reserve_bytes: u64,
    pub linger_max_us: u64,
    pub sync: SyncMode,
    /// When the journal holds more than this, partitions take snapshots so that it can be trimmed.
    pub bytes_max: u64,
}

/// When an append is acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SyncMode {
    /// After a data sync of the disk.
    Data,
    /// At once: a power cut loses what was acknowledged. For benchmarks alone.
    Off,
}

/// How much is taken on at once.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LimitsConfig {
    pub unfinished_runs_max: usize,
    pub memory_bytes_max: u64,
    pub calls_max: usize,
    pub live_runs_max: usize,
}

/// How jobs are kept and called. The defaults are those of Azure Scheduler.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct JobsConfig {
    /// What targets are told in `x-ms-scheduler-execution-region`.
    pub region: String,
    /// For one attempt.
    pub timeout: Span,
    /// Calls in flight to one origin.
    pub calls_per_origin: usize,
    pub retry_interval_min: Span,
    pub retry_count_max: u32,
    /// How long the attempts of a job are shown.
    pub history_for: Span,
    pub history_max_per_job: usize,
    /// Where tokens come from for actions with ActiveDirectoryOAuth.
    pub authority: String,
}

/// The key that secrets are sealed with.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SecretsConfig {
    /// 32 bytes as base64 or 64 hexadecimal digits; for the variable `SORTIE_SECRETS__KEY`.
    pub key: Option<String>,
    /// Where the key is kept; `secrets.key` in the data directory unless it is named, made when it is missing.
    pub key_file: Option<PathBuf>,
    /// Keys that older secrets may be sealed with.
    pub old_keys: Vec<String>,
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

impl Default for Config {
    fn default() -> Config {
        Config {
            data: PathBuf::from("sortie-data"),
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 7070)),
            partitions: 32,
            keep_ended: Span::from_secs(90 * 24 * 3600),
            tokens: BTreeMap::new(),
            keys: Vec::new(),
            egress: EgressConfig::default(),
            journal: JournalConfig::default(),
            limits: LimitsConfig::default(),
            jobs: JobsConfig::default(),
            secrets: SecretsConfig::default(),
            cluster: ClusterConfig::default(),
            region: RegionConfig::default(),
            dev: false,
            file: None,
        }
    }
}

impl Default for JournalConfig {
    fn default() -> JournalConfig {
        JournalConfig {
            segment_bytes: 64 << 20,
            reserve_bytes: 64 << 20,
            linger_max_us: 500,
            sync: SyncMode::Data,
            bytes_max: 512 << 20,
        }
    }
}

impl Default for JobsConfig {
    fn default() -> JobsConfig {
        let limits = schedule::Limits::default();
        let settings = outbound::JobSettings::default();
        JobsConfig {
            region: "local".to_owned(),
            timeout: Span::from_secs(60),
            calls_per_origin: settings.calls_per_origin,
            retry_interval_min: limits.retry_interval_min,
            retry_count_max: limits.retry_count_max,
            history_for: Span::from_secs(60 * 24 * 3600),
            history_max_per_job: engine::limits::HISTORY_MAX_PER_JOB,
            authority: settings.authority,
        }
    }
}

impl Default for LimitsConfig {
    fn default() -> LimitsConfig {
        LimitsConfig {
            unfinished_runs_max: ingest::limits::UNFINISHED_RUNS_MAX,
            memory_bytes_max: ingest::limits::MEMORY_BYTES_MAX,
            calls_max: engine::limits::CALLS_MAX,
            live_runs_max: engine::limits::LIVE_RUNS_MAX,
        }
    }
}

impl Config {
    /// What `sortie dev` runs with: no tokens, loopback only, loopback may be called.
    pub fn dev(data: PathBuf, port: u16) -> Config {
        Config {
            data,
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, port)),
            egress: EgressConfig { loopback: true, ..EgressConfig::default() },
            dev: true,
            ..Config::default()
        }
    }

    /// Reads the file, if any, and lets the process's variables override it.
    pub fn load(path: Option<&Path>) -> Result<Config, ConfigError> {
        let text = match path {
            None => String::new(),
            Some(path) => std::fs::read_to_string(path)
                .map_err(|source| ConfigError::Read { path: path.to_owned(), source })?,
        };
        let config = Config::parse(&text, path.unwrap_or(Path::new("settings")), std::env::vars())?;
        Ok(Config { file: path.map(Path::to_owned), ..config })
    }

    fn parse(
        text: &str,
        path: &Path,
        variables: impl Iterator<Item = (String, String)>,
    ) -> Result<Config, ConfigError> {
        let file_error =
            |error: toml::de::Error| ConfigError::File { path: path.to_owned(), message: error.to_string() };
        // Read on its own first, so that an error names the file's line and not a variable.
        toml::from_str::<Config>(text).map_err(file_error)?;
        let table: Table = toml::from_str(text).map_err(file_error)?;
        let variables: Vec<_> = variables.filter(|(name, _)| is_setting(name)).collect();
        if let Some((name, _)) = variables.iter().find(|(name, _)| variable(IN_THE_FILE) == section(name)) {
            let text = format!("{name}: keys stand in the file as [[keys]], and cannot be set by a variable");
            return Err(ConfigError::Setting(text));
        }
        refuse_unknown(&variables)?;
        let config = merged(&table, variables.iter()).map_err(|error| {
            // The variable to blame is the one without which the rest can be read.
            let culprit = variables
                .iter()
                .find(|culprit| merged(&table, variables.iter().filter(|other| other != culprit)).is_ok());
            let name = culprit.map_or("the SORTIE_ variables", |(name, _)| name.as_str());
            ConfigError::Setting(format!("{name}: {}", error.message()))
        })?;
        config.check()?;
        Ok(config)
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

    /// Who may come in. Without tokens nobody, except in `dev` on loopback.
    pub(crate) fn access(&self) -> Result<Access, ConfigError> {
        let keys = keys::read(&self.keys)?;
        if self.dev && self.tokens.is_empty() {
            if !self.listen.ip().is_loopback() {
                return Err(ConfigError::Setting(format!(
                    "listen: {} is not loopback, and without tokens everybody could come in",
                    self.listen
                )));
            }
            return Ok(Access::Open);
        }
        if self.tokens.is_empty() {
            return Err(ConfigError::Setting(
                "tokens: none is set, so nobody could come in; add [tokens.ops] with role = \"admin\" and \
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
        let old = secrets.old_keys.iter().map(|key| vault::Key::from_text(key));
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

impl TokenConfig {
    fn read(&self, name: &str) -> Result<Token, ConfigError> {
        let setting = |text: String| ConfigError::Setting(format!("tokens.{name}.{text}"));
        let role = Role::parse(&self.role).ok_or_else(|| {
            setting(format!(
                "role: {:?} is not viewer, ingest, consumer, operator, editor or admin",
                self.role
            ))
        })?;
        match (&self.sha256, &self.secret) {
            (Some(hex), None) => Token::from_sha256(name, role, hex)
                .ok_or_else(|| setting("sha256: must be 64 hexadecimal digits".to_owned())),
            (None, Some(secret)) if secret.len() >= 16 => Ok(Token::from_secret(name, role, secret)),
            (None, Some(_)) => Err(setting("secret: must have at least 16 characters".to_owned())),
            (Some(_), Some(_)) | (None, None) => {
                Err(setting("sha256: give either sha256 or secret, not both".to_owned()))
            }
        }
    }
}

/// The variable that overrides a key.
pub(crate) fn variable(key: &str) -> String {
    format!("SORTIE_{}", key.replace('.', "__").to_uppercase())
}

/// Whether a variable is meant as a setting.
fn is_setting(name: &str) -> bool {
    let of_a_service = name == "SORTIE_PORT" || OF_A_SERVICE.iter().any(|prefix| name.starts_with(prefix));
    let other = name.starts_with(SECRETS) || NOT_SETTINGS.contains(&name) || of_a_service;
    name.starts_with("SORTIE_") && !other
}

/// All of them at once: whoever mends the first one should not have to start again to hear of the next.
fn refuse_unknown(variables: &[(String, String)]) -> Result<(), ConfigError> {
    let settings = reference::settings();
    let is_known = |name: &str| settings.iter().any(|setting| covers(name, setting.key));
    let names = variables.iter().map(|(name, _)| name.as_str());
    let mut unknown: Vec<&str> = names.filter(|name| !is_known(name)).collect();
    if unknown.is_empty() {
        return Ok(());
    }
    unknown.sort_unstable();
    let (names, set) = (unknown.join(", "), if unknown.len() == 1 { "sets" } else { "set" });
    Err(ConfigError::Setting(format!("{names}: {set} nothing; docs/reference/config.md has all variables")))
}

/// Whether a variable sets a key, or the section that it stands in; `NAME` in a key is any name.
fn covers(name: &str, key: &str) -> bool {
    let wanted = variable(key);
    let (mut wanted, mut parts) = (wanted.split("__"), name.split("__"));
    parts.all(|part| wanted.next().is_some_and(|it| it == "NAME" || it.eq_ignore_ascii_case(part)))
}

/// The part of a variable that names a section.
fn section(name: &str) -> &str {
    name.split_once("__").map_or(name, |(section, _)| section)
}

/// Whether a key can be overridden by a variable.
pub(crate) fn has_variable(key: &str) -> bool {
    key.split('.').next() != Some(IN_THE_FILE)
}

fn merged<'a>(
    table: &Table,
    variables: impl Iterator<Item = &'a (String, String)>,
) -> Result<Config, toml::de::Error> {
    let mut table = table.clone();
    for (name, value) in variables {
        override_with(&mut table, name.trim_start_matches("SORTIE_"), value);
    }
    Value::Table(table).try_into()
}

/// Sets the key that `JOURNAL__LINGER_MAX_US` names. A value that is no TOML is taken as text.
fn override_with(table: &mut Table, key: &str, value: &str) {
    let lower = key.to_ascii_lowercase();
    let mut path: Vec<&str> = lower.split("__").collect();
    let last = path.pop().unwrap_or_default();
    let mut place = table;
    for part in path {
        let inner = place.entry(part).or_insert_with(|| Value::Table(Table::new()));
        if !inner.is_table() {
            *inner = Value::Table(Table::new());
        }
        place = inner.as_table_mut().expect("just made a table");
    }
    // A token may look like a number; it is text all the same, and must not be quoted in an error.
    let secret =
        ["tokens__", "secrets__key", "cluster__secret", "cluster__password", "cluster__system_password"];
    let typed = !secret.iter().any(|prefix| lower.starts_with(prefix));
    let parsed = typed.then(|| toml::from_str::<Table>(&format!("value = {value}")).ok()).flatten();
    let parsed = parsed.and_then(|mut table| table.remove("value"));
    place.insert(last.to_owned(), parsed.unwrap_or_else(|| Value::String(value.to_owned())));
}

/// Whether it is the disk that failed: a file that is missing or closed to us is a matter of settings.
fn is_of_the_disk(kind: std::io::ErrorKind) -> bool {
    use std::io::ErrorKind;
    !matches!(kind, ErrorKind::NotFound | ErrorKind::PermissionDenied | ErrorKind::NotADirectory)
}

#[cfg(test)]
mod tests;
