//! The settings in force, for people: what is nobody's secret, one by one, and of secrets only that they are set.

use api_types::{SettingView, SettingsView, TokenView};
use serde_json::{Value, json};

use crate::config::{self, ClusterRole, Config, SyncMode};

/// A setting: its key, its value, and whether that is a secret's.
type Row = (&'static str, Value, bool);

pub(crate) fn shown(config: &Config) -> SettingsView {
    // Where a server is one of several, the defaults of that are of interest too.
    let mut defaults = Config::default();
    defaults.cluster.nats = config.cluster.nats.clone();
    let defaults = rows(&defaults);
    let changed = |key: &str, value: &Value| {
        key == "cluster.nats" || !defaults.iter().any(|(other, default, _)| *other == key && default == value)
    };
    let settings = rows(config).into_iter().map(|(key, value, secret)| SettingView {
        variable: config::has_variable(key).then(|| config::variable(key)),
        changed: changed(key, &value),
        key: key.to_owned(),
        value,
        secret,
    });
    let token = |(name, token): (&String, &crate::config::TokenConfig)| TokenView {
        name: name.clone(),
        role: token.role.clone(),
    };
    SettingsView {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        file: config.file.as_ref().map(|file| file.display().to_string()),
        settings: settings.collect(),
        tokens: Some(config.tokens.iter().map(token).collect()),
    }
}

/// Chosen one by one: a setting that is added is not shown before somebody has thought about it.
fn rows(config: &Config) -> Vec<Row> {
    let Config { egress, journal, limits, jobs, secrets, .. } = config;
    let open = |key, value| (key, value, false);
    let set = |key, is_set: bool| (key, json!(is_set), true);
    let keys: Vec<&str> = config.keys.iter().map(|key| key.name.as_str()).collect();
    let mut rows = vec![
        open("data", json!(config.data)),
        open("listen", json!(config.listen.to_string())),
        open("partitions", json!(config.partitions)),
        open("keep_ended", json!(config.keep_ended.to_string())),
        open("keys", json!(keys)),
        open("egress.networks", json!(egress.networks)),
        open("egress.names", json!(egress.names)),
        open("egress.loopback", json!(egress.loopback)),
        open("journal.segment_bytes", json!(journal.segment_bytes)),
        open("journal.reserve_bytes", json!(journal.reserve_bytes)),
        open("journal.linger_max_us", json!(journal.linger_max_us)),
        open("journal.sync", json!(if journal.sync == SyncMode::Data { "data" } else { "off" })),
        open("journal.bytes_max", json!(journal.bytes_max)),
        open("limits.unfinished_runs_max", json!(limits.unfinished_runs_max)),
        open("limits.memory_bytes_max", json!(limits.memory_bytes_max)),
        open("limits.calls_max", json!(limits.calls_max)),
        open("limits.live_runs_max", json!(limits.live_runs_max)),
        open("jobs.region", json!(jobs.region)),
        open("jobs.timeout", json!(jobs.timeout.to_string())),
        open("jobs.calls_per_origin", json!(jobs.calls_per_origin)),
        open("jobs.retry_interval_min", json!(jobs.retry_interval_min.to_string())),
        open("jobs.retry_count_max", json!(jobs.retry_count_max)),
        open("jobs.history_for", json!(jobs.history_for.to_string())),
        open("jobs.history_max_per_job", json!(jobs.history_max_per_job)),
        open("jobs.authority", json!(without_login(&jobs.authority))),
        set("secrets.key", secrets.key.is_some()),
        open("secrets.key_file", json!(secrets.key_file)),
        set("secrets.old_keys", !secrets.old_keys.is_empty()),
    ];
    if config.cluster.is_on() {
        rows.extend(of_cluster(config));
    }
    rows
}

fn of_cluster(config: &Config) -> Vec<Row> {
    let Config { cluster, region, .. } = config;
    let open = |key, value| (key, value, false);
    let set = |key, is_set: bool| (key, json!(is_set), true);
    let urls = |urls: &[String]| json!(urls.iter().map(|url| without_login(url)).collect::<Vec<_>>());
    let roles = cluster.roles.iter().map(|role| match role {
        ClusterRole::Ingest => "ingest",
        ClusterRole::Engine => "engine",
        ClusterRole::Rest => "rest",
    });
    vec![
        open("cluster.nats", urls(&cluster.nats)),
        open("cluster.name", json!(cluster.name)),
        open("cluster.advertise", json!(cluster.advertise.as_deref().map(without_login))),
        set("cluster.secret", cluster.secret.is_some()),
        open("cluster.replicas", json!(cluster.replicas)),
        open("cluster.inbox_bytes_max", json!(cluster.inbox_bytes_max)),
        open("cluster.roles", json!(roles.collect::<Vec<_>>())),
        open("cluster.ordinal", json!(cluster.ordinal)),
        open("cluster.ordinals", json!(cluster.ordinals)),
        open("cluster.snapshots", json!(without_login(&cluster.snapshots))),
        open("cluster.user", json!(cluster.user)),
        set("cluster.password", cluster.password.is_some()),
        open("cluster.credentials", json!(cluster.credentials)),
        open("cluster.tls_ca_file", json!(cluster.tls_ca_file)),
        open("cluster.tls_certificate_file", json!(cluster.tls_certificate_file)),
        open("cluster.tls_key_file", json!(cluster.tls_key_file)),
        open("cluster.system_user", json!(cluster.system_user)),
        set("cluster.system_password", cluster.system_password.is_some()),
        open("cluster.monitor", urls(&cluster.monitor)),
        open("cluster.trust_servers", json!(cluster.trust_servers)),
        open("region.name", json!(region.name)),
        open("region.pair", json!(region.pair)),
        open("region.home", json!(region.home)),
        open("region.domain", json!(region.domain)),
        open("region.pair_domain", json!(region.pair_domain)),
        open("region.witness", urls(&region.witness)),
        open("region.semi_sync", json!(region.semi_sync)),
    ]
}

/// An address without who signs in there, and without what may stand in its query.
fn without_login(url: &str) -> String {
    let url = url.split(['?', '#']).next().unwrap_or_default();
    let Some((scheme, rest)) = url.split_once("://") else {
        // Addresses of NATS may be given without a scheme.
        return url.rsplit_once('@').map_or(url, |(_, host)| host).to_owned();
    };
    let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    format!("{scheme}://{host}{path}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{KeyConfig, TokenConfig};

    /// Settings with the same secret in every place that can hold one.
    fn full(secret: &str) -> Config {
        let text = || Some(secret.to_owned());
        let url = format!("nats://user:{secret}@10.0.0.1:4222");
        let mut config = Config::default();
        let token = TokenConfig { role: "admin".to_owned(), sha256: None, secret: text() };
        let hashed = TokenConfig { role: "viewer".to_owned(), sha256: text(), secret: None };
        config.tokens.extend([("ops".to_owned(), token), ("eyes".to_owned(), hashed)]);
        config.keys.push(KeyConfig {
            name: "bus".to_owned(),
            key: text(),
            key_env: None,
            key_file: None,
            rights: Vec::new(),
            queue: None,
        });
        config.secrets.key = text();
        config.secrets.old_keys = vec![secret.to_owned()];
        let cluster = &mut config.cluster;
        cluster.nats = vec![url.clone(), format!("{secret}@10.0.0.2:4222")];
        (cluster.secret, cluster.password, cluster.system_password) = (text(), text(), text());
        cluster.snapshots = format!("s3://{secret}@bucket/path?key={secret}");
        cluster.monitor = vec![format!("http://u:{secret}@10.0.0.1:8222")];
        cluster.advertise = Some(format!("http://u:{secret}@10.0.0.5:7070"));
        config.region.witness = vec![url];
        config.jobs.authority = format!("https://{secret}@login.test");
        config
    }

    #[test]
    fn no_secret_is_shown_wherever_it_stands() {
        let shown = shown(&full("hunter2hunter2hunter2"));
        let text = serde_json::to_string(&shown).unwrap();
        assert!(!text.contains("hunter2"), "{text}");
        let value = |key: &str| &shown.settings.iter().find(|row| row.key == key).unwrap().value;
        assert_eq!(*value("cluster.nats"), json!(["nats://10.0.0.1:4222", "10.0.0.2:4222"]));
        assert_eq!(*value("cluster.snapshots"), json!("s3://bucket/path"));
        assert_eq!((value("secrets.key"), value("keys")), (&json!(true), &json!(["bus"])));
        let tokens = shown.tokens.unwrap();
        let tokens: Vec<_> = tokens.iter().map(|token| (token.name.as_str(), token.role.as_str())).collect();
        assert_eq!(tokens, [("eyes", "viewer"), ("ops", "admin")]);
    }

    #[test]
    fn what_was_changed_is_marked_and_every_setting_names_its_variable_if_it_has_one() {
        let mut config = Config::default();
        config.limits.calls_max = 77;
        let shown = shown(&config);
        let changed: Vec<_> = shown.settings.iter().filter(|row| row.changed).collect();
        assert_eq!(changed.len(), 1);
        assert_eq!(changed[0].variable.as_deref(), Some("SORTIE_LIMITS__CALLS_MAX"));
        let without: Vec<_> = shown.settings.iter().filter(|row| row.variable.is_none()).collect();
        assert!(matches!(without.as_slice(), [keys] if keys.key == "keys"), "{without:?}");
        assert!(shown.settings.iter().all(|row| !row.key.starts_with("cluster.")));
    }
}
