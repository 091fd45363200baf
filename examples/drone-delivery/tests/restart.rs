//! What a restart keeps, and what it does with a ledger that was not written to its end.
#![allow(clippy::unwrap_used, reason = "a test may panic anywhere")]

mod common;

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use common::{Connection, DELIVERY, ROWS, Reply, connect};
use drone_delivery::{Durability, Fleet, Service, Settings, audit, entries_of, read_directory};

async fn start(directory: &Path, durability: Durability) -> anyhow::Result<Fleet> {
    let data = Some(directory.to_owned());
    Fleet::start(Settings { data, durability, ..Settings::on_any_ports() }).await
}

#[tokio::test]
async fn state_keys_tombstones_and_ledgers_survive() {
    for durability in [Durability::Flushed, Durability::Synced] {
        let directory = tempfile::tempdir().unwrap();
        let fleet = start(directory.path(), durability).await.unwrap();
        let mut before = Vec::new();
        for row in &ROWS {
            let mut connection = connect(&fleet, row.service).await;
            before.push(connection.send("PUT", &row.path("x-1"), Some("k1"), row.body).await);
            connection.send("PUT", &row.path("x-1"), Some("k2"), row.other_body).await;
            connection.send("DELETE", &row.path("x-2"), Some("k3"), "").await;
        }
        let ledgers = Service::ALL.map(|service| fleet.entries(service).unwrap());
        let shown = show_all(&fleet).await;
        fleet.stop().await;

        let fleet = start(directory.path(), durability).await.unwrap();
        assert_eq!(Service::ALL.map(|service| fleet.entries(service).unwrap()), ledgers);
        assert_eq!(show_all(&fleet).await, shown);
        for (row, before) in ROWS.iter().zip(before) {
            let mut connection = connect(&fleet, row.service).await;
            let again = connection.send("PUT", &row.path("x-1"), Some("k1"), row.body).await;
            assert_eq!((again.status, again.body), (201, before.body), "{}", row.service);
            let other = connection.send("PUT", &row.path("x-1"), Some("k1"), row.other_body).await;
            assert_eq!(other.problem().0, 422);
            let same = connection.send("PUT", &row.path("x-1"), None, row.other_body).await;
            assert_eq!(same.status, row.repeat);
            let late = connection.send("PUT", &row.path("x-2"), None, row.body).await;
            assert_eq!(late.problem().0, 410);
            assert_eq!(fleet.totals(row.service).entries, 3);
        }
        fleet.stop().await;
        let entries = read_directory(directory.path()).unwrap();
        assert_eq!((entries.len(), audit(&entries).double_effects()), (15, 0));
    }
}

async fn show_all(fleet: &Fleet) -> Vec<bytes::Bytes> {
    let mut shown = Vec::new();
    for row in &ROWS {
        shown.push(connect(fleet, row.service).await.send("GET", &row.path("x-1"), None, "").await.body);
    }
    shown
}

#[tokio::test]
async fn claims_and_changes_survive() {
    let directory = tempfile::tempdir().unwrap();
    let fleet = start(directory.path(), Durability::Flushed).await.unwrap();
    let mut packages = connect(&fleet, Service::Package).await;
    packages.send("PUT", "/api/packages/p?delivery=d-1", None, r#"{"size":"Small"}"#).await;
    packages.send("PUT", "/api/packages/p?delivery=d-2", None, r#"{"size":"Large"}"#).await;
    packages.send("DELETE", "/api/packages/p?delivery=d-2", None, "").await;
    let mut deliveries = connect(&fleet, Service::Delivery).await;
    deliveries.send("PUT", "/api/deliveries/d-1", None, DELIVERY).await;
    deliveries.send("PATCH", "/api/deliveries/d-1?change=r-1", None, r#"{"dropoff":"z"}"#).await;
    fleet.stop().await;

    let fleet = start(directory.path(), Durability::Flushed).await.unwrap();
    let mut packages = connect(&fleet, Service::Package).await;
    assert_eq!(packages.send("GET", "/api/packages/p", None, "").await.json()["size"], "Small");
    let mut deliveries = connect(&fleet, Service::Delivery).await;
    let path = "/api/deliveries/d-1";
    assert_eq!(deliveries.send("GET", path, None, "").await.json()["dropoff"], "z");
    deliveries.send("PATCH", "/api/deliveries/d-1?undo=r-1", None, r#"{"dropoff":"b"}"#).await;
    assert_eq!(deliveries.send("GET", path, None, "").await.json()["dropoff"], "b");
    fleet.stop().await;
}

#[tokio::test]
async fn a_torn_last_line_is_cut_and_the_number_used_again() {
    // The last is longer than the line that will stand in its place.
    for torn in [&b"{\"seq\":2,\"service\":\"dro"[..], b"{\"seq\":2}\n", b"\0\0\0\0", &[b'x'; 5_000]] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("drone.ledger");
        one_drone(directory.path(), "d-1").await;
        let whole = std::fs::read(&path).unwrap();
        std::fs::OpenOptions::new().append(true).open(&path).unwrap().write_all(torn).unwrap();

        let assigned = one_drone(directory.path(), "d-2").await;
        assert_eq!(assigned.json()["droneId"], "drone-2");
        let text = std::fs::read(&path).unwrap();
        assert!(text.starts_with(&whole), "what was acknowledged is as it was");
        let numbers: Vec<u64> = entries_of(&text).unwrap().iter().map(|entry| entry.seq).collect();
        assert_eq!(numbers, [1, 2]);
        assert_eq!(
            text.split_inclusive(|byte| *byte == b'\n').count(),
            2,
            "nothing of the torn line is left"
        );
    }
}

#[tokio::test]
async fn damage_before_the_end_is_refused_and_left_as_it_is() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("drone.ledger");
    one_drone(directory.path(), "d-1").await;
    one_drone(directory.path(), "d-2").await;
    let mut text = std::fs::read(&path).unwrap();
    text[3] = b'!';
    std::fs::write(&path, &text).unwrap();
    let error = start(directory.path(), Durability::Flushed).await.err().unwrap();
    assert!(format!("{error:#}").contains("damaged at byte 0"), "{error:#}");
    assert!(entries_of(&text).is_err());
    assert_eq!(std::fs::read(&path).unwrap(), text);
}

async fn one_drone(directory: &Path, delivery: &str) -> Reply {
    let fleet = start(directory, Durability::Flushed).await.unwrap();
    let mut connection = connect(&fleet, Service::Drone).await;
    let path = format!("/api/dronedeliveries/{delivery}");
    let reply = connection.send("PUT", &path, None, r#"{"pickup":"a","dropoff":"b"}"#).await;
    fleet.stop().await;
    reply
}

#[tokio::test]
async fn a_directory_has_one_user() {
    let directory = tempfile::tempdir().unwrap();
    let fleet = start(directory.path(), Durability::Flushed).await.unwrap();
    let error = start(directory.path(), Durability::Flushed).await.err().unwrap();
    assert!(format!("{error:#}").contains("another process has it"), "{error:#}");
    fleet.stop().await;
}

#[tokio::test]
async fn entries_can_be_read_from_any_number_on() {
    let fleet = common::fleet().await;
    let mut connection = connect(&fleet, Service::Account).await;
    for number in 1..=2_100 {
        let path = format!("/api/accounts/a-{number}");
        connection.send("PUT", &path, None, r#"{"active":true}"#).await;
    }
    for from in [0, 1, 2, 1023, 1024, 1025, 2048, 2049, 2100, 2101, 9999] {
        let reply = connection.send("GET", &format!("/ledger/entries?from={from}"), None, "").await;
        assert_eq!(reply.header("content-type"), Some("application/x-ndjson"));
        let numbers: Vec<u64> = entries_of(&reply.body).unwrap().iter().map(|entry| entry.seq).collect();
        assert_eq!(numbers, (from.max(1)..=2_100).collect::<Vec<u64>>(), "from {from}");
    }
    assert_eq!(connection.send("GET", "/ledger/entries?from=x", None, "").await.problem().0, 400);
    let totals = connection.send("GET", "/ledger", None, "").await.json();
    assert_eq!((&totals["service"], &totals["create"]), (&"account".into(), &2_100.into()));
    fleet.stop().await;
}

#[tokio::test]
async fn a_killed_process_loses_nothing_it_answered() {
    for sync in [&["--no-sync"][..], &[]] {
        let directory = tempfile::tempdir().unwrap();
        let mut process = Process::start(directory.path(), sync);
        let mut answered = Vec::new();
        let mut connection = process.connect(Service::Drone).await;
        for number in 0..100 {
            let path = format!("/api/dronedeliveries/d-{number}");
            let reply = connection.send("PUT", &path, Some(&path), r#"{"pickup":"a","dropoff":"b"}"#).await;
            answered.push((path, reply.body));
        }
        process.child.kill().unwrap();
        process.child.wait().unwrap();

        let process = Process::start(directory.path(), sync);
        let mut connection = process.connect(Service::Drone).await;
        for (path, body) in answered {
            assert_eq!(connection.send("GET", &path, None, "").await.body, body);
        }
    }
}

/// A running `drone-services`, killed at the end.
struct Process {
    child: Child,
    ready: String,
}

impl Process {
    fn start(directory: &Path, more: &[&str]) -> Process {
        let mut child = Command::new(env!("CARGO_BIN_EXE_drone-services"))
            .args(["--ports", "0,0,0,0,0", "--data"])
            .arg(directory)
            .args(more)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut ready = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut ready).unwrap();
        assert!(ready.starts_with("ready account=http://127.0.0.1:"), "{ready:?}");
        Process { child, ready }
    }

    async fn connect(&self, service: Service) -> Connection {
        let name = format!("{service}=http://");
        let word = self.ready.split_whitespace().find_map(|word| word.strip_prefix(&name)).unwrap();
        Connection::to(word.parse().unwrap()).await
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Errors mean that it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
