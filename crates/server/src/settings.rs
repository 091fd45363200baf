//! The active settings as `GET /v1/settings` shows them: of secrets only whether they are set.

use api_types::{SettingView, SettingsView, TokenView};
use serde_json::json;

use crate::config::declare::Setting;
use crate::config::{self, Config, TokenConfig};

pub(crate) fn shown(config: &Config) -> SettingsView {
    let defaults = Config::default().settings();
    let is_default = |setting: &Setting| defaults.contains(setting);
    // Those of a cluster say nothing about a single server.
    let is_of_cluster = |key: &str| key.starts_with("cluster.") || key.starts_with("region.");
    let settings = config.settings().into_iter().filter(|setting| {
        setting.value.is_some() && (config.cluster.is_on() || !is_of_cluster(&setting.key))
    });
    let mut settings: Vec<SettingView> = settings
        .map(|setting| SettingView {
            variable: config::has_variable(&setting.key).then(|| config::variable(&setting.key)),
            changed: !is_default(&setting),
            secret: setting.is_secret(),
            key: setting.key,
            value: setting.value.unwrap_or_default(),
        })
        .collect();
    let general = settings.iter().take_while(|setting| !setting.key.contains('.')).count();
    settings.insert(general, keys(config));
    let token =
        |(name, token): (&String, &TokenConfig)| TokenView { name: name.clone(), role: token.role.clone() };
    SettingsView {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        file: config.file.as_ref().map(|file| file.display().to_string()),
        settings,
        tokens: Some(config.tokens.iter().map(token).collect()),
    }
}

/// The keys for shared access signatures, by their names.
fn keys(config: &Config) -> SettingView {
    let names: Vec<&str> = config.keys.iter().map(|key| key.name.as_str()).collect();
    let changed = !names.is_empty();
    SettingView { key: "keys".to_owned(), variable: None, value: json!(names), secret: false, changed }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::KeyConfig;

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
