//! The table of addresses, and the allowances.

use super::*;

fn name(text: &str) -> Host {
    Host::Name(text.into())
}

fn allows(egress: &Egress, host: &str, addresses: &[&str]) -> bool {
    let addresses: Vec<IpAddr> = addresses.iter().map(|text| text.parse().unwrap()).collect();
    egress.check(&name(host), &addresses).is_ok()
}

#[test]
fn every_address_is_of_its_kind() {
    let table = [
        (
            AddressKind::Global,
            "1.1.1.1 8.8.8.8 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 126.255.255.255 128.0.0.0",
        ),
        (
            AddressKind::Global,
            "169.253.255.255 169.255.0.0 172.15.255.255 172.32.0.0 191.255.255.255 192.0.1.0 192.0.3.0",
        ),
        (
            AddressKind::Global,
            "192.88.98.255 192.88.100.0 192.167.255.255 192.169.0.0 198.17.255.255 198.20.0.0",
        ),
        (AddressKind::Global, "198.51.99.255 198.51.101.0 203.0.112.255 203.0.114.0 223.255.255.255 1.0.0.0"),
        (
            AddressKind::Private,
            "10.0.0.0 10.255.255.255 172.16.0.0 172.31.255.255 192.168.0.0 192.168.255.255",
        ),
        (
            AddressKind::Private,
            "100.64.0.0 100.100.100.200 100.127.255.255 fc00:: fd00::1 fdff:ffff::1 fd00:ec2::254",
        ),
        (AddressKind::Loopback, "127.0.0.0 127.0.0.1 127.1.2.3 127.255.255.255 ::1"),
        (
            AddressKind::Special,
            "0.0.0.0 0.255.255.255 169.254.0.0 169.254.169.254 169.254.255.255 192.0.0.0 192.0.0.192",
        ),
        (
            AddressKind::Special,
            "192.0.0.255 192.0.2.1 192.88.99.1 198.18.0.0 198.19.255.255 198.51.100.7 203.0.113.255",
        ),
        (
            AddressKind::Special,
            "224.0.0.0 224.0.0.251 239.255.255.255 240.0.0.0 255.255.255.254 255.255.255.255",
        ),
        (
            AddressKind::Global,
            "2000::1 2001:200::1 2001:4860:4860::8888 2606:4700::1111 2a00::1 3ffe::1 3fff:1000::1",
        ),
        (
            AddressKind::Special,
            ":: ::2 ::7f00:1 ::10.0.0.1 64:ff9b::a00:1 64:ff9b::7f00:1 64:ff9b:1::1 100::1 100:0:0:1::1",
        ),
        (
            AddressKind::Special,
            "2001::1 2001:10::1 2001:1ff:ffff::1 2001:db8::1 2002:7f00:1:: 2002:a00:1:: 3fff::1 3fff:fff::1",
        ),
        (
            AddressKind::Special,
            "4000::1 5f00::1 8000::1 fb00::1 fe80::1 febf::1 fec0::1 feff::1 ff02::1 ff0e::1 1fff::1",
        ),
    ];
    for (kind, addresses) in table {
        for address in addresses.split(' ') {
            assert_eq!(kind_of(address.parse().unwrap()), kind, "{address}");
        }
    }
}

#[test]
fn an_ipv4_address_in_an_ipv6_one_is_judged_and_connected_as_ipv4() {
    let egress = Egress::default();
    assert!(!allows(&egress, "a.example", &["::ffff:127.0.0.1"]));
    assert!(!allows(&egress, "a.example", &["::ffff:169.254.169.254"]));
    let checked = egress.check(&name("a.example"), &["::ffff:8.8.8.8".parse().unwrap()]).unwrap();
    assert_eq!(checked, [Checked("8.8.8.8".parse().unwrap())]);
}

#[test]
fn one_denied_address_denies_the_host() {
    assert!(allows(&Egress::default(), "a.example", &["8.8.8.8", "2a00::1"]));
    assert!(!allows(&Egress::default(), "a.example", &["8.8.8.8", "10.0.0.1"]));
}

#[test]
fn a_name_opens_private_networks_and_nothing_else() {
    let names = vec!["drone.internal".to_owned(), "*.svc.cluster.local".to_owned()];
    let egress = Egress { names, ..Egress::default() };
    for host in ["drone.internal", "drone.internal.", "a.svc.cluster.local", "a.b.svc.cluster.local."] {
        assert!(allows(&egress, host, &["10.0.0.1", "fd00::1"]), "{host}");
        for special in ["127.0.0.1", "169.254.169.254", "fe80::1", "0.0.0.0", "::1"] {
            assert!(!allows(&egress, host, &[special]), "{host} {special}");
        }
    }
    for host in
        ["x.drone.internal", "drone.internal.evil", "svc.cluster.local", "xsvc.cluster.local", ".svc.cluster"]
    {
        assert!(!allows(&egress, host, &["10.0.0.1"]), "{host}");
    }
}

#[test]
fn a_network_opens_exactly_itself() {
    let networks = ["10.1.0.0/16", "169.254.7.7", "fd00:1::/32", "127.0.0.2/32"];
    let egress = Egress { networks: networks.map(|text| text.parse().unwrap()).into(), ..Egress::default() };
    for address in
        ["10.1.0.0", "10.1.255.255", "169.254.7.7", "fd00:1:ffff::1", "127.0.0.2", "::ffff:10.1.2.3"]
    {
        assert!(allows(&egress, "a.example", &[address]), "{address}");
    }
    for address in ["10.0.255.255", "10.2.0.0", "169.254.7.8", "fd00:2::", "127.0.0.1", "::10.1.0.1"] {
        assert!(!allows(&egress, "a.example", &[address]), "{address}");
    }
}

#[test]
fn loopback_is_for_development() {
    let egress = Egress { loopback: true, ..Egress::default() };
    assert!(allows(&egress, "localhost", &["127.0.0.1", "::1"]));
    assert!(!allows(&egress, "localhost", &["10.0.0.1"]));
    assert!(!allows(&Egress::default(), "localhost", &["127.0.0.1"]));
}

#[test]
fn networks_are_written_strictly() {
    for text in ["", "10.0.0.0/33", "::/129", "10.0.0.0/", "10.0.0.0/+8", "10.0.0/8", "a/8", "10.0.0.0/8/8"] {
        assert!(text.parse::<Cidr>().is_err(), "{text}");
    }
    let everything: Cidr = "0.0.0.0/0".parse().unwrap();
    assert!(everything.contains("255.255.255.255".parse().unwrap()));
    assert!(!everything.contains("::1".parse().unwrap()));
}
