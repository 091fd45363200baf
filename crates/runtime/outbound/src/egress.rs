//! The outbound guard: which addresses may be connected to. What it has checked is what is connected.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use crate::url::Host;

/// Which addresses calls may reach. Without any allowance: global unicast only.
#[derive(Debug, Clone, Default)]
pub struct Egress {
    /// Networks that are allowed whatever they are.
    pub networks: Vec<Cidr>,
    /// Host names (exact, or `*.suffix`) that may also resolve to private addresses (RFC 1918, shared, ULA).
    /// Loopback, link-local and reserved addresses stay denied to them: a name is under its zone's control.
    pub names: Vec<String>,
    /// 127.0.0.0/8 and ::1 are allowed: for development and tests.
    pub loopback: bool,
}

/// A network, written as `10.1.0.0/16`, `fd00::/8` or a single address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cidr {
    network: IpAddr,
    prefix: u8,
}

/// A text that is not a network.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a network; write an address and a prefix length, like 10.1.0.0/16")]
pub struct InvalidCidr(String);

/// An address that the policy has let through. Only [`Egress::check`] makes one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Checked(IpAddr);

/// An address that the policy denies.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{} is not allowed by the egress policy; egress.networks can allow it", self.target())]
pub(crate) struct Denied {
    host: String,
    address: IpAddr,
}

impl Denied {
    /// The host, and its address unless that is the host.
    fn target(&self) -> String {
        let Denied { host, address } = self;
        let is_literal = host.trim_matches(['[', ']']) == address.to_string();
        if is_literal { host.clone() } else { format!("{host} ({address})") }
    }
}

/// What kind of place an address is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AddressKind {
    Global,
    Private,
    Loopback,
    /// Link-local, multicast, documentation, translation and reserved ranges: never a service.
    Special,
}

impl Egress {
    /// All addresses of a host, if every one of them is allowed. One denied address denies the host: a name that
    /// points at both a public and a private address is an attack or a mistake.
    pub(crate) fn check(&self, host: &Host, addresses: &[IpAddr]) -> Result<Vec<Checked>, Denied> {
        let by_name = host.plain_name().is_some_and(|name| self.allows_name(name));
        let check = |address: &IpAddr| {
            let address = address.to_canonical();
            let allowed = match kind_of(address) {
                AddressKind::Global => true,
                AddressKind::Private => by_name,
                AddressKind::Loopback => self.loopback,
                AddressKind::Special => false,
            };
            if allowed || self.networks.iter().any(|network| network.contains(address)) {
                Ok(Checked(address))
            } else {
                Err(Denied { host: host.to_string(), address })
            }
        };
        addresses.iter().map(check).collect()
    }

    /// Whether a call of this URL may connect, if its name leads to these addresses. Connects to nothing.
    #[cfg(feature = "testing")]
    pub fn permits(&self, url: &crate::Url, addresses: &[IpAddr]) -> bool {
        self.check(&url.origin.host, addresses).is_ok()
    }

    fn allows_name(&self, name: &str) -> bool {
        self.names.iter().any(|allowed| match allowed.strip_prefix("*.") {
            Some(suffix) => {
                name.len() > suffix.len() + 1
                    && name.as_bytes()[name.len() - suffix.len() - 1] == b'.'
                    && name[name.len() - suffix.len()..].eq_ignore_ascii_case(suffix)
            }
            None => name.eq_ignore_ascii_case(allowed),
        })
    }
}

impl brokers::Guard for Egress {
    fn check(&self, address: IpAddr, host: &str) -> Result<(), String> {
        let host = match host.parse() {
            Ok(address) => Host::Address(address),
            Err(_) => Host::Name(host.to_lowercase().into()),
        };
        Egress::check(self, &host, &[address]).map(drop).map_err(|denied| denied.to_string())
    }
}

impl Checked {
    pub(crate) fn address(self) -> IpAddr {
        self.0
    }
}

impl Cidr {
    fn contains(self, address: IpAddr) -> bool {
        match (self.network, address) {
            (IpAddr::V4(network), IpAddr::V4(address)) => same_prefix_v4(network, address, self.prefix),
            (IpAddr::V6(network), IpAddr::V6(address)) => same_prefix_v6(network, address, self.prefix),
            (IpAddr::V4(_), IpAddr::V6(_)) | (IpAddr::V6(_), IpAddr::V4(_)) => false,
        }
    }
}

impl FromStr for Cidr {
    type Err = InvalidCidr;

    fn from_str(text: &str) -> Result<Cidr, InvalidCidr> {
        let invalid = || InvalidCidr(text.chars().take(60).collect());
        let (network, prefix) = match text.split_once('/') {
            Some((network, prefix)) => (network, Some(prefix)),
            None => (text, None),
        };
        let network: IpAddr = network.parse().map_err(|_| invalid())?;
        let bits = if network.is_ipv4() { 32 } else { 128 };
        let prefix = match prefix {
            Some(digits) if digits.bytes().all(|b| b.is_ascii_digit()) => {
                digits.parse().map_err(|_| invalid())?
            }
            Some(_) => return Err(invalid()),
            None => bits,
        };
        if prefix > bits { Err(invalid()) } else { Ok(Cidr { network, prefix }) }
    }
}

fn kind_of(address: IpAddr) -> AddressKind {
    match address {
        IpAddr::V4(address) => kind_of_v4(address),
        IpAddr::V6(address) => kind_of_v6(address),
    }
}

fn kind_of_v4(address: Ipv4Addr) -> AddressKind {
    let within = |a, b, c, prefix| same_prefix_v4(Ipv4Addr::new(a, b, c, 0), address, prefix);
    if within(127, 0, 0, 8) {
        AddressKind::Loopback
    } else if within(10, 0, 0, 8)
        || within(172, 16, 0, 12)
        || within(192, 168, 0, 16)
        || within(100, 64, 0, 10)
    {
        AddressKind::Private
    } else if within(0, 0, 0, 8)            // this network
        || within(169, 254, 0, 16)          // link-local, cloud metadata
        || within(192, 0, 0, 24)            // protocol assignments
        || within(192, 0, 2, 24)            // documentation
        || within(192, 88, 99, 24)          // 6to4 relays
        || within(198, 18, 0, 15)           // benchmarks
        || within(198, 51, 100, 24)         // documentation
        || within(203, 0, 113, 24)          // documentation
        || within(224, 0, 0, 4)             // multicast
        || within(240, 0, 0, 4)
    // reserved, broadcast
    {
        AddressKind::Special
    } else {
        AddressKind::Global
    }
}

fn kind_of_v6(address: Ipv6Addr) -> AddressKind {
    let within = |a, b, prefix| same_prefix_v6(Ipv6Addr::new(a, b, 0, 0, 0, 0, 0, 0), address, prefix);
    if address == Ipv6Addr::LOCALHOST {
        AddressKind::Loopback
    } else if within(0xfc00, 0, 7) {
        AddressKind::Private
    } else if within(0x2000, 0, 3)
        && !within(0x2001, 0, 23)           // Teredo, ORCHID, benchmarks
        && !within(0x2001, 0xdb8, 32)       // documentation
        && !within(0x2002, 0, 16)           // 6to4
        && !within(0x3fff, 0, 20)
    // documentation
    {
        AddressKind::Global
    } else {
        AddressKind::Special
    }
}

fn same_prefix_v4(network: Ipv4Addr, address: Ipv4Addr, prefix: u8) -> bool {
    let difference = network.to_bits() ^ address.to_bits();
    difference.checked_shr(32 - u32::from(prefix)).unwrap_or(0) == 0
}

fn same_prefix_v6(network: Ipv6Addr, address: Ipv6Addr, prefix: u8) -> bool {
    let difference = network.to_bits() ^ address.to_bits();
    difference.checked_shr(128 - u32::from(prefix)).unwrap_or(0) == 0
}

#[cfg(test)]
mod tests;
