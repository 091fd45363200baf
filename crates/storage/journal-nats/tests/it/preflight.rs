//! Servers and streams that would lose work are refused, with what to change.

use std::time::Duration;

use journal_nats::jetstream::JetStream;
use journal_nats::{Login, NatsJournal, NatsWire, OpenError, Proof, Settings, layout, preflight};
use snapshots::memory::MemorySnapshots;
use test_brokers::{NatsCluster, NatsSettings};

use crate::cluster::{open, settings, shared, shared_monitors};

const PATIENCE: Duration = Duration::from_secs(60);

async fn refused(settings: &Settings) -> String {
    match NatsJournal::open(settings, MemorySnapshots::default()).await {
        Ok(_) => panic!("it was opened"),
        Err(error) => error.to_string(),
    }
}

/// Follows servers that have passed the preflight.
async fn watch_servers(settings: &Settings) -> preflight::ServerWatch {
    let jetstream = JetStream::connect(settings).await.unwrap();
    preflight::check(settings, &jetstream).await.unwrap()
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
async fn a_refused_login_and_a_malformed_address_are_permanent_errors() {
    let login = || Login::Password { user: "somebody".to_owned(), password: "something wrong".to_owned() };
    let asked = settings(shared());
    for settings in [
        Settings { login: login(), ..asked.clone() },
        Settings { proof: Proof::SystemAccount(login()), ..asked.clone() },
    ] {
        let error = NatsJournal::open(&settings, MemorySnapshots::default()).await.map(drop).unwrap_err();
        assert!(error.is_of_settings(), "{error}");
        let error = error.to_string();
        assert!(error.contains("rejects the user \"somebody\"") && !error.contains("wrong"), "{error}");
    }
    let unusable = settings(vec!["http://me:hidden@127.0.0.1:4222".to_owned()]);
    let error = NatsWire::connect(&unusable).await.map(drop).unwrap_err();
    assert!(error.is_of_settings(), "{error}");
    assert_eq!(
        error.to_string(),
        "http://127.0.0.1:4222 is not a valid address: invalid scheme for NATS server URL: http"
    );
    let away = settings(vec!["nats://127.0.0.1:1".to_owned()]);
    let error = NatsWire::connect(&away).await.map(drop).unwrap_err();
    assert!(!error.is_of_settings(), "{error}");
}

#[tokio::test]
async fn without_a_proof_of_all_servers_it_is_refused() {
    let missing = refused(&Settings { proof: Proof::Missing, ..settings(shared()) }).await;
    assert!(missing.contains("system_user") && missing.contains("trust_servers"), "{missing}");

    let few = Proof::Monitoring(shared_monitors()[..2].to_vec());
    let few = refused(&Settings { proof: few, ..settings(shared()) }).await;
    assert!(few.starts_with("2 NATS servers with JetStream") && few.contains("3 are needed"), "{few}");

    let nobody = Proof::SystemAccount(Login::Anonymous);
    let nobody = refused(&Settings { proof: nobody, ..settings(shared()) }).await;
    assert!(nobody.contains("check that system_user belongs to the system account"), "{nobody}");
}

// guards: 35
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_a_server_away_streams_that_are_there_are_opened_and_none_are_made() {
    let servers = NatsSettings { system_account: true, ..NatsSettings::default() };
    let mut servers = NatsCluster::start_with(servers).unwrap();
    let proofs = [system(), Proof::Monitoring(servers.monitor_urls())];
    let there = settings(servers.urls());
    open(&there).await;
    servers.kill(2);
    for proof in proofs {
        let watch = watch_servers(&Settings { proof: proof.clone(), ..there.clone() }).await;
        let mut survey = watch.survey();
        let silent = survey.wait_for(|survey| survey.silent == 1);
        tokio::time::timeout(PATIENCE, silent).await.expect("one is silent").unwrap();
        let error = refused(&Settings { proof, ..settings(servers.urls()) }).await;
        assert!(error.contains("2 NATS servers") && error.contains("3 are needed"), "{error}");
    }
    servers.kill(1);
    let error = refused(&Settings { proof: Proof::Monitoring(servers.monitor_urls()), ..there }).await;
    assert!(!error.contains("3 are needed"), "{error}");
}

// guards: 35
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_returns_without_fsync_is_reported() {
    let servers = NatsSettings { system_account: true, ..NatsSettings::default() };
    let mut servers = NatsCluster::start_with(servers).unwrap();
    let there = Settings { proof: system(), ..settings(servers.urls()) };
    open(&there).await;
    servers.kill(2);
    let watch = watch_servers(&there).await;
    servers.change(|settings| settings.sync_always = false);
    servers.start_again(2).unwrap();
    let mut survey = watch.survey();
    let told = survey.wait_for(|survey| survey.unfit.contains_key("n3"));
    let told = tokio::time::timeout(PATIENCE, told).await.expect("the survey reports it").unwrap().clone();
    assert!(told.unfit["n3"].contains("sync_interval: always"), "{told:?}");
}

// guards: 35
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

// guards: 35
#[tokio::test]
async fn streams_that_are_not_as_asked_are_refused() {
    let asked = settings(shared());
    open(&Settings { replicas: 1, ..asked.clone() }).await;
    let error = refused(&asked).await;
    assert!(error.contains("num_replicas 1, it must be 3"), "{error}");

    let client = NatsWire::connect(&asked).await.unwrap();
    let region = format!("KV_{}_region", asked.installation.name);
    let bucket =
        serde_json::json!({ "name": region, "subjects": [format!("$KV.{region}.>")], "num_replicas": 1 });
    let made = client
        .jetstream()
        .nats()
        .request(format!("$JS.API.STREAM.CREATE.{region}"), bucket.to_string().into())
        .await;
    assert!(!String::from_utf8_lossy(&made.unwrap().payload).contains("error"));
    layout::check_region(client.jetstream(), &asked.installation, 1).await.unwrap();
    let error =
        layout::check_region(client.jetstream(), &asked.installation, 3).await.unwrap_err().to_string();
    assert!(error.contains("num_replicas 1, it must be 3"), "{error}");

    let mut more = asked.clone();
    more.replicas = 1;
    more.installation.partitions = 2;
    let error = refused(&more).await;
    assert!(error.contains("partitions 1, it must be 2"), "{error}");
    layout::check_partitions(client.jetstream(), &asked.installation).await.unwrap();
    let error =
        layout::check_partitions(client.jetstream(), &more.installation).await.unwrap_err().to_string();
    assert!(error.contains("partitions 1, it must be 2"), "{error}");

    let asked = settings(shared());
    let name = format!("{}_JRN_00000", asked.installation.name);
    let other = serde_json::json!({
        "name": name, "subjects": [format!("{}.jrn.00000", asked.installation.name)],
        "storage": "file", "num_replicas": 3, "max_age": 3_600_000_000_000_u64, "retention": "limits",
    });
    let client = NatsWire::connect(&asked).await.unwrap();
    let made = client
        .jetstream()
        .nats()
        .request(format!("$JS.API.STREAM.CREATE.{name}"), other.to_string().into())
        .await;
    assert!(!String::from_utf8_lossy(&made.unwrap().payload).contains("error"));
    let error = NatsJournal::open(&asked, MemorySnapshots::default()).await.map(|_| ()).unwrap_err();
    let OpenError::Stream { stream, field, found, .. } = error else { panic!("{error}") };
    assert_eq!((stream, field, found), (name, "max_age", "3600000000000".to_owned()));
}

#[tokio::test]
async fn a_stream_with_the_subjects_of_another_is_refused_fenced_or_not() {
    for subject in ["other.jrn.00000", "fenced.other.jrn.00000"] {
        let asked = settings(shared());
        let client = NatsWire::connect(&asked).await.unwrap();
        let mut config = layout::stream_configs(&asked.installation, asked.replicas).remove(1);
        let name = config["name"].as_str().unwrap().to_owned();
        let other = format!("{subject}.{}", asked.installation.name);
        config["subjects"] = serde_json::json!([other]);
        let made = client
            .jetstream()
            .nats()
            .request(format!("$JS.API.STREAM.CREATE.{name}"), config.to_string().into());
        assert!(!String::from_utf8_lossy(&made.await.unwrap().payload).contains("error"));
        let error = NatsJournal::open(&asked, MemorySnapshots::default()).await.map(|_| ()).unwrap_err();
        let OpenError::Stream { stream, field, found, .. } = error else { panic!("{error}") };
        assert_eq!((stream, field, found), (name, "subjects", other));
    }
}

#[tokio::test]
async fn another_place_of_snapshots_is_refused_in_the_same_region_alone() {
    let settings = settings(shared());
    let client = NatsWire::connect(&settings).await.unwrap();
    layout::ensure(client.jetstream(), &settings.installation, settings.replicas).await.unwrap();
    let note = async |region, place| {
        layout::note_snapshots(client.jetstream(), &settings.installation, region, place).await
    };
    note(None, "nats").await.unwrap();
    note(None, "nats").await.unwrap();
    let refused = note(None, "s3://bucket").await.unwrap_err();
    assert!(refused.is_of_settings());
    let text = refused.to_string();
    for part in ["cluster.snapshots is s3://bucket", "are in nats", "sortie.snapshots", "_JRN_ctl"] {
        assert!(text.contains(part), "{text}");
    }
    // What is noted goes with the stream to the pair, which may have a store of its own.
    note(Some("east"), "s3://east").await.unwrap();
    note(Some("west"), "s3://west").await.unwrap();
    assert!(note(Some("east"), "s3://west").await.is_err());
    // The streams are still as they must be.
    layout::ensure(client.jetstream(), &settings.installation, settings.replicas).await.unwrap();
}
