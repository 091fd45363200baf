//! Every setting in words: its key, its default and its meaning. The table of docs/reference/config.md is made of it.

use std::fmt::Display;

use super::{Config, SyncMode};

/// One setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    /// Dotted; `NAME` stands for a name of one's own.
    pub key: &'static str,
    /// In Markdown; empty where there is none.
    pub default: String,
    pub meaning: &'static str,
}

/// Every setting, section by section.
pub fn settings() -> Vec<Setting> {
    let config = Config::default();
    [
        whole(&config),
        tokens(),
        keys(),
        egress(&config),
        journal(&config),
        limits(&config),
        jobs(&config),
        secrets(),
        cluster(&config),
        region(&config),
    ]
    .concat()
}

fn whole(config: &Config) -> Vec<Setting> {
    vec![
        row("data", code(config.data.display()), "where the journal and the view are kept"),
        row("listen", code(config.listen), "address of the API"),
        row("partitions", code(config.partitions), "fixed when the data directory is created"),
        row(
            "keep_ended",
            code(config.keep_ended),
            "how long ended runs can be looked up and their ids are known",
        ),
    ]
}

fn tokens() -> Vec<Setting> {
    vec![
        row("tokens.NAME.role", said(""), "`viewer`, `ingest`, `consumer`, `operator`, `editor` or `admin`"),
        row("tokens.NAME.sha256", said(""), "SHA-256 of the token, in hexadecimal digits"),
        row("tokens.NAME.secret", said(""), "the token itself, for a variable; at least 16 characters"),
    ]
}

fn keys() -> Vec<Setting> {
    vec![
        row(
            "keys.name",
            said(""),
            "the name of a key for the shared access signatures of [queues](queues.md#permissions); keys stand as `[[keys]]` and cannot be set by variables",
        ),
        row("keys.key", said(""), "the key, at least 16 characters"),
        row("keys.key_env", said(""), "or the variable that holds it"),
        row("keys.key_file", said(""), "or the file that holds it"),
        row("keys.rights", said(""), "some of `send`, `listen` and `manage`"),
        row("keys.queue", said("all"), "the one queue or topic that it is for"),
    ]
}

fn egress(config: &Config) -> Vec<Setting> {
    vec![
        row("egress.networks", said("none"), "networks that workflows and jobs may call, like `10.0.0.0/8`"),
        row("egress.names", said("none"), "host names, or `*.suffix`, that may resolve to private addresses"),
        row("egress.loopback", code(config.egress.loopback), "whether loopback may be called"),
    ]
}

fn journal(config: &Config) -> Vec<Setting> {
    vec![
        row(
            "journal.sync",
            code(if config.journal.sync == SyncMode::Data { "data" } else { "off" }),
            "`data`: yes after a data sync; `off`: for benchmarks alone",
        ),
        row(
            "journal.linger_max_us",
            code(config.journal.linger_max_us),
            "how long a group waits for more at most, when many are on their way",
        ),
        row("journal.segment_bytes", bytes(config.journal.segment_bytes), "size of a segment file"),
        row(
            "journal.reserve_bytes",
            bytes(config.journal.reserve_bytes),
            "space kept so that running work can end on a full disk",
        ),
        row(
            "journal.bytes_max",
            bytes(config.journal.bytes_max),
            "above this, partitions take snapshots so that the journal shrinks",
        ),
    ]
}

fn limits(config: &Config) -> Vec<Setting> {
    vec![
        row(
            "limits.unfinished_runs_max",
            code(config.limits.unfinished_runs_max),
            "accepted and not ended; more is refused with 429",
        ),
        row(
            "limits.memory_bytes_max",
            bytes(config.limits.memory_bytes_max),
            "resident memory above which nothing new is accepted; at most two fifths of what the machine or its cgroup allows",
        ),
        row(
            "limits.calls_max",
            code(config.limits.calls_max),
            "calls under way, or waiting for their service, at which no more requests are taken; shared out evenly among the partitions",
        ),
        row(
            "limits.live_runs_max",
            code(config.limits.live_runs_max),
            "runs in memory at once, parked ones not counted; shared out evenly. With its share of them a partition fires no more jobs until some have ended",
        ),
    ]
}

fn jobs(config: &Config) -> Vec<Setting> {
    vec![
        row(
            "jobs.region",
            code(&config.jobs.region),
            "what targets of jobs are told in `x-ms-scheduler-execution-region`",
        ),
        row("jobs.timeout", code(config.jobs.timeout), "for one attempt of a job"),
        row(
            "jobs.calls_per_origin",
            code(config.jobs.calls_per_origin),
            "calls of jobs under way to one origin; others wait",
        ),
        row(
            "jobs.retry_interval_min",
            code(config.jobs.retry_interval_min),
            "the shortest `retryInterval` of a job",
        ),
        row("jobs.retry_count_max", code(config.jobs.retry_count_max), "the largest `retryCount` of a job"),
        row(
            "jobs.history_for",
            code(config.jobs.history_for),
            "how long the attempts of a job are shown; not longer than `keep_ended`",
        ),
        row(
            "jobs.history_max_per_job",
            code(config.jobs.history_max_per_job),
            "ended occurrences that are kept of a job",
        ),
        row(
            "jobs.authority",
            code(&config.jobs.authority),
            "where tokens for `ActiveDirectoryOAuth` come from, as `AUTHORITY/TENANT/oauth2/token`; the egress rules hold for it, too",
        ),
    ]
}

fn secrets() -> Vec<Setting> {
    vec![
        row(
            "secrets.key",
            said(""),
            "the key that secrets are sealed with, for a variable: 32 bytes as base64 or 64 hexadecimal digits",
        ),
        row(
            "secrets.key_file",
            said("`secrets.key` in `data`"),
            "where the key is kept; made when it is missing, refused when others can read it. Not together with `secrets.key`",
        ),
        row("secrets.old_keys", said("none"), "keys that older secrets may be sealed with"),
    ]
}

fn cluster(config: &Config) -> Vec<Setting> {
    vec![
        row(
            "cluster.nats",
            said("none"),
            "NATS servers, like `[\"nats://10.0.0.1:4222\"]`; with them this instance is [one of several](../operating/cluster.md)",
        ),
        row(
            "cluster.name",
            code(&config.cluster.name),
            "the installation: what everything that it keeps in NATS is named after",
        ),
        row("cluster.advertise", said("`http://` and `listen`"), "how the other instances reach this one"),
        row(
            "cluster.secret",
            said(""),
            "what instances show each other, the same for all; at least 16 characters, for a variable",
        ),
        row("cluster.replicas", code(config.cluster.replicas), "how many NATS servers keep each stream"),
        row(
            "cluster.inbox_bytes_max",
            bytes(config.cluster.inbox_bytes_max),
            "what the inbox of each partition may hold on the NATS servers; requests beyond it are refused with 503",
        ),
        row("cluster.roles", said("all"), "some of `ingest`, `engine` and `rest`"),
        row(
            "cluster.ordinal",
            said("none"),
            "the place of this instance, when partitions are assigned by it; also `--ordinal`",
        ),
        row("cluster.ordinals", said("none"), "how many instances there are then"),
        row(
            "cluster.snapshots",
            code(&config.cluster.snapshots),
            "where snapshots are kept: `nats`, or a URL with `s3`, `az`, `gs` or `file`",
        ),
        row("cluster.user", said("none"), "the user of NATS"),
        row("cluster.password", said("none"), "its password, for a variable"),
        row("cluster.credentials", said("none"), "or a file with credentials of NATS"),
        row(
            "cluster.tls_ca_file",
            said("none"),
            "a file in PEM with authorities to trust beside those of the machine; with it, a certificate or a `tls://` address, servers without TLS are refused",
        ),
        row("cluster.tls_certificate_file", said("none"), "the certificate in PEM that this instance shows"),
        row("cluster.tls_key_file", said("none"), "its key in PEM"),
        row(
            "cluster.system_user",
            said("none"),
            "a user of the servers' system account, which asks them how they are set up",
        ),
        row("cluster.system_password", said("none"), "its password, for a variable"),
        row(
            "cluster.monitor",
            said("none"),
            "or their monitoring addresses, like `[\"http://10.0.0.1:8222\"]`",
        ),
        row(
            "cluster.trust_servers",
            code(config.cluster.trust_servers),
            "start although the servers could not be asked",
        ),
    ]
}

fn region(config: &Config) -> Vec<Setting> {
    vec![
        row(
            "region.name",
            said("none"),
            "the name of this region, when it has a [pair](../operating/regions.md)",
        ),
        row("region.pair", said("Azure's pair of `region.name`"), "the other region"),
        row(
            "region.home",
            said("the first of the two by name"),
            "the region that is active when neither has ever been; the same at both",
        ),
        row("region.domain", said("`region.name`"), "the JetStream domain of this region"),
        row("region.pair_domain", said("`region.pair`"), "that of the pair"),
        row(
            "region.witness",
            said("none"),
            "NATS servers at a third place; with them a region stands in for the other by itself",
        ),
        row(
            "region.semi_sync",
            code(config.region.semi_sync),
            "whether an answer waits until the pair has what it promises",
        ),
    ]
}

fn row(key: &'static str, default: String, meaning: &'static str) -> Setting {
    Setting { key, default, meaning }
}

/// A default as one would write it.
fn code(default: impl Display) -> String {
    format!("`{default}`")
}

/// A default that is no value but follows from something else.
fn said(default: &str) -> String {
    default.to_owned()
}

/// A number of bytes, which is a power of two times a small number.
fn bytes(count: u64) -> String {
    let unit = |shift: u32, name: &str| {
        count.is_multiple_of(1 << shift).then(|| format!("{} {name}", count >> shift))
    };
    let shown = unit(30, "GiB").or_else(|| unit(20, "MiB")).unwrap_or_else(|| format!("{count} bytes"));
    format!("`{count}` ({shown})")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::{Path, PathBuf};

    use super::super::{NOT_SETTINGS, SECRETS, covers, has_variable, variable};
    use super::*;

    /// The keys that a section takes, by the error that an unknown one gets.
    fn taken(section: &str) -> Vec<String> {
        let (text, prefix) = match section {
            "" => ("no_such_key = 1".to_owned(), String::new()),
            "keys" => ("[[keys]]\nno_such_key = 1".to_owned(), "keys.".to_owned()),
            "tokens" => ("[tokens.NAME]\nno_such_key = 1".to_owned(), "tokens.NAME.".to_owned()),
            section => (format!("[{section}]\nno_such_key = 1"), format!("{section}.")),
        };
        let error = toml::from_str::<Config>(&text).expect_err("the key is unknown").to_string();
        let expected = error.split("expected one of ").nth(1).expect("the error lists the keys");
        let keys = expected.split('`').skip(1).step_by(2);
        keys.map(|key| format!("{prefix}{key}")).collect()
    }

    #[test]
    fn every_setting_is_told() {
        let sections =
            ["tokens", "keys", "egress", "journal", "limits", "jobs", "secrets", "cluster", "region"];
        let mut keys: BTreeSet<String> = taken("").into_iter().collect();
        for section in sections {
            assert!(keys.remove(section), "{section} is no section");
            keys.extend(taken(section));
        }
        let told: BTreeSet<String> = settings().iter().map(|setting| setting.key.to_owned()).collect();
        assert_eq!(
            keys, told,
            "left: Config; right: the settings in words, which docs/reference/config.md is made of"
        );
    }

    /// The Markdown files of a folder and of all below it.
    fn pages(folder: &Path) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let (folders, files): (Vec<PathBuf>, Vec<PathBuf>) = entries.partition(|path| path.is_dir());
        let files = files.into_iter().filter(|file| file.extension().is_some_and(|end| end == "md"));
        files.chain(folders.iter().flat_map(|folder| pages(folder))).collect()
    }

    fn sets(name: &str, key: &str) -> bool {
        covers(name, key) && name.split("__").count() == variable(key).split("__").count()
    }

    #[test]
    fn every_variable_that_the_documents_name_is_there() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut files = pages(&root.join("docs"));
        files.push(root.join("README.md"));
        let keys: Vec<_> = settings().into_iter().filter(|setting| has_variable(setting.key)).collect();
        let mut seen = 0;
        for file in files {
            let text = std::fs::read_to_string(&file).unwrap();
            let is_of_name = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
            for name in text.split(|c| !is_of_name(c)).filter(|word| word.starts_with("SORTIE_")) {
                let other = NOT_SETTINGS.contains(&name) || name.starts_with(SECRETS) || name == "SORTIE_";
                let known = other || keys.iter().any(|setting| sets(name, setting.key));
                assert!(known, "{}: {name} sets nothing", file.display());
                seen += 1;
            }
        }
        assert!(seen > 10, "the documents name variables");
    }
}
