//! The promises of every journal, as one suite that each implementation runs in its tests.

mod events;
mod inbox;
mod retention;

use bytes::Bytes;
use types::{PartitionId, Seq};

use crate::{Journal, Record};

/// Creates the journals that the suite tests. Each has at least the partitions 0 to 3 and control.
pub trait Factory {
    type Journal: Journal;

    /// Whether requests are numbered 1, 2, 3 … without gaps. Numbers that only rise are enough for a journal, as long
    /// as those of one append are adjacent.
    const INBOX_IS_DENSE: bool = true;

    /// A new, empty journal.
    fn open(&mut self) -> impl Future<Output = Self::Journal>;

    /// The same journal after its process has ended and started again.
    fn reopen(&mut self, journal: Self::Journal) -> impl Future<Output = Self::Journal>;
}

/// Runs the whole suite; panics with the broken promise.
pub async fn run<F: Factory>(factory: &mut F) {
    events::numbers_are_dense(factory).await;
    events::a_wrong_tail_is_a_conflict(factory).await;
    events::a_claim_fences_the_owner_before(factory).await;
    events::epochs_grow_across_reopen(factory).await;
    events::reads_are_exact_ranges(factory).await;
    events::appended_survives_reopen(factory).await;
    events::partitions_are_independent(factory).await;
    events::a_large_record_fits_and_a_larger_is_refused(factory).await;
    inbox::batches_are_whole_and_in_order(factory).await;
    inbox::concurrent_batches_do_not_mix(factory).await;
    inbox::a_batch_that_is_too_large_leaves_nothing(factory).await;
    inbox::the_tail_can_be_followed(factory).await;
    inbox::accepted_survives_reopen(factory).await;
    retention::the_newest_snapshot_wins(factory).await;
    retention::tables_come_back_where_snapshots_carry_them(factory).await;
    retention::trimmed_reads_say_so(factory).await;
    retention::trimming_is_bounded_by_the_tail(factory).await;
    retention::room_is_known(factory).await;
}

const ONE: PartitionId = PartitionId(0);
const OTHER: PartitionId = PartitionId(3);
const ALL: [PartitionId; 3] = [ONE, OTHER, PartitionId::CONTROL];

fn bytes(text: &str) -> Bytes {
    Bytes::copy_from_slice(text.as_bytes())
}

/// The records of one append that returned `last`.
fn batch(last: Seq, texts: &[&str]) -> Vec<Record> {
    let first = last.0 + 1 - texts.len() as u64;
    (first..).zip(texts).map(|(seq, text)| record(seq, text)).collect()
}

/// The number that an inbox append must return, where numbers have no gaps.
fn assert_counted<F: Factory>(answer: Seq, count: u64) {
    assert!(!F::INBOX_IS_DENSE || answer == Seq(count), "{answer} is not {count}");
}

fn record(seq: u64, text: &str) -> Record {
    Record { seq: Seq(seq), bytes: bytes(text) }
}

/// All events from `from` on, read in small pages.
async fn read_all<J: Journal>(journal: &J, partition: PartitionId, from: Seq) -> Vec<Record> {
    let mut all = Vec::new();
    let mut next = from;
    loop {
        let part = journal.read(partition, next, 64).await.expect("the range is there");
        let Some(last) = part.last() else { return all };
        next = last.seq.next();
        all.extend(part);
    }
}

/// The whole inbox from `from` on, read in small pages.
async fn inbox_read_all<J: Journal>(journal: &J, partition: PartitionId, from: Seq) -> Vec<Record> {
    let mut all = Vec::new();
    let mut next = from;
    loop {
        let part = journal.inbox_read(partition, next, 64).await.expect("the range is there");
        let Some(last) = part.last() else { return all };
        next = last.seq.next();
        all.extend(part);
    }
}
