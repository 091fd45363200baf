//! A network in which members can be cut off: a namespace for each, joined by a bridge, and an island for those cut off.

use std::io::Write;
use std::net::Ipv4Addr;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, bail, ensure};

use crate::report::Closing;
use crate::tools;

/// Where members listen. Those on the loopback of this machine cannot be cut off.
pub enum Network {
    Spaces(Spaces),
    Loopback { subnet: u8 },
}

/// Made of one bridge that this program is on, one that it is not on, and a pair of interfaces for each member.
pub struct Spaces {
    id: u32,
    subnet: u8,
    members: Vec<u8>,
}

/// Where one member is.
#[derive(Clone)]
pub struct MemberAddress {
    pub ip: Ipv4Addr,
    /// What a program is started through, to be there.
    pub through: Vec<String>,
    /// Its namespace, and its interface on the bridge.
    space: Option<Space>,
}

#[derive(Clone)]
struct Space {
    name: String,
    port: String,
}

/// An address that is not on the bridge: packets to it are dropped silently, as on a cut link.
const UNUSED_MAC: &str = "02:00:00:00:00:ff";

/// The network that members' addresses are of, for those who allow calls by it.
pub const NETWORK: &str = "10.77.0.0/16";

impl Network {
    /// Namespaces where they are allowed; otherwise the loopback, and cuts are skipped.
    pub fn make(closing: &mut Closing) -> Network {
        let id = std::process::id();
        let subnet = (id % 250) as u8;
        tools::have("ip", "iproute2", "cuts of the network", closing);
        sweep();
        let mut spaces = Spaces { id, subnet, members: Vec::new() };
        match spaces.open() {
            Ok(()) => Network::Spaces(spaces),
            Err(error) => {
                closing.skip(format!("cuts of the network: {error:#}"));
                Network::Loopback { subnet }
            }
        }
    }

    pub fn can_cut(&self) -> bool {
        matches!(self, Network::Spaces(_))
    }

    /// The address of this program as members see it.
    pub fn own_ip(&self) -> Ipv4Addr {
        match self {
            Network::Spaces(spaces) => spaces.ip(1),
            Network::Loopback { .. } => Ipv4Addr::LOCALHOST,
        }
    }

    /// A place of its own for a member; numbers begin with 2.
    pub fn place(&mut self, number: u8) -> anyhow::Result<MemberAddress> {
        match self {
            Network::Spaces(spaces) => spaces.place(number),
            Network::Loopback { subnet } => {
                let ip = Ipv4Addr::new(127, 77, *subnet, number);
                Ok(MemberAddress { ip, through: Vec::new(), space: None })
            }
        }
    }

    /// From now on these reach only each other.
    pub fn cut(&self, places: &[&MemberAddress]) -> anyhow::Result<()> {
        self.join(places, "i")
    }

    /// Everybody reaches everybody.
    pub fn heal(&self, places: &[&MemberAddress]) -> anyhow::Result<()> {
        self.join(places, "m")
    }

    fn join(&self, places: &[&MemberAddress], bridge: &str) -> anyhow::Result<()> {
        let Network::Spaces(spaces) = self else { bail!("members on the loopback cannot be cut off") };
        for Space { port, .. } in places.iter().filter_map(|place| place.space.as_ref()) {
            ip(&format!("link set {port} master {}", spaces.name(bridge)))?;
        }
        Ok(())
    }

    /// Cuts the connections between these and those; all others stay.
    pub fn sever(&self, these: &[&MemberAddress], those: &[&MemberAddress]) -> anyhow::Result<()> {
        let line = |other: &MemberAddress| {
            format!("neigh replace {} lladdr {UNUSED_MAC} nud permanent dev eth0\n", other.ip)
        };
        self.between(these, those, line)
    }

    /// They reach each other again.
    pub fn restore(&self, these: &[&MemberAddress], those: &[&MemberAddress]) -> anyhow::Result<()> {
        self.between(these, those, |other| format!("neigh del {} dev eth0\n", other.ip))
    }

    /// Runs a command on each member of one side about each member of the other.
    fn between(
        &self,
        these: &[&MemberAddress],
        those: &[&MemberAddress],
        line: impl Fn(&MemberAddress) -> String,
    ) -> anyhow::Result<()> {
        ensure!(self.can_cut(), "members on the loopback cannot be cut off");
        for (places, others) in [(these, those), (those, these)] {
            let lines: String = others.iter().map(|other| line(other)).collect();
            for Space { name, .. } in places.iter().filter_map(|place| place.space.as_ref()) {
                ip_lines(name, &lines)?;
            }
        }
        Ok(())
    }
}

impl Spaces {
    fn open(&mut self) -> anyhow::Result<()> {
        for bridge in ["m", "i"].map(|bridge| self.name(bridge)) {
            ip(&format!("link add {bridge} type bridge"))?;
            ip(&format!("link set {bridge} up"))?;
        }
        ip(&format!("addr add {}/24 dev {}", self.ip(1), self.name("m")))
    }

    fn place(&mut self, number: u8) -> anyhow::Result<MemberAddress> {
        let (space, port) = (self.name(&format!("n{number}")), self.name(&format!("v{number}")));
        let address = self.ip(number);
        ip(&format!("netns add {space}"))?;
        self.members.push(number);
        ip(&format!("link add {port} type veth peer name eth0 netns {space}"))?;
        ip(&format!("link set {port} master {} up", self.name("m")))?;
        ip(&format!("-n {space} addr add {address}/24 dev eth0"))?;
        ip(&format!("-n {space} link set eth0 up"))?;
        ip(&format!("-n {space} link set lo up"))?;
        let through = ["ip", "netns", "exec", &space].map(str::to_owned).to_vec();
        Ok(MemberAddress { ip: address, through, space: Some(Space { name: space, port }) })
    }

    fn ip(&self, number: u8) -> Ipv4Addr {
        Ipv4Addr::new(10, 77, self.subnet, number)
    }

    fn name(&self, what: &str) -> String {
        name(self.id, what)
    }
}

impl Drop for Spaces {
    fn drop(&mut self) {
        remove(self.id, &self.members);
    }
}

/// Names of interfaces have 15 letters at most.
fn name(id: u32, what: &str) -> String {
    format!("st{id}{what}")
}

fn remove(id: u32, members: &[u8]) {
    // What is not there need not go. The interfaces of a member go with its namespace.
    for member in members {
        let _ = ip(&format!("netns del {}", name(id, &format!("n{member}"))));
    }
    for bridge in ["m", "i"] {
        let _ = ip(&format!("link del {}", name(id, bridge)));
    }
}

/// Removes what a torture left that was killed itself.
fn sweep() {
    let Ok(output) = Command::new("ip").args(["netns", "list"]).output() else { return };
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    for (id, member) in text.lines().filter_map(|line| owner(line.split(' ').next()?)) {
        if !Path::new("/proc").join(id.to_string()).exists() {
            remove(id, &[member]);
        }
    }
}

/// The torture that made a namespace, and its member.
fn owner(space: &str) -> Option<(u32, u8)> {
    let (id, member) = space.strip_prefix("st")?.split_once('n')?;
    Some((id.parse().ok()?, member.parse().ok()?))
}

fn ip(words: &str) -> anyhow::Result<()> {
    let output = Command::new("ip").args(words.split(' ')).output().context("starting ip")?;
    if !output.status.success() {
        bail!("ip {words}: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(())
}

/// Several commands within a namespace.
fn ip_lines(space: &str, lines: &str) -> anyhow::Result<()> {
    let mut child = Command::new("ip")
        .args(["-n", space, "-batch", "-"])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .context("starting ip")?;
    let mut input = child.stdin.take().context("the input was asked for")?;
    input.write_all(lines.as_bytes()).context("writing to ip")?;
    drop(input);
    let output = child.wait_with_output().context("waiting for ip")?;
    if !output.status.success() {
        bail!("ip -n {space}, {lines:?}: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_namespaces_of_tortures_are_swept() {
        assert_eq!(owner("st1234n11"), Some((1234, 11)));
        assert_eq!(owner("station"), None);
        assert_eq!(owner("stn1"), None);
        assert!(name(4_194_304, "v255").len() <= 15);
    }
}
