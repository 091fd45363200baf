//! Every peer starts, listens, and is gone when it is dropped, or when its holder dies.

#![allow(clippy::unwrap_used)]

use std::env;
use std::io::{BufRead, BufReader};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use test_brokers::{Azurite, KafkaMock, NatsCluster, NatsServer, NatsSettings, RabbitMq};

fn check(url: &str, end: impl FnOnce()) {
    let rest = url.split("//").last().unwrap();
    let address = rest.split('/').next().unwrap();
    assert!(TcpStream::connect(address).is_ok(), "{address} listens");
    end();
    let ended = Instant::now();
    while TcpStream::connect(address).is_ok() {
        assert!(ended.elapsed() < Duration::from_secs(60), "{address} is still there");
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_rabbitmq_ends_with_its_holder() {
    let peer = RabbitMq::start().unwrap();
    check(&peer.url(), || drop(peer));
}

#[test]
fn a_nats_server_ends_with_its_holder_and_comes_back_on_the_same_port() {
    let mut peer = NatsServer::start().unwrap();
    peer.stop();
    peer.start_again().unwrap();
    check(&peer.url(), || drop(peer));
}

#[test]
fn a_cluster_of_nats_heals_after_a_kill_and_ends_with_its_holder() {
    let mut cluster = NatsCluster::start_with(NatsSettings {
        domain: Some("east".to_owned()),
        system_account: true,
        ..NatsSettings::default()
    })
    .unwrap();
    cluster.kill(1);
    cluster.start_again(1).unwrap();
    cluster.stop(2);
    cluster.start_again(2).unwrap();
    cluster.wait_until_ready().unwrap();
    assert_eq!(cluster.node_named("east-n2"), Some(1));
    let url = cluster.urls().remove(0);
    check(&url, || drop(cluster));
}

#[test]
fn an_azurite_ends_with_its_holder() {
    let peer = Azurite::start().unwrap();
    check(&peer.url(), || drop(peer));
}

#[test]
fn a_stand_in_for_kafka_ends_with_its_holder() {
    let peer = KafkaMock::start().unwrap();
    let servers = peer.servers().to_owned();
    check(&servers, || drop(peer));
}

/// Distinguishes the child process from the test that starts it.
const HOLDER: &str = "PEERS_TEST_HOLDER";

#[test]
fn a_peer_ends_when_its_holder_is_killed() {
    if env::var_os(HOLDER).is_some() {
        let peer = NatsServer::start().unwrap();
        println!("held at {}", peer.url());
        thread::sleep(Duration::from_secs(600));
    }
    let mut holder = Command::new(env::current_exe().unwrap());
    holder.args(["--exact", "a_peer_ends_when_its_holder_is_killed", "--nocapture"]).env(HOLDER, "1");
    let mut holder = holder.stdout(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(holder.stdout.take().unwrap()).lines().map_while(Result::ok);
    let url = lines.filter_map(|line| line.split("held at ").nth(1).map(str::to_owned)).next().unwrap();
    check(&url, || {
        holder.kill().unwrap();
        holder.wait().unwrap();
    });
}
