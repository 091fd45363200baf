//! The members of a development cluster, with their ports and data directories.

use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};

/// Three of each in a region, so that one may fail.
pub const MEMBERS: usize = 3;
/// From the ports of one region to those of the next.
const REGION_STRIDE: u16 = 10;
/// From NATS's client ports to its other ports.
const ROUTES: u16 = 2000;
const LEAVES: u16 = 3200;
const MONITORS: u16 = 4000;

/// All members, region by region. The first region is the active one.
pub struct ClusterLayout {
    pub regions: Vec<Region>,
}

pub struct Region {
    /// Its name is also that of its NATS domain and of its NATS cluster.
    pub name: &'static str,
    /// Another region, if there are two.
    pub pair: Option<&'static str>,
    pub nats: Vec<NatsNode>,
    pub instances: Vec<Instance>,
}

pub struct NatsNode {
    pub name: String,
    pub directory: PathBuf,
    /// The ports for clients, cluster routes, leaf nodes and monitoring.
    pub client: u16,
    pub routes: u16,
    pub leaves: u16,
    pub monitor: u16,
}

pub struct Instance {
    pub name: String,
    pub directory: PathBuf,
    pub port: u16,
}

impl ClusterLayout {
    /// Ports are assigned upwards from these; 0 picks free ones.
    pub fn new(directory: &Path, regions: bool, port: u16, nats_port: u16) -> anyhow::Result<ClusterLayout> {
        let mut ports = Ports { taken: Vec::new() };
        let names: &[&str] = if regions { &["east", "west"] } else { &["local"] };
        let mut plan = ClusterLayout { regions: Vec::new() };
        for (place, name) in (0..).zip(names) {
            let pair = names.iter().find(|other| *other != name).copied();
            let mut region = Region { name, pair, nats: Vec::new(), instances: Vec::new() };
            for member in 0..MEMBERS as u16 {
                let offset = place * REGION_STRIDE + member;
                let number = member + 1;
                let mut at = |base: u16, port: u16| ports.take(base, port + offset);
                let nats = format!("{name}-nats-{number}");
                region.nats.push(NatsNode {
                    directory: directory.join(&nats),
                    name: nats,
                    client: at(nats_port, 0)?,
                    routes: at(nats_port, ROUTES)?,
                    leaves: at(nats_port, LEAVES)?,
                    monitor: at(nats_port, MONITORS)?,
                });
                let instance = format!("{name}-{number}");
                let (directory, port) = (directory.join(&instance), at(port, 0)?);
                region.instances.push(Instance { directory, name: instance, port });
            }
            plan.regions.push(region);
        }
        Ok(plan)
    }

    /// That of the other region, if there is one.
    pub fn pair_of(&self, region: &Region) -> Option<&Region> {
        self.regions.iter().find(|other| Some(other.name) == region.pair)
    }
}

impl Region {
    pub fn nats_urls(&self) -> Vec<String> {
        self.nats.iter().map(|node| format!("nats://127.0.0.1:{}", node.client)).collect()
    }

    pub fn monitors(&self) -> Vec<String> {
        self.nats.iter().map(|node| format!("http://127.0.0.1:{}", node.monitor)).collect()
    }
}

impl Instance {
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }
}

struct Ports {
    /// Free ports found so far, kept bound until all are found, so that none is found twice.
    taken: Vec<TcpListener>,
}

impl Ports {
    fn take(&mut self, base: u16, offset: u16) -> anyhow::Result<u16> {
        if base > 0 {
            let port = base.checked_add(offset);
            let port = port.with_context(|| format!("there is no port {offset} above {base}"))?;
            let free = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok();
            ensure!(
                free,
                "port {port} is in use; choose others with --port and --nats-port, or 0 for free ones"
            );
            return Ok(port);
        }
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("looking for a free port")?;
        let port = listener.local_addr().context("looking for a free port")?.port();
        self.taken.push(listener);
        Ok(port)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn everybody_has_a_place_and_ports_of_their_own() {
        let plan = ClusterLayout::new(Path::new("/d"), true, 0, 0).unwrap();
        let nodes = || plan.regions.iter().flat_map(|region| &region.nats);
        let instances = || plan.regions.iter().flat_map(|region| &region.instances);
        let mut ports: BTreeSet<u16> = instances().map(|instance| instance.port).collect();
        ports.extend(nodes().flat_map(|node| [node.client, node.routes, node.leaves, node.monitor]));
        assert_eq!(ports.len(), 30);
        let places: BTreeSet<&PathBuf> =
            nodes().map(|node| &node.directory).chain(instances().map(|one| &one.directory)).collect();
        assert_eq!(places.len(), 12);
        assert_eq!(plan.pair_of(&plan.regions[0]).map(|region| region.name), Some("west"));
    }

    #[test]
    fn ports_beyond_the_last_are_refused() {
        let error =
            ClusterLayout::new(Path::new("/d"), false, 0, 65_000).err().expect("65000 + 2000 is not a port");
        assert!(error.to_string().contains("above 65000"), "{error}");
    }
}
