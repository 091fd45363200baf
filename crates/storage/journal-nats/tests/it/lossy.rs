//! A wire to real servers that loses what they answer, what they are sent, and what a replica has.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use futures_util::FutureExt;
use journal::{AppendError, Journal as _, ReadError};
use journal_nats::jetstream::JetStreamError;
use journal_nats::{Bounds, NatsJournal, NatsWire, Outgoing, PublishError, Settings, Source, Wire, layout};
use snapshots::memory::MemorySnapshots;
use tokio::sync::{Notify, watch};
use types::{PartitionId, Seq};

use crate::cluster::{bytes, frames, open, requests, settings, shared};

const ONE: PartitionId = PartitionId(0);

/// What goes wrong.
#[derive(Default)]
struct Faults {
    publishes: AtomicU64,
    /// Of so many messages one loses its answer, and one is lost itself.
    lose_every: u64,
    /// Messages that no replica has; the leader has them.
    left_out: Vec<u64>,
    /// Messages that nobody has.
    gone: Vec<u64>,
    /// Messages that arrive changed, whoever is asked.
    changed: Vec<u64>,
    /// So often the leader does not answer who asks for a message.
    silent: AtomicU64,
    /// What the pair has under the name of ours.
    pair: Option<String>,
    /// Where a stream is said to end when that is asked next, if not 0.
    ended: AtomicU64,
    /// Never answers a publish.
    mute: bool,
    sent: Notify,
}

struct Lossy {
    client: NatsWire,
    faults: Arc<Faults>,
}

impl Lossy {
    fn as_it_arrives(&self, sequence: u64, bytes: Bytes) -> Bytes {
        if !self.faults.changed.contains(&sequence) {
            return bytes;
        }
        let mut changed = bytes.to_vec();
        let middle = changed.len() / 2;
        changed[middle] ^= 1;
        changed.into()
    }
}

impl Wire for Lossy {
    async fn publish(&self, message: Outgoing) -> Result<u64, PublishError> {
        let count = self.faults.publishes.fetch_add(1, Ordering::Relaxed);
        let turn = self.faults.lose_every.max(1);
        let lost = || PublishError::Unknown("lost on the way".to_owned());
        if self.faults.lose_every > 0 && count % turn == 1 {
            return Err(lost());
        }
        let answer = self.client.publish(message).await;
        self.faults.sent.notify_one();
        if self.faults.mute {
            std::future::pending::<()>().await;
        }
        if self.faults.lose_every > 0 && count.is_multiple_of(turn) { Err(lost()) } else { answer }
    }

    async fn bounds(&self, stream: &str) -> Result<Bounds, JetStreamError> {
        let bounds = self.client.bounds(stream).await?;
        let ended = self.faults.ended.swap(0, Ordering::Relaxed);
        Ok(if ended > 0 { Bounds { last: ended, ..bounds } } else { bounds })
    }

    async fn get(
        &self,
        stream: &str,
        sequence: u64,
        source: Source,
    ) -> Result<Option<Bytes>, JetStreamError> {
        if let (Source::Pair, Some(installation)) = (source, &self.faults.pair) {
            let (_, kind) = stream.split_once('_').unwrap();
            return self.client.get(&format!("{installation}_{kind}"), sequence, Source::Leader).await;
        }
        let is_silent = |left: u64| left.checked_sub(1);
        if source == Source::Leader
            && self.faults.silent.fetch_update(Ordering::Relaxed, Ordering::Relaxed, is_silent).is_ok()
        {
            return Err(JetStreamError::unreachable("stream", "no answer"));
        }
        let hidden = source != Source::Leader && self.faults.left_out.contains(&sequence);
        if hidden || self.faults.gone.contains(&sequence) {
            return Ok(None);
        }
        let found = self.client.get(stream, sequence, source).await?;
        Ok(found.map(|bytes| self.as_it_arrives(sequence, bytes)))
    }

    async fn range(
        &self,
        stream: &str,
        from: u64,
        through: u64,
        bytes_max: usize,
    ) -> Result<Vec<(u64, Bytes)>, JetStreamError> {
        let mut read = self.client.range(stream, from, through, bytes_max).await?;
        read.retain(|(sequence, _)| {
            !self.faults.left_out.contains(sequence) && !self.faults.gone.contains(sequence)
        });
        Ok(read
            .into_iter()
            .map(|(sequence, bytes)| (sequence, self.as_it_arrives(sequence, bytes)))
            .collect())
    }

    async fn purge(&self, stream: &str, first: u64) -> Result<(), JetStreamError> {
        self.client.purge(stream, first).await
    }

    fn follow(&self, stream: &str) -> watch::Receiver<u64> {
        self.client.follow(stream)
    }
}

async fn lossy(settings: &Settings, faults: Faults) -> (NatsJournal<Lossy, MemorySnapshots>, Arc<Faults>) {
    let client = NatsWire::connect(settings).await.unwrap();
    layout::ensure(client.jetstream(), &settings.installation, settings.replicas).await.unwrap();
    let faults = Arc::new(faults);
    let wire = Lossy { client, faults: Arc::clone(&faults) };
    let process = 1 << 40;
    let journal = NatsJournal::over(wire, &settings.installation, MemorySnapshots::default(), process);
    (journal.await.unwrap(), faults)
}

// guards: 32
#[tokio::test]
async fn what_is_lost_on_the_way_is_there_once_all_the_same() {
    let settings = settings(shared());
    let (journal, _) = lossy(&settings, Faults { lose_every: 3, ..Faults::default() }).await;
    let claim = journal.claim(ONE).await.unwrap();
    let expected: Vec<String> = (1..=20).map(|number| format!("frame {number}")).collect();
    for (tail, text) in (0..).zip(&expected) {
        assert_eq!(journal.append(ONE, claim.epoch, Seq(tail), bytes(text)).await, Ok(Seq(tail + 1)));
        journal.inbox_append(ONE, vec![bytes(text)]).await.unwrap();
    }
    assert_eq!(journal.fenced(), 0);
    let other = open(&settings).await;
    assert_eq!(frames(&other, ONE).await, expected);
    assert_eq!(requests(&other, ONE, Seq(1)).await, expected);
}

// guards: 32
#[tokio::test]
async fn an_append_that_was_given_up_is_found_out_by_the_next_claim() {
    let settings = settings(shared());
    let first = open(&settings).await;
    let before = first.claim(ONE).await.unwrap();
    drop(first);
    let (journal, faults) = lossy(&settings, Faults { mute: true, ..Faults::default() }).await;
    // The claim is stored and not answered; giving it up leaves it open.
    tokio::select! {
        claim = journal.claim(ONE) => panic!("{claim:?} was not answered"),
        () = faults.sent.notified() => {}
    }
    let next = open(&settings).await;
    let claim = next.claim(ONE).await.unwrap();
    assert_eq!(claim.epoch.0, before.epoch.0 + 2, "the claim that nobody waited for counts");
    let unclaimed = journal.append(ONE, claim.epoch, Seq(0), bytes("x")).await;
    assert_eq!(unclaimed, Err(AppendError::Fenced { partition: ONE }));
}

#[tokio::test]
async fn after_an_append_was_given_up_nothing_is_appended_without_a_claim() {
    let settings = settings(shared());
    let journal = open(&settings).await;
    let claim = journal.claim(ONE).await.unwrap();
    // Polled once and dropped: it is unknown whether the frame is stored, and the test must pass either way.
    let dropped = journal.append(ONE, claim.epoch, Seq(0), bytes("open")).now_or_never();
    assert!(dropped.is_none());
    let unknown = journal.append(ONE, claim.epoch, Seq(0), bytes("b")).await;
    assert_eq!(unknown, Err(AppendError::Unknown { partition: ONE }));
    let again = journal.claim(ONE).await.unwrap();
    let appended = journal.append(ONE, again.epoch, again.events_tail, bytes("c")).await;
    assert_eq!(appended, Ok(again.events_tail.next()));
    let found = frames(&journal, ONE).await;
    assert!(found == ["c"] || found == ["open", "c"], "{found:?}");
}

#[tokio::test]
async fn a_claim_below_what_another_owner_trimmed_reads_the_end_again() {
    let settings = settings(shared());
    let next = open(&settings).await;
    let claim = next.claim(ONE).await.unwrap();
    for tail in 0..4 {
        next.append(ONE, claim.epoch, Seq(tail), bytes("event")).await.unwrap();
    }
    next.trim(ONE, claim.epoch, Seq(4), Seq(1)).await.unwrap();
    let (journal, faults) = lossy(&settings, Faults::default()).await;
    // As it was before.
    faults.ended.store(2, Ordering::Relaxed);
    assert_eq!(journal.claim(ONE).await.unwrap().events_tail, Seq(4));
}

// guards: 33
#[tokio::test]
async fn what_a_replica_leaves_out_is_fetched_from_the_leader() {
    let settings = settings(shared());
    let writer = open(&settings).await;
    let claim = writer.claim(ONE).await.unwrap();
    let expected: Vec<String> = (1..=9).map(|number| format!("{number}")).collect();
    for (tail, text) in (0..).zip(&expected) {
        writer.append(ONE, claim.epoch, Seq(tail), bytes(text)).await.unwrap();
        writer.inbox_append(ONE, vec![bytes(text)]).await.unwrap();
    }
    // In the middle, and everything from 8 on, as if the replica had stopped there.
    let faults = Faults { left_out: vec![3, 4, 8, 9, 10], ..Faults::default() };
    let (reader, _) = lossy(&settings, faults).await;
    assert_eq!(frames(&reader, ONE).await, expected);
    assert_eq!(requests(&reader, ONE, Seq(1)).await, expected);
}

// guards: 33
#[tokio::test]
async fn the_pair_is_asked_when_the_leader_has_nothing_and_not_when_it_is_silent() {
    let (ours, theirs) = (settings(shared()), settings(shared()));
    for (settings, text) in [(&ours, "ours"), (&theirs, "theirs")] {
        let writer = open(settings).await;
        for _ in 0..3 {
            writer.inbox_append(ONE, vec![bytes(text)]).await.unwrap();
        }
    }
    let pair = Some(theirs.installation.name.clone());
    let silent = Faults { left_out: vec![2], silent: 2.into(), pair: pair.clone(), ..Faults::default() };
    let (reader, _) = lossy(&ours, silent).await;
    assert_eq!(requests(&reader, ONE, Seq(1)).await, ["ours", "ours", "ours"]);
    let (reader, _) = lossy(&ours, Faults { gone: vec![2], pair, ..Faults::default() }).await;
    assert_eq!(requests(&reader, ONE, Seq(1)).await, ["ours", "theirs", "ours"]);
}

// guards: 33
#[tokio::test]
async fn what_nobody_has_stops_the_reader_and_says_where() {
    let settings = settings(shared());
    let writer = open(&settings).await;
    let claim = writer.claim(ONE).await.unwrap();
    for tail in 0..6 {
        writer.append(ONE, claim.epoch, Seq(tail), bytes("event")).await.unwrap();
        writer.inbox_append(ONE, vec![bytes("request")]).await.unwrap();
    }
    let (gone, changed) =
        (Faults { gone: vec![4], ..Faults::default() }, Faults { changed: vec![4], ..Faults::default() });
    for faults in [gone, changed] {
        let (reader, _) = lossy(&settings, faults).await;
        for read in [reader.read(ONE, Seq(1), 4000).await, reader.inbox_read(ONE, Seq(1), 4000).await] {
            let Err(ReadError::Damaged { detail, .. }) = read else { panic!("{read:?} is not an error") };
            assert!(detail.contains("message 4 of stream"), "{detail}");
        }
    }
    let (claimer, _) = lossy(&settings, Faults { changed: vec![7], ..Faults::default() }).await;
    let claimed = claimer.claim(ONE).await;
    assert!(matches!(claimed, Err(AppendError::Damaged { .. })), "{claimed:?}");
}
