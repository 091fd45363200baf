//! Servers that die, freeze or come back damaged while an owner appends.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use journal::Journal as _;
use journal_nats::{NatsWire, Settings};
use test_brokers::NatsCluster;
use tokio::time::sleep;
use types::{PartitionId, Seq};

use crate::cluster::{Journal, bytes, frames, open, requests, settings};

const ONE: PartitionId = PartitionId(0);
/// Elections take seconds, on a busy machine more of them.
const PATIENCE: Duration = Duration::from_secs(120);

/// Appends frames and requests, one after the other, until it is stopped.
struct Load {
    journal: Arc<Journal>,
    ends: AtomicBool,
    frames: AtomicU64,
    requests: AtomicU64,
}

impl Load {
    async fn append_frames(self: Arc<Self>) {
        let claim = self.journal.claim(ONE).await.unwrap();
        let mut tail = claim.events_tail;
        while !self.ends.load(Ordering::Relaxed) {
            let frame = bytes(format!("frame {}", tail.0 + 1));
            tail = self.journal.append(ONE, claim.epoch, tail, frame).await.unwrap();
            self.frames.store(tail.0, Ordering::Relaxed);
        }
    }

    async fn append_requests(self: Arc<Self>) -> Vec<String> {
        let mut accepted = Vec::new();
        for number in 0.. {
            if self.ends.load(Ordering::Relaxed) {
                break;
            }
            let text = format!("request {number}");
            // Without a quorum its patience may end; then it is nobody's promise.
            if self.journal.inbox_append(ONE, vec![bytes(&text)]).await.is_ok() {
                accepted.push(text);
                self.requests.store(number, Ordering::Relaxed);
            }
        }
        accepted
    }

    fn count(&self) -> (u64, u64) {
        (self.frames.load(Ordering::Relaxed), self.requests.load(Ordering::Relaxed))
    }

    async fn goes_on(&self) {
        let (frames, requests) = self.count();
        let begun = Instant::now();
        while self.count().0 < frames + 10 || self.count().1 < requests + 10 {
            assert!(begun.elapsed() < PATIENCE, "it stands still at {:?}", self.count());
            sleep(Duration::from_millis(20)).await;
        }
    }
}

/// Who leads a stream, once somebody does.
async fn leader(client: &NatsWire, cluster: &NatsCluster, stream: &str) -> usize {
    let begun = Instant::now();
    loop {
        let asked =
            client.jetstream().nats().request(format!("$JS.API.STREAM.INFO.{stream}"), "".into()).await;
        let answer =
            asked.ok().and_then(|answer| serde_json::from_slice::<serde_json::Value>(&answer.payload).ok());
        let name = answer.as_ref().and_then(|answer| answer["cluster"]["leader"].as_str());
        if let Some(node) = name.and_then(|name| cluster.node_named(name)) {
            return node;
        }
        assert!(begun.elapsed() < PATIENCE, "nobody leads {stream}");
        sleep(Duration::from_millis(100)).await;
    }
}

// guards: 32
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_lost_when_leaders_die_and_freeze_and_the_quorum_goes() {
    let mut cluster = NatsCluster::start().unwrap();
    let settings = settings(cluster.urls());
    let client = NatsWire::connect(&settings).await.unwrap();
    let stream = format!("{}_JRN_00000", settings.installation.name);
    let load = Arc::new(Load {
        journal: Arc::new(open(&settings).await),
        ends: AtomicBool::new(false),
        frames: AtomicU64::new(0),
        requests: AtomicU64::new(0),
    });
    let appends = tokio::spawn(Arc::clone(&load).append_frames());
    let accepts = tokio::spawn(Arc::clone(&load).append_requests());
    load.goes_on().await;

    let led = leader(&client, &cluster, &stream).await;
    cluster.kill(led);
    load.goes_on().await;
    cluster.start_again(led).unwrap();
    cluster.wait_until_ready().unwrap();

    let led = leader(&client, &cluster, &stream).await;
    cluster.freeze(led);
    load.goes_on().await;
    cluster.thaw(led);
    cluster.wait_until_ready().unwrap();

    cluster.kill(0);
    cluster.kill(1);
    sleep(Duration::from_secs(1)).await;
    let without_quorum = load.count();
    sleep(Duration::from_secs(2)).await;
    // The one of each that was under way may have been stored before, and be found only now.
    let (frames_found, requests_found) = load.count();
    let found = (frames_found - without_quorum.0).max(requests_found - without_quorum.1);
    assert!(found <= 1, "one server of three acknowledges nothing, and {found} were");
    cluster.start_again(0).unwrap();
    cluster.start_again(1).unwrap();
    load.goes_on().await;

    load.ends.store(true, Ordering::Relaxed);
    appends.await.unwrap();
    let accepted = accepts.await.unwrap();
    assert_eq!(load.journal.fenced(), 0, "nobody else was there");
    let other = open(&settings).await;
    let expected: Vec<_> = (1..=load.count().0).map(|number| format!("frame {number}")).collect();
    assert!(frames(&other, ONE).await == expected, "every frame is there, in order");
    let found = requests(&other, ONE, Seq(1)).await;
    for request in &accepted {
        assert_eq!(found.iter().filter(|found| *found == request).count(), 1, "{request}");
    }
}

fn flip_a_bit(file: &Path) {
    let mut content = fs::read(file).unwrap();
    let middle = content.len() / 2;
    content[middle] ^= 4;
    fs::write(file, content).unwrap();
}

fn cut_in_half(file: &Path) {
    let length = fs::metadata(file).unwrap().len();
    fs::File::options().write(true).open(file).unwrap().set_len(length / 2).unwrap();
}

const COUNT: u64 = 300;

/// Two of three replicas are whole, so everything is found, whoever answers.
async fn assert_whole(settings: &Settings) {
    let reader = open(settings).await;
    let events = reader.read(ONE, Seq(1), usize::MAX).await.unwrap();
    let inbox = reader.inbox_read(ONE, Seq(1), usize::MAX).await.unwrap();
    for records in [events, inbox] {
        let texts: Vec<_> =
            records.iter().map(|record| String::from_utf8_lossy(&record.bytes).into_owned()).collect();
        assert!(texts == contents().collect::<Vec<_>>(), "{} of {COUNT} are there", texts.len());
    }
}

fn contents() -> impl Iterator<Item = String> {
    (0..COUNT).map(|number| format!("{number:0>500}"))
}

// guards: 33
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_replica_that_comes_back_damaged_shortens_no_read() {
    let mut cluster = NatsCluster::start().unwrap();
    let settings = settings(cluster.urls());
    let client = NatsWire::connect(&settings).await.unwrap();
    let events = format!("{}_JRN_00000", settings.installation.name);
    let inbox = format!("{}_ING_00000", settings.installation.name);
    let writer = open(&settings).await;
    let claim = writer.claim(ONE).await.unwrap();
    for (tail, text) in (0..).zip(contents()) {
        writer.append(ONE, claim.epoch, Seq(tail), bytes(&text)).await.unwrap();
        writer.inbox_append(ONE, vec![bytes(&text)]).await.unwrap();
    }

    let led = leader(&client, &cluster, &events).await;
    let victim = (led + 1) % 3;
    cluster.stop(victim);
    flip_a_bit(&cluster.block_files(victim, &events).unwrap()[0]);
    cut_in_half(&cluster.block_files(victim, &inbox).unwrap()[0]);
    cluster.start_again(victim).unwrap();
    cluster.wait_until_ready().unwrap();
    for _ in 0..6 {
        assert_whole(&settings).await;
    }

    // Now the damaged one leads, so what it lacks must come from the others.
    let preferred = format!(r#"{{"placement":{{"preferred":"{}"}}}}"#, cluster.name(victim));
    for stream in [&events, &inbox] {
        let begun = Instant::now();
        while leader(&client, &cluster, stream).await != victim && begun.elapsed() < Duration::from_secs(20) {
            let subject = format!("$JS.API.STREAM.LEADER.STEPDOWN.{stream}");
            // Refused while the damaged one is not current; then it does not lead, which is as well.
            let _ = client.jetstream().nats().request(subject, preferred.clone().into()).await;
            sleep(Duration::from_millis(500)).await;
        }
    }
    for _ in 0..6 {
        assert_whole(&settings).await;
    }
}
