//! URLs of calls, and the egress policy: one interpretation, and no private address unless allowed.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use outbound::{Cidr, Egress, Url};

use crate::Target;
use crate::input::{first_line, text};
use crate::mutate::Dice;

pub const TARGET: Target = Target {
    name: "url",
    run,
    seeds,
    words: &[
        "http://",
        "https://",
        "HTTP://",
        "@",
        ":80",
        ":443",
        ":0",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "127.0.0.1",
        "0x7f.1",
        "2130706433",
        "localhost",
        "a.test",
        "xn--",
        "%00",
        "%2e%2e",
        "\\",
        "#",
        "?q=",
        "/..",
        "169.254.169.254",
        "10.0.0.0/8",
        "fd00::/8",
        "*.a.test",
        "::ffff:10.0.0.1",
        "64:ff9b::7f00:1",
    ],
    inputs: 5000,
};

fn run(bytes: &[u8]) {
    let Some(text) = text(bytes) else { return };
    let (url, rest) = first_line(text);
    let (network, address) = first_line(rest);
    let network = network.parse::<Cidr>().ok();
    let Ok(url) = Url::parse(url) else { return };
    let canonical = url.canonical();
    let again = Url::parse(&canonical).unwrap_or_else(|fault| panic!("{canonical}: {fault}"));
    assert_eq!(again.canonical(), canonical, "one spelling of one address");
    assert_eq!(again.host_header(), url.host_header());
    assert!(canonical.is_ascii() && !canonical.contains([' ', '\\', '#', '\r', '\n']), "{canonical}");
    let authority = canonical.split("://").nth(1).and_then(|rest| rest.split('/').next()).unwrap_or_default();
    assert!(!authority.contains('@'), "{canonical}");

    let guarded = Egress::default();
    for address in inward(bytes) {
        assert!(!guarded.permits(&url, &[address]), "{address} is let through");
    }
    let Ok(address) = address.trim().parse::<IpAddr>() else { return };
    assert!(!guarded.permits(&url, &[address]) || !is_inward(address), "{address} is let through");
    assert!(
        !guarded.permits(&url, &[Ipv4Addr::new(1, 1, 1, 1).into(), Ipv4Addr::LOCALHOST.into()]),
        "one of two"
    );
    if let Some(network) = network {
        let opened = Egress { networks: vec![network], ..Egress::default() };
        assert!(
            opened.permits(&url, &[address]) || !guarded.permits(&url, &[address]),
            "allowing a network denies nothing"
        );
    }
}

/// Networks that lead into this machine or its neighbourhood: their beginning, and how many bytes of it are fixed.
const INWARD: [([u8; 3], usize); 9] = [
    ([127, 0, 0], 1),
    ([10, 0, 0], 1),
    ([172, 16, 0], 2),
    ([172, 31, 0], 2),
    ([192, 168, 0], 2),
    ([169, 254, 0], 2),
    ([100, 64, 0], 2),
    ([0, 0, 0], 1),
    ([224, 0, 0], 1),
];

/// One address of each of these networks, in both spellings, drawn from the input.
fn inward(bytes: &[u8]) -> impl Iterator<Item = IpAddr> {
    let seed = bytes.iter().fold(1, |seed, byte| Dice::new(seed ^ u64::from(*byte)).draw());
    let mut dice = Dice::new(seed);
    INWARD.iter().flat_map(move |(start, fixed)| {
        let mut octets = (dice.draw() as u32).to_be_bytes();
        octets[..*fixed].copy_from_slice(&start[..*fixed]);
        let address = Ipv4Addr::from(octets);
        [IpAddr::from(address), IpAddr::from(address.to_ipv6_mapped())]
    })
}

/// What leads into this machine or its neighbourhood, by the words of the standard library.
fn is_inward(address: IpAddr) -> bool {
    let v4 = |address: Ipv4Addr| {
        address.is_private()
            || address.is_loopback()
            || address.is_link_local()
            || address.is_unspecified()
            || address.is_multicast()
            || address.is_broadcast()
            || address.is_documentation()
            || address.octets()[0] == 0
            || (address.octets()[0] == 100 && (64..128).contains(&address.octets()[1]))
    };
    let v6 = |address: Ipv6Addr| {
        address.is_loopback() || address.is_unspecified() || address.is_multicast() || address.is_unique_local()
            || address.is_unicast_link_local() || address.to_ipv4_mapped().is_some_and(v4)
            // An address of the old kind in one of the new: translated, or wrapped by a tunnel.
            || address.to_ipv4().is_some_and(v4)
            || (address.segments()[..6] == [0x64, 0xff9b, 0, 0, 0, 0] && v4(last_four(address)))
            || (address.segments()[0] == 0x2002 && v4(embedded(address)))
    };
    match address {
        IpAddr::V4(address) => v4(address),
        IpAddr::V6(address) => v6(address),
    }
}

fn last_four(address: Ipv6Addr) -> Ipv4Addr {
    let bytes = address.octets();
    Ipv4Addr::new(bytes[12], bytes[13], bytes[14], bytes[15])
}

fn embedded(address: Ipv6Addr) -> Ipv4Addr {
    let bytes = address.octets();
    Ipv4Addr::new(bytes[2], bytes[3], bytes[4], bytes[5])
}

fn seeds() -> Vec<Vec<u8>> {
    [
        "https://Example.COM:8443/a/b?c=d%20e\n10.0.0.0/8\n10.1.2.3",
        "http://[2001:db8::1]:80/\nfd00::/8\nfd00::1",
        "http://a_b.svc.cluster.local.:1/?q\n::/0\n::ffff:192.168.0.1",
        "http://127.0.0.1\n1.2.3.4\n64:ff9b::a00:1",
        "http://xn--bcher-kva.example/@x\n0.0.0.0/33\n2002:7f00:1::",
    ]
    .map(|text| text.as_bytes().to_vec())
    .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_url_and_the_address_of_every_seed_are_accepted() {
        for seed in seeds() {
            let (url, rest) = first_line(text(&seed).expect("seeds are text"));
            let (_, address) = first_line(rest);
            Url::parse(url).unwrap_or_else(|fault| panic!("{url}: {fault}"));
            address.parse::<IpAddr>().unwrap();
        }
    }
}
