//! Servers with TLS: used when both sides prove who they are, and refused with what to change otherwise.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::Ordering;
use std::time::Duration;
use std::{env, fs};

use journal::Journal as _;
use journal_nats::{Login, NatsJournal, NatsWire, OpenError, Proof, Settings, Tls};
use snapshots::memory::MemorySnapshots;
use test_brokers::{Authority, Certificate, NatsCluster, NatsSettings};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use types::{PartitionId, Seq};

use crate::cluster::{bytes, frames, open, settings};

const ONE: PartitionId = PartitionId(0);
const PATIENCE: Duration = Duration::from_secs(60);
const HOST: &str = "127.0.0.1";

/// One server, with these lines in its configuration.
fn server(lines: String) -> NatsCluster {
    let one = NatsSettings { servers: 1, system_account: true, more: lines, ..NatsSettings::default() };
    NatsCluster::start_with(one).unwrap()
}

fn by_tls(servers: &NatsCluster) -> Vec<String> {
    servers.urls().iter().map(|url| url.replace("nats://", "tls://")).collect()
}

/// What an instance has that trusts this authority.
fn trusting(authority: &Authority) -> Tls {
    Tls { required: true, ca_file: Some(authority.file()), certificate: None }
}

fn showing(shown: Certificate, tls: Tls) -> Tls {
    Tls { certificate: Some((shown.file, shown.key_file)), ..tls }
}

fn one(servers: Vec<String>, tls: Tls) -> Settings {
    let system = Login::Password { user: "sys".to_owned(), password: "sys".to_owned() };
    Settings { replicas: 1, tls, proof: Proof::SystemAccount(system), ..settings(servers) }
}

/// What is said to whoever has to change something.
async fn refused_for_good(settings: &Settings) -> String {
    let opened = NatsJournal::open(settings, MemorySnapshots::default()).await;
    let error = opened.map(drop).unwrap_err();
    assert!(error.is_of_settings(), "{error}");
    error.to_string()
}

async fn until(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let waited = async {
        while !is_so().await {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(PATIENCE, waited).await.expect(what);
}

fn has_connected_again(client: &NatsWire) -> bool {
    client.jetstream().nats().statistics().connects.load(Ordering::Relaxed) == 2
}

/// How many connections a server has taken so far.
async fn connections(monitor: &str) -> u64 {
    let mut stream = TcpStream::connect(monitor.trim_start_matches("http://")).await.unwrap();
    stream.write_all(b"GET /varz HTTP/1.0\r\n\r\n").await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    let told: serde_json::Value = serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap();
    told["total_connections"].as_u64().unwrap()
}

#[tokio::test]
async fn a_journal_is_kept_by_servers_that_prove_who_they_are_and_ask_the_same() {
    let authority = Authority::new().unwrap();
    let servers = server(authority.nats_mutual_tls(&authority.issue(HOST).unwrap()));
    let tls = showing(authority.issue("sortie").unwrap(), trusting(&authority));
    // The second connection is that of the system account, which is asked for the proof.
    let settings = one(by_tls(&servers), tls);
    let journal = open(&settings).await;
    let claim = journal.claim(ONE).await.unwrap();
    journal.append(ONE, claim.epoch, Seq(0), bytes("a")).await.unwrap();
    assert_eq!(frames(&open(&settings).await, ONE).await, ["a"]);
}

#[tokio::test]
async fn a_server_that_does_not_prove_its_name_is_refused_for_good() {
    let [authority, stranger] = [(); 2].map(|()| Authority::new().unwrap());
    let table = [
        (
            stranger.issue(HOST).unwrap(),
            "UnknownIssuer; set tls_ca_file to the certificate of the servers' authority",
        ),
        (authority.issue_expired(HOST).unwrap(), "renew the certificate of the server"),
        (authority.issue("other.test").unwrap(), "connect to a name that is in the certificate"),
    ];
    for (shown, told) in table {
        let servers = server(authority.nats_tls(&shown));
        let error = refused_for_good(&one(by_tls(&servers), trusting(&authority))).await;
        assert!(
            error.starts_with(&format!("the TLS handshake with NATS at {} failed: ", by_tls(&servers)[0])),
            "{error}"
        );
        assert!(error.contains(told), "{told}: {error}");
    }
    // A server says by itself that it wants TLS; the machine does not trust it.
    let servers = server(authority.nats_tls(&authority.issue(HOST).unwrap()));
    let error = refused_for_good(&one(servers.urls(), Tls::default())).await;
    assert!(error.contains("tls_ca_file"), "{error}");
}

#[tokio::test]
async fn a_missing_client_certificate_is_reported() {
    let [authority, stranger] = [(); 2].map(|()| Authority::new().unwrap());
    let servers = server(authority.nats_mutual_tls(&authority.issue(HOST).unwrap()));
    let error = refused_for_good(&one(by_tls(&servers), trusting(&authority))).await;
    assert!(error.contains("set tls_certificate_file and tls_key_file"), "{error}");
    for shown in [stranger.issue("sortie").unwrap(), authority.issue_expired("sortie").unwrap()] {
        let told = format!("rejects the certificate in {}", shown.file.display());
        let error = refused_for_good(&one(by_tls(&servers), showing(shown, trusting(&authority)))).await;
        assert!(error.contains(&told), "{told}: {error}");
    }
}

#[tokio::test]
async fn a_server_without_tls_gets_nothing_when_tls_is_asked_for() {
    let authority = Authority::new().unwrap();
    let servers = server(String::new());
    for settings in [one(servers.urls(), trusting(&authority)), one(by_tls(&servers), Tls::default())] {
        let error = refused_for_good(&settings).await;
        assert!(error.contains("put `tls { … }` into the configuration of the server"), "{error}");
    }
}

#[tokio::test]
async fn servers_that_are_learnt_are_not_spoken_to_in_clear() {
    let authority = Authority::new().unwrap();
    let two = NatsSettings { servers: 2, ..NatsSettings::default() };
    let mut servers = NatsCluster::start_with(two).unwrap();
    servers.stop(0);
    let tls = authority.nats_tls(&authority.issue(HOST).unwrap());
    servers.change(|settings| settings.more = tls);
    servers.start_again(0).unwrap();
    // That TLS is asked for is said by the address alone.
    let tls = Tls { required: false, ..trusting(&authority) };
    let settings = one(by_tls(&servers)[..1].to_vec(), tls);
    let mut client = NatsWire::connect(&settings).await.unwrap();
    // The address that was given, and those of both servers as the first one tells them.
    while client.jetstream().nats().server_pool().await.unwrap().len() < 3 {
        client = NatsWire::connect(&settings).await.unwrap();
    }
    let other = servers.monitor_urls()[1].clone();
    let before = connections(&other).await;
    servers.kill(0);
    until("it has tried the other", async || connections(&other).await > before).await;
    servers.start_again(0).unwrap();
    until("it has connected again", async || has_connected_again(&client)).await;
    assert_eq!(client.jetstream().nats().server_info().server_name, "n1", "the other has no TLS");
}

#[tokio::test]
async fn a_file_that_cannot_be_used_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let [authority, other] = [(); 2].map(|()| Authority::new().unwrap());
    let shown = authority.issue("sortie").unwrap();
    let write = |name: &str, text: &str| {
        let file = folder.path().join(name);
        fs::write(&file, text).unwrap();
        file
    };
    let nowhere = folder.path().join("nowhere.pem");
    let nonsense = write("nonsense.pem", "nonsense");
    let broken =
        write("broken.pem", "-----BEGIN CERTIFICATE-----\nbm9uc2Vuc2U=\n-----END CERTIFICATE-----\n");
    let cut = write("cut.pem", "-----BEGIN CERTIFICATE-----\nbm9uc2");
    let ca = |file: &Path| Tls { ca_file: Some(file.to_owned()), ..Tls::default() };
    let pair = |certificate: &Path, key: &Path| Tls {
        certificate: Some((certificate.to_owned(), key.to_owned())),
        ..Tls::default()
    };
    let key_of_other = other.issue("sortie").unwrap().key_file;
    let table: [(Tls, &PathBuf, &str); 9] = [
        (ca(&nowhere), &nowhere, "No such file"),
        (ca(&nonsense), &nonsense, "no certificate in PEM"),
        (ca(&broken), &broken, "BadEncoding"),
        (ca(&cut), &cut, "not PEM"),
        (pair(&nowhere, &shown.key_file), &nowhere, "No such file"),
        (pair(&nonsense, &shown.key_file), &nonsense, "no certificate in PEM"),
        (pair(&shown.file, &nowhere), &nowhere, "No such file"),
        (pair(&shown.file, &nonsense), &nonsense, "no private key in PEM"),
        (pair(&shown.file, &key_of_other), &key_of_other, "it is not the key of the certificate in"),
    ];
    for (tls, path, told) in table {
        let error =
            NatsWire::connect(&one(vec!["tls://127.0.0.1:1".to_owned()], tls)).await.map(drop).unwrap_err();
        assert!(matches!(error, OpenError::File { .. }) && error.is_of_settings(), "{error}");
        let error = error.to_string();
        assert!(error.contains(&path.display().to_string()) && error.contains(told), "{told}: {error}");
    }
}

#[tokio::test]
async fn files_that_were_replaced_are_used_from_the_next_connection_on() {
    let folder = tempfile::tempdir().unwrap();
    let [before, after] = [(); 2].map(|()| Authority::new().unwrap());
    let file = |name: &str| folder.path().join(name);
    let place = |authority: &Authority| {
        let shown = authority.issue("sortie").unwrap();
        fs::copy(authority.file(), file("authority.pem")).unwrap();
        fs::copy(shown.file, file("sortie.pem")).unwrap();
        fs::copy(shown.key_file, file("sortie.key")).unwrap();
    };
    place(&before);
    let mut servers = server(before.nats_mutual_tls(&before.issue(HOST).unwrap()));
    let certificate = Some((file("sortie.pem"), file("sortie.key")));
    let tls = Tls { required: true, ca_file: Some(file("authority.pem")), certificate };
    let client = NatsWire::connect(&one(by_tls(&servers), tls)).await.unwrap();

    servers.stop(0);
    place(&after);
    let tls = after.nats_mutual_tls(&after.issue(HOST).unwrap());
    servers.change(|settings| settings.more = tls);
    servers.start_again(0).unwrap();
    until("it has connected again", async || has_connected_again(&client)).await;
}

/// Plays two parts: what a machine trusts is said by its environment, so this test starts itself in another one.
#[tokio::test]
async fn authorities_of_the_machine_count_beside_those_of_the_file() {
    const URL: &str = "SORTIE_TEST_TLS_URL";
    const CA_FILE: &str = "SORTIE_TEST_TLS_CA_FILE";
    if let (Ok(url), Ok(ca_file)) = (env::var(URL), env::var(CA_FILE)) {
        let tls = Tls { required: true, ca_file: Some(ca_file.into()), certificate: None };
        NatsWire::connect(&one(vec![url], tls)).await.unwrap();
        return;
    }
    let [of_machine, of_file] = [(); 2].map(|()| Authority::new().unwrap());
    for shown in [of_machine.issue(HOST).unwrap(), of_file.issue(HOST).unwrap()] {
        let servers = server(of_machine.nats_tls(&shown));
        let child = Command::new(env::current_exe().unwrap())
            .args(["--exact", "tls::authorities_of_the_machine_count_beside_those_of_the_file"])
            .env("SSL_CERT_FILE", of_machine.file())
            .env_remove("SSL_CERT_DIR")
            .env(CA_FILE, of_file.file())
            .env(URL, &by_tls(&servers)[0])
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&child.stdout);
        assert!(child.status.success() && said.contains("1 passed"), "{said}");
    }
}
