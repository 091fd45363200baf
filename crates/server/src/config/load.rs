//! Reading settings: the file, the variables that override it, and errors that name the one at fault.

use std::path::Path;

use toml::{Table, Value};

use super::declare::{Setting, Visibility};
use super::{Config, ConfigError};

/// Variables that begin like settings but belong to the command line.
pub(super) const NOT_SETTINGS: [&str; 5] =
    ["SORTIE_URL", "SORTIE_TOKEN", "SORTIE_LOG", "SORTIE_LOG_FORMAT", "SORTIE_NATS_SERVER"];
/// Variables that Kubernetes sets in every pod of a namespace that has a Service named `sortie`.
const KUBERNETES_PREFIXES: [&str; 2] = ["SORTIE_PORT_", "SORTIE_SERVICE_"];
/// The section that only the file can have: a list of tables does not fit into a variable.
const FILE_ONLY: &str = "keys";
/// Variables that hold the secrets of workflows' services.
const SERVICE_SECRETS: &str = "SORTIE_SECRET_";

impl Config {
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

    pub(super) fn parse(
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
        if let Some((name, _)) = variables.iter().find(|(name, _)| variable(FILE_ONLY) == section(name)) {
            let text = format!("{name}: keys are set in the file as [[keys]], not by a variable");
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
}

/// The variable that overrides a key.
pub(crate) fn variable(key: &str) -> String {
    format!("SORTIE_{}", key.replace('.', "__").to_uppercase())
}

/// Whether a variable is meant as a setting.
fn is_setting(name: &str) -> bool {
    let of_kubernetes =
        name == "SORTIE_PORT" || KUBERNETES_PREFIXES.iter().any(|prefix| name.starts_with(prefix));
    name.starts_with("SORTIE_") && !of_kubernetes && !is_of_another_reader(name)
}

/// Whether a variable is read by the command line or holds a secret of a workflow's service.
pub(super) fn is_of_another_reader(name: &str) -> bool {
    name.starts_with(SERVICE_SECRETS) || NOT_SETTINGS.contains(&name)
}

/// Refuses unknown variables, all in one error, so that the reader can fix them all before the next start.
fn refuse_unknown(variables: &[(String, String)]) -> Result<(), ConfigError> {
    let settings = Config::default().settings();
    let is_known = |name: &str| settings.iter().any(|setting| covers(name, &setting.key));
    let names = variables.iter().map(|(name, _)| name.as_str());
    let mut unknown: Vec<&str> = names.filter(|name| !is_known(name)).collect();
    if unknown.is_empty() {
        return Ok(());
    }
    unknown.sort_unstable();
    let (names, set) = (unknown.join(", "), if unknown.len() == 1 { "sets" } else { "set" });
    Err(ConfigError::Setting(format!("{names}: {set} nothing; docs/reference/config.md lists all variables")))
}

/// Whether a variable sets a key and nothing else.
pub(super) fn sets(name: &str, key: &str) -> bool {
    covers(name, key) && name.split("__").count() == key.split('.').count()
}

/// Whether a variable sets a key or its section; `NAME` in a key is any name.
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
    key.split('.').next() != Some(FILE_ONLY)
}

fn merged<'a>(
    table: &Table,
    variables: impl Iterator<Item = &'a (String, String)>,
) -> Result<Config, toml::de::Error> {
    let settings = Config::default().settings();
    let mut table = table.clone();
    for (name, value) in variables {
        let value = value_of(&settings, name, value);
        override_with(&mut table, name.trim_start_matches("SORTIE_"), value);
    }
    Value::Table(table).try_into()
}

/// The value of a variable. One that is not TOML is text.
fn value_of(settings: &[Setting], name: &str, value: &str) -> Value {
    // A secret may look like a number; it is text all the same, and no error may quote it.
    let is_text = |setting: &Setting| setting.visibility == Visibility::Secret { is_text: true };
    let is_secret = settings.iter().any(|setting| is_text(setting) && sets(name, &setting.key));
    let parsed = (!is_secret).then(|| toml::from_str::<Table>(&format!("value = {value}")).ok()).flatten();
    let parsed = parsed.and_then(|mut table| table.remove("value"));
    parsed.unwrap_or_else(|| Value::String(value.to_owned()))
}

/// Sets the key that `JOURNAL__LINGER_MAX_US` names.
fn override_with(table: &mut Table, key: &str, value: Value) {
    let lower = key.to_ascii_lowercase();
    let mut path: Vec<&str> = lower.split("__").collect();
    let last = path.pop().unwrap_or_default();
    let mut section = table;
    for part in path {
        let inner = section.entry(part).or_insert_with(|| Value::Table(Table::new()));
        if !inner.is_table() {
            *inner = Value::Table(Table::new());
        }
        section = inner.as_table_mut().expect("just made a table");
    }
    section.insert(last.to_owned(), value);
}
