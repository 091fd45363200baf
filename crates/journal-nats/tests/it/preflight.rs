//! Servers and streams that would lose work are refused, with what to change.

use journal_nats::snapshots::memory::MemorySnapshots;
use journal_nats::{Client, Login, NatsJournal, OpenError, Proof, Settings};
use peers::{NatsCluster, NatsSettings};

use crate::cluster::{open, settings, shared, shared_monitors};

async fn refused(settings: &Settings) -> String {
    match NatsJournal::open(settings, MemorySnapshots::default()).await {
        Ok(_) => panic!("it was opened"),
        Err(error) => error.to_string(),
    }
}

fn system() -> Proof {
    Proof::SystemAccount(Login::Password { user: "sys".to_owned(), password: "sys".to_owned() })
}

#[tokio::test]
async fn fit_servers_pass_by_either_proof() {
    for proof in [system(), Proof::Monitoring(shared_monitors())] {
        open(&Settings { proof, ..settings(shared()) }).await;
    }
}

#[tokio::test]
async fn without_a_proof_of_all_servers_it_is_refused() {
    let missing = refused(&Settings { proof: Proof::Missing, ..settings(shared()) }).await;
    assert!(missing.contains("system_user") && missing.contains("trust_servers"), "{missing}");

    let few = Proof::Monitoring(shared_monitors()[..2].to_vec());
    let few = refused(&Settings { proof: few, ..settings(shared()) }).await;
    assert!(few.starts_with("2 of NATS's servers with JetStream") && few.contains("3 are needed"), "{few}");

    let nobody = Proof::SystemAccount(Login::Nobody);
    let nobody = refused(&Settings { proof: nobody, ..settings(shared()) }).await;
    assert!(nobody.contains("check that system_user belongs to the system account"), "{nobody}");
}

#[tokio::test]
async fn a_server_that_writes_later_or_takes_too_little_is_refused() {
    let lazy =
        NatsSettings { servers: 1, sync_always: false, system_account: true, ..NatsSettings::default() };
    let lazy = NatsCluster::start_with(lazy).unwrap();
    for proof in [system(), Proof::Monitoring(lazy.monitor_urls())] {
        let error = refused(&Settings { proof, replicas: 1, ..settings(lazy.urls()) }).await;
        assert!(error.starts_with("NATS server n1 has no sync_interval: always"), "{error}");
        assert!(error.contains("jetstream { sync_interval: always }"), "{error}");
    }
    let small = NatsSettings { servers: 1, max_payload: "1MB".to_owned(), ..NatsSettings::default() };
    let small = NatsCluster::start_with(small).unwrap();
    let error = refused(&Settings { replicas: 1, ..settings(small.urls()) }).await;
    assert!(error.starts_with("NATS server n1 has max_payload of 1048576 bytes"), "{error}");
    assert!(error.contains("`max_payload: 8MB`"), "{error}");

    let three = NatsCluster::start_with(NatsSettings { servers: 1, ..NatsSettings::default() }).unwrap();
    let error = refused(&settings(three.urls())).await;
    assert!(error.contains("replicas"), "{error}");
}

#[tokio::test]
async fn streams_that_are_not_as_asked_are_refused() {
    let asked = settings(shared());
    open(&Settings { replicas: 1, ..asked.clone() }).await;
    let error = refused(&asked).await;
    assert!(error.contains("num_replicas 1, it must be 3"), "{error}");

    let mut more = asked.clone();
    more.replicas = 1;
    more.installation.partitions = 2;
    let error = refused(&more).await;
    assert!(error.contains("partitions 1, it must be 2"), "{error}");

    let asked = settings(shared());
    let name = format!("{}_JRN_00000", asked.installation.name);
    let other = serde_json::json!({
        "name": name, "subjects": [format!("{}.jrn.00000", asked.installation.name)],
        "storage": "file", "num_replicas": 3, "max_age": 3_600_000_000_000_u64, "retention": "limits",
    });
    let client = Client::connect(&asked).await.unwrap();
    let made = client.nats().request(format!("$JS.API.STREAM.CREATE.{name}"), other.to_string().into()).await;
    assert!(!String::from_utf8_lossy(&made.unwrap().payload).contains("error"));
    let error = NatsJournal::open(&asked, MemorySnapshots::default()).await.map(|_| ()).unwrap_err();
    let OpenError::Stream { stream, field, found, .. } = error else { panic!("{error}") };
    assert_eq!((stream, field, found), (name, "max_age", "3600000000000".to_owned()));
}
