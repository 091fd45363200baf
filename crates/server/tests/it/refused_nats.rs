//! What an instance says, and ends with, when it cannot use NATS: 78 when somebody has to change something, else 75.

use async_nats::jetstream;
use async_nats::jetstream::stream::StorageType;
use server::Config;
use tempfile::TempDir;
use test_brokers::{Authority, NatsCluster, NatsSettings};

use crate::witnessed::{Places, ready};

/// The exit code, and what is said.
async fn refused(config: &Config) -> (u8, String) {
    let started = server::start(config.clone()).await;
    started.err().map(|error| (error.exit_code(), error.to_string())).expect("it does not start")
}

/// An instance alone on one server.
fn config(data: &TempDir, nats: Vec<String>) -> Config {
    let mut config = Config::dev(data.path().join("data"), 0);
    config.partitions = 1;
    config.secrets.key = Some("7".repeat(64));
    config.cluster.nats = nats;
    config.cluster.trust_servers = true;
    config.cluster.replicas = 1;
    config.cluster.secret = Some("between the instances".to_owned());
    config
}

#[tokio::test(flavor = "multi_thread")]
async fn the_witness_and_the_region_are_spoken_to_with_the_same_certificates() {
    let authority = Authority::new().unwrap();
    let places = Places::start_with(authority.nats_mutual_tls(&authority.issue("127.0.0.1").unwrap()));
    let mut config = places.config();
    let (code, told) = refused(&config).await;
    assert!(code == 78 && told.contains("set tls_ca_file"), "{code}: {told}");
    config.cluster.tls_ca_file = Some(authority.file());
    let (code, told) = refused(&config).await;
    assert!(code == 78 && told.contains("set tls_certificate_file and tls_key_file"), "{code}: {told}");
    let shown = authority.issue("sortie").unwrap();
    config.cluster.tls_certificate_file = Some(shown.file);
    config.cluster.tls_key_file = Some(shown.key_file);
    let running = server::start(config).await.unwrap();
    ready(running.address()).await;
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_configuration_is_distinguished_from_a_passing_failure() {
    let data = tempfile::tempdir().unwrap();
    let one = NatsSettings { servers: 1, system_account: true, ..NatsSettings::default() };
    let mut servers = NatsCluster::start_with(one).unwrap();
    let fit = config(&data, servers.urls());

    let mut stranger = fit.clone();
    stranger.cluster.user = Some("stranger".to_owned());
    let (code, told) = refused(&stranger).await;
    assert!(code == 78 && told.contains("rejects the user \"stranger\""), "{code}: {told}");

    let mut many = fit.clone();
    many.cluster.replicas = 3;
    let (code, told) = refused(&many).await;
    assert!(code == 78 && told.contains("replicas > 1 not supported"), "{code}: {told}");

    let streams = jetstream::new(async_nats::connect(servers.urls()).await.unwrap());
    let bucket = jetstream::stream::Config {
        name: "OBJ_sortie_snap".to_owned(),
        subjects: vec!["$O.sortie_snap.>".to_owned()],
        storage: StorageType::Memory,
        ..Default::default()
    };
    streams.create_stream(bucket).await.unwrap();
    let (code, told) = refused(&fit).await;
    assert!(
        code == 78 && told.contains("OBJ_sortie_snap has storage memory, it must be file"),
        "{code}: {told}"
    );

    servers.stop(0);
    let (code, told) = refused(&fit).await;
    assert!(code == 75 && told.contains("cannot be reached"), "{code}: {told}");
}
