//! The settings of one instance of a development cluster, in TOML.

use super::keys::Keys;
use super::nats::{INSTALLATION, SYSTEM_USER, USER};
use super::plan::{Instance, Region};

/// What `sortie serve --config` reads.
pub fn text(instance: &Instance, region: &Region, partitions: u16, keys: &Keys) -> String {
    let Keys { token, between, seal, nats, system } = keys;
    let data = toml_text(&instance.directory.join("data").display().to_string());
    let mut text = format!(
        "data = {data}
listen = \"127.0.0.1:{port}\"
partitions = {partitions}

[tokens.dev]
role = \"admin\"
secret = \"{token}\"

[egress]
loopback = true

[secrets]
key = \"{seal}\"

[cluster]
nats = {urls}
name = \"{INSTALLATION}\"
advertise = \"{url}\"
secret = \"{between}\"
replicas = 3
snapshots = \"nats\"
inbox_bytes_max = 33554432
user = \"{USER}\"
password = \"{nats}\"
system_user = \"{SYSTEM_USER}\"
system_password = \"{system}\"
monitor = {monitors}
",
        port = instance.port,
        urls = list(&region.nats_urls()),
        url = instance.url(),
        monitors = list(&region.monitors()),
    );
    if let Some(pair) = region.pair {
        let name = region.name;
        text.push_str(&format!(
            "\n[region]\nname = \"{name}\"\npair = \"{pair}\"\ndomain = \"{name}\"\npair_domain = \"{pair}\"\n\
             home = \"{}\"\n",
            name.min(pair)
        ));
    }
    text
}

fn list(texts: &[String]) -> String {
    format!("[{}]", texts.iter().map(|text| toml_text(text)).collect::<Vec<_>>().join(", "))
}

/// A literal string in single quotes; a path that contains one goes into double quotes.
fn toml_text(text: &str) -> String {
    if text.contains('\'') {
        return format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""));
    }
    format!("'{text}'")
}
