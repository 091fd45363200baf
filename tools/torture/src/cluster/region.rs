//! Three nats-servers and three instances: how they are set up and started.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::cluster::member::{Member, MemberKind};
use crate::cluster::network::{MemberAddress, NETWORK, Network};
use crate::rig::TOKEN;

pub const API_PORT: u16 = 7070;
pub const MONITOR_PORT: u16 = 8222;
const NATS_PORT: u16 = 4222;
const ROUTES_PORT: u16 = 6222;
const LEAVES_PORT: u16 = 7422;

/// Of each kind in a region.
pub const MEMBERS: usize = 3;
pub const PARTITIONS: u16 = 8;
/// What everything in NATS is named after.
pub const INSTALLATION: &str = "torture";
pub const NATS_USER: &str = "sortie";
pub const NATS_PASSWORD: &str = "nats-of-this-torture-only";
const SYSTEM_PASSWORD: &str = "system-of-this-torture-only";
const BETWEEN: &str = "between-instances-of-this-torture";
const SEAL: &str = "7077e57077e57077e57077e57077e57077e57077e57077e57077e57077e57077";

/// Which programs are tortured, and where.
pub struct Programs {
    pub sortie: PathBuf,
    pub nats: PathBuf,
}

/// Where the members of one region are.
#[derive(Clone)]
pub struct Layout {
    pub name: &'static str,
    pub nats: Vec<MemberAddress>,
    pub instances: Vec<MemberAddress>,
}

impl Layout {
    /// Numbers of places are counted from `first`.
    pub fn new(
        name: &'static str,
        network: &mut Network,
        first: u8,
        instances: usize,
    ) -> anyhow::Result<Layout> {
        let mut numbers = first..;
        let mut places = |count: usize| {
            (&mut numbers).take(count).map(|number| network.place(number)).collect::<anyhow::Result<Vec<_>>>()
        };
        Ok(Layout { name, nats: places(MEMBERS)?, instances: places(instances)? })
    }

    pub fn nats_urls(&self) -> Vec<String> {
        self.nats.iter().map(nats_url).collect()
    }

    /// All of them.
    pub fn places(&self) -> Vec<&MemberAddress> {
        self.nats.iter().chain(&self.instances).collect()
    }
}

/// Where the nats-server at a place is reached.
pub fn nats_url(place: &MemberAddress) -> String {
    format!("nats://{}:{NATS_PORT}", place.ip)
}

/// The members of a region.
pub struct Region {
    pub nats: Vec<Member>,
    pub instances: Vec<Member>,
}

impl Region {
    /// Writes the configuration of each; nothing is started yet. With a pair there are settings of the region to add. The streams
    /// of the last NATS node may have a disk of their own.
    pub fn new(
        layout: &Layout,
        pair: Option<(&Layout, &str)>,
        programs: &Programs,
        directory: &Path,
        last_store: Option<&Path>,
    ) -> anyhow::Result<Region> {
        let mut region = Region { nats: Vec::new(), instances: Vec::new() };
        for (number, place) in (1..).zip(&layout.nats) {
            let name = format!("{}-nats-{number}", layout.name);
            let folder = make_folder(directory, &name)?;
            let store = match last_store {
                Some(store) if number == MEMBERS => store.join("streams"),
                _ => folder.join("streams"),
            };
            let file = folder.join("nats.conf");
            fs::write(&file, nats_text(&name, place, &store, layout, pair.map(|(pair, _)| pair)))
                .context("writing a configuration")?;
            let arguments = vec!["-c".into(), file.into()];
            let log = folder.join("nats.log");
            region.nats.push(Member::new(
                &name,
                MemberKind::Nats,
                place.clone(),
                programs.nats.clone(),
                arguments,
                log,
            ));
        }
        for (number, place) in (1..).zip(&layout.instances) {
            let name = format!("{}-{number}", layout.name);
            let folder = make_folder(directory, &name)?;
            let file = folder.join("sortie.toml");
            fs::write(&file, sortie_text(place, &folder, layout, pair)).context("writing the settings")?;
            let arguments = vec!["serve".into(), "--config".into(), file.into()];
            let log = folder.join("sortie.log");
            let member = Member::new(
                &name,
                MemberKind::Sortie,
                place.clone(),
                programs.sortie.clone(),
                arguments,
                log,
            );
            region.instances.push(member);
        }
        Ok(region)
    }

    pub fn start_nats(&mut self) -> anyhow::Result<()> {
        self.nats.iter_mut().try_for_each(Member::start)
    }

    pub fn start_instances(&mut self) -> anyhow::Result<()> {
        self.instances.iter_mut().try_for_each(Member::start)
    }

    pub async fn nats_well(&mut self) -> anyhow::Result<()> {
        for node in &mut self.nats {
            node.well().await?;
        }
        Ok(())
    }

    /// All of them, NATS first.
    pub async fn well(&mut self) -> anyhow::Result<()> {
        self.nats_well().await?;
        for instance in &mut self.instances {
            instance.well().await?;
        }
        Ok(())
    }

    /// SIGKILL to everybody at once.
    pub fn kill_all(&mut self) -> anyhow::Result<()> {
        self.nats.iter_mut().chain(&mut self.instances).try_for_each(Member::kill)
    }

    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.instances.iter().map(Member::address).collect()
    }
}

fn make_folder(directory: &Path, name: &str) -> anyhow::Result<PathBuf> {
    let folder = directory.join(name);
    fs::create_dir_all(&folder).with_context(|| format!("making {}", folder.display()))?;
    Ok(folder)
}

/// A nats-server by itself, for the leases of regions; it is started.
pub fn start_witness(place: &MemberAddress, programs: &Programs, directory: &Path) -> anyhow::Result<Member> {
    let name = "witness";
    let folder = make_folder(directory, name)?;
    let file = folder.join("nats.conf");
    fs::write(&file, witness_text(name, place, &folder.join("streams")))
        .context("writing a configuration")?;
    let arguments = vec!["-c".into(), file.into()];
    let log = folder.join("nats.log");
    let mut witness =
        Member::new(name, MemberKind::Nats, place.clone(), programs.nats.clone(), arguments, log);
    witness.start()?;
    Ok(witness)
}

fn witness_text(name: &str, place: &MemberAddress, store: &Path) -> String {
    let ip = place.ip;
    format!(
        "server_name: {name}
listen: \"{ip}:{NATS_PORT}\"
http: \"{ip}:{MONITOR_PORT}\"
jetstream {{ store_dir: \"{}\", sync_interval: always, max_file_store: 1GB }}
accounts {{
  APP: {{ jetstream: enabled, users: [ {{ user: {NATS_USER}, password: \"{NATS_PASSWORD}\" }} ] }}
}}
",
        store.display()
    )
}

/// The configuration that docs/operating/cluster.md asks for.
fn nats_text(
    name: &str,
    place: &MemberAddress,
    store: &Path,
    layout: &Layout,
    pair: Option<&Layout>,
) -> String {
    let (ip, region) = (place.ip, layout.name);
    let routes = layout.nats.iter().map(|place| format!("\"nats://{}:{ROUTES_PORT}\"", place.ip));
    let routes = routes.collect::<Vec<_>>().join(", ");
    let leaves = pair.map_or_else(String::new, |pair| leaves_text(place, layout, pair));
    format!(
        "server_name: {name}
listen: \"{ip}:{NATS_PORT}\"
http: \"{ip}:{MONITOR_PORT}\"
max_payload: 8MB
ping_interval: \"5s\"
ping_max: 2
cluster {{ name: {region}, listen: \"{ip}:{ROUTES_PORT}\", routes: [{routes}], ping_interval: \"5s\" }}
jetstream {{ store_dir: \"{}\", domain: {region}, sync_interval: always, max_file_store: 4GB }}
accounts {{
  SYS: {{ users: [ {{ user: system, password: \"{SYSTEM_PASSWORD}\" }} ] }}
  APP: {{ jetstream: enabled, users: [ {{ user: {NATS_USER}, password: \"{NATS_PASSWORD}\" }} ] }}
}}
system_account: SYS
{leaves}",
        store.display()
    )
}

/// The region that comes first in the alphabet listens.
fn leaves_text(place: &MemberAddress, layout: &Layout, pair: &Layout) -> String {
    if layout.name < pair.name {
        return format!("leafnodes {{ listen: \"{}:{LEAVES_PORT}\" }}\n", place.ip);
    }
    let url = |place: &MemberAddress| {
        format!("\"nats-leaf://{NATS_USER}:{NATS_PASSWORD}@{}:{LEAVES_PORT}\"", place.ip)
    };
    let urls = pair.nats.iter().map(url).collect::<Vec<_>>().join(", ");
    let kept = ["ing", "jrn"].map(|kind| format!("\"{INSTALLATION}.{kind}.>\"")).join(", ");
    let kept = format!("{kept}, \"fenced.{INSTALLATION}.>\", \"$KV.>\", \"$O.>\"");
    format!(
        "leafnodes {{ remotes: [ {{ urls: [{urls}], account: APP, deny_imports: [{kept}], deny_exports: [{kept}] }} ] }}\n"
    )
}

fn sortie_text(
    place: &MemberAddress,
    folder: &Path,
    layout: &Layout,
    pair: Option<(&Layout, &str)>,
) -> String {
    let monitors: Vec<_> =
        layout.nats.iter().map(|place| format!("http://{}:{MONITOR_PORT}", place.ip)).collect();
    let mut text = format!(
        "data = {data:?}
listen = \"{ip}:{API_PORT}\"
partitions = {PARTITIONS}

[tokens.torture]
role = \"admin\"
secret = \"{TOKEN}\"

[egress]
loopback = true
networks = [\"{NETWORK}\"]

[jobs]
retry_interval_min = \"100ms\"

[secrets]
key = \"{SEAL}\"

[cluster]
nats = {urls:?}
name = \"{INSTALLATION}\"
secret = \"{BETWEEN}\"
user = \"{NATS_USER}\"
password = \"{NATS_PASSWORD}\"
system_user = \"system\"
system_password = \"{SYSTEM_PASSWORD}\"
monitor = {monitors:?}
",
        data = folder.join("data").display().to_string(),
        ip = place.ip,
        urls = layout.nats_urls(),
    );
    if let Some((pair, more)) = pair {
        let (name, pair) = (layout.name, pair.name);
        text.push_str(&format!("\n[region]\nname = \"{name}\"\npair = \"{pair}\"\nhome = \"east\"\n{more}"));
    }
    text
}
