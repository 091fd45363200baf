//! Lists of ended runs: range scans over one index of every partition, merged newest first.

use std::cmp::Reverse;
use std::collections::binary_heap::PeekMut;
use std::collections::{BTreeSet, BinaryHeap};
use std::sync::Arc;

use lsm_tree::Slice;
use types::{Key, PartitionId, RunId, RunStatus, Timestamp, WorkflowName};

use crate::cursor::{self, Position};
use crate::error::{Error, ListError};
use crate::keys;
use crate::limits::{PAGE_ROWS_MAX, SCAN_PER_ROW_MAX};
use crate::partition::ViewPartition;
use crate::run::{self, RunSummary};

/// Which ended runs to list, and how many.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunQuery {
    pub workflow: Option<WorkflowName>,
    pub status: Option<RunStatus>,
    pub key: Option<Key>,
    /// Accepted at this time or later.
    pub from: Option<Timestamp>,
    /// Accepted before this time.
    pub to: Option<Timestamp>,
    /// Only this partition; worth giving with a key, which belongs to one.
    pub partition: Option<PartitionId>,
    /// The most rows to return; at least one, at most [`PAGE_ROWS_MAX`].
    pub limit: usize,
    /// [`Page::next`] of the previous page.
    pub cursor: Option<String>,
    /// Only these of the open partitions: the ones owned now. A cursor is not bound to them, because partitions
    /// change owners between two pages.
    pub among: Option<BTreeSet<PartitionId>>,
}

/// The position of a run among ended ones, the same in every instance: lists of several instances are merged by it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ListPosition(Vec<u8>);

impl ListPosition {
    pub fn of_run(accepted_at: Timestamp, id: &RunId) -> ListPosition {
        ListPosition(keys::place(accepted_at, id))
    }

    /// The position after which a cursor of this query continues.
    pub fn of_cursor(query: &RunQuery, cursor: &str) -> Option<ListPosition> {
        Some(ListPosition(cursor::decode(cursor, &fingerprint(query))?.place))
    }

    /// The cursor that continues after this position, in whichever partition it is.
    pub fn cursor(&self, query: &RunQuery) -> String {
        let position = Position { place: self.0.clone(), partition: PartitionId(u16::MAX) };
        cursor::encode(&position, &fingerprint(query))
    }
}

/// One page of a list, newest first by `accepted_at`, then by id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunPage {
    pub rows: Vec<RunSummary>,
    /// Where the list continues; `None` on the last page. A page can be short, even empty, and still have this.
    pub next: Option<String>,
    /// Index entries that were read: the cost of the page.
    pub entries_read: usize,
}

pub(crate) fn list(partitions: &[Arc<ViewPartition>], query: &RunQuery) -> Result<RunPage, ListError> {
    let fingerprint = fingerprint(query);
    let after = query.cursor.as_deref().map(|text| cursor::decode(text, &fingerprint));
    let after = after.map(|position| position.ok_or(ListError::BadCursor)).transpose()?;
    let limit = query.limit.clamp(1, PAGE_ROWS_MAX);

    let mut merge = Merge::default();
    let wanted = |each: &&Arc<ViewPartition>| {
        query.partition.is_none_or(|only| only == each.id)
            && query.among.as_ref().is_none_or(|among| among.contains(&each.id))
    };
    for partition in partitions.iter().filter(wanted) {
        for scan in scans(partition, query, after.as_ref())? {
            merge.add(scan)?;
        }
    }

    let mut rows = Vec::new();
    let mut last = None;
    let mut examined = 0;
    while rows.len() < limit && examined < limit * SCAN_PER_ROW_MAX {
        let Some((position, summary)) = merge.next()? else { break };
        examined += 1;
        last = Some(position);
        rows.extend(summary.filter(|summary| matches(summary, query)));
    }
    let next = last.filter(|_| !merge.heads.is_empty());
    let next = next.map(|position| cursor::encode(&position, &fingerprint));
    Ok(RunPage { rows, next, entries_read: merge.entries_read })
}

/// One scan over one index of one partition.
struct Scan {
    partition: Arc<ViewPartition>,
    /// How many bytes of each key come before its place.
    prefix_bytes: usize,
    entries: Box<dyn Iterator<Item = Result<(Slice, Slice), Error>> + Send>,
}

/// The current entry of a scan. The smallest is the next of the whole list.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Head {
    position: Position,
    scan: usize,
    /// The summary, when the index contains it.
    value: Slice,
}

#[derive(Default)]
struct Merge {
    scans: Vec<Scan>,
    heads: BinaryHeap<Reverse<Head>>,
    entries_read: usize,
}

impl Merge {
    fn add(&mut self, mut scan: Scan) -> Result<(), Error> {
        if let Some(head) = scan.advance(self.scans.len())? {
            self.entries_read += 1;
            self.heads.push(Reverse(head));
        }
        self.scans.push(scan);
        Ok(())
    }

    /// The next entry, and its summary unless the run was removed meanwhile.
    fn next(&mut self) -> Result<Option<(Position, Option<RunSummary>)>, Error> {
        let Some(mut top) = self.heads.peek_mut() else { return Ok(None) };
        let scan = top.0.scan;
        let head = match self.scans[scan].advance(scan)? {
            Some(next) => {
                self.entries_read += 1;
                std::mem::replace(&mut top.0, next)
            }
            None => PeekMut::pop(top).0,
        };
        let partition = &self.scans[scan].partition;
        let summary = if head.value.is_empty() {
            partition.summary(&head.position.place)?
        } else {
            Some(run::decode_summary(&head.value).map_err(|detail| partition.damaged(&detail))?.0)
        };
        Ok(Some((head.position, summary)))
    }
}

impl Scan {
    fn advance(&mut self, scan: usize) -> Result<Option<Head>, Error> {
        let Some((key, value)) = self.entries.next().transpose()? else { return Ok(None) };
        let position = Position { place: key[self.prefix_bytes..].to_vec(), partition: self.partition.id };
        Ok(Some(Head { position, scan, value }))
    }
}

/// The scans that together cover the query in one partition.
fn scans(
    partition: &Arc<ViewPartition>,
    query: &RunQuery,
    after: Option<&Position>,
) -> Result<Vec<Scan>, Error> {
    let statuses = keys::statuses(query.status).into_iter();
    let prefixes: Vec<_> = match (&query.key, &query.workflow, query.status) {
        (Some(key), _, _) => statuses.map(|status| keys::by_key(key, status)).collect(),
        (None, Some(workflow), _) => statuses.map(|status| keys::by_workflow(workflow, status)).collect(),
        (None, None, Some(_)) => statuses.map(keys::by_status).collect(),
        (None, None, None) => vec![keys::by_time()],
    };
    let mut scans: Vec<_> =
        prefixes.into_iter().map(|prefix| scan(partition, prefix, query, after)).collect();
    // A run whose key is its id has no entry in the index by key.
    let id = query.key.as_ref().and_then(|key| RunId::new(key.as_str()).ok());
    if let Some(id) = id
        && let Some(seen) = partition.seen(&id)?
    {
        scans.push(single(partition, keys::place(seen.accepted_at, &id), query, after));
    }
    Ok(scans)
}

fn scan(partition: &Arc<ViewPartition>, prefix: Vec<u8>, query: &RunQuery, after: Option<&Position>) -> Scan {
    let prefix_bytes = prefix.len();
    let (start, end) = bounds(&prefix, partition.id, query, after);
    Scan { prefix_bytes, entries: partition.range(start, end), partition: partition.clone() }
}

/// A scan over one known position.
fn single(
    partition: &Arc<ViewPartition>,
    place: Vec<u8>,
    query: &RunQuery,
    after: Option<&Position>,
) -> Scan {
    let (start, end) = bounds(&keys::by_time(), partition.id, query, after);
    let key = [keys::by_time(), place.clone()].concat();
    let entry = (start..end).contains(&key).then(|| Ok((Slice::from(key), Slice::from(Vec::new()))));
    let prefix_bytes = keys::by_time().len();
    Scan { partition: partition.clone(), prefix_bytes, entries: Box::new(entry.into_iter()) }
}

/// The range of an index that matches the query's times, after the cursor.
fn bounds(
    prefix: &[u8],
    partition: PartitionId,
    query: &RunQuery,
    after: Option<&Position>,
) -> (Vec<u8>, Vec<u8>) {
    let at = |number: u64| [prefix, number.to_be_bytes().as_slice()].concat();
    let (last_byte, rest) = prefix.split_last().expect("every table has a prefix");
    let prefix_end = [rest, &[last_byte + 1]].concat();

    let newest = query.to.map(|to| to.0.checked_sub(1).map(|last| keys::inverted(Timestamp(last))));
    let start = match newest {
        Some(Some(newest)) => at(newest),
        Some(None) => prefix_end.clone(),
        None => prefix.to_vec(),
    };
    let oldest = query.from.and_then(|from| keys::inverted(from).checked_add(1));
    let end = oldest.map_or(prefix_end, at);
    let resumed = after.map(|after| {
        let mut start = [prefix, after.place.as_slice()].concat();
        // Positions are ordered by place, then by partition: this one is complete up to the cursor's partition.
        if partition <= after.partition {
            start.push(0);
        }
        start
    });
    (resumed.map_or(start.clone(), |resumed| resumed.max(start)), end)
}

fn matches(run: &RunSummary, query: &RunQuery) -> bool {
    query.workflow.as_ref().is_none_or(|workflow| run.workflow == *workflow)
        && query.status.is_none_or(|status| run.status == status)
        && query.key.as_ref().is_none_or(|key| run.key == *key)
}

/// What a cursor is bound to: all of the query but its limit, the cursor itself, and the owned partitions.
fn fingerprint(query: &RunQuery) -> Vec<u8> {
    let RunQuery { workflow, status, key, from, to, partition, limit: _, cursor: _, among: _ } = query;
    let status = status.map(RunStatus::as_str);
    postcard::to_stdvec(&(workflow, status, key, from, to, partition))
        .expect("a vector takes all that is written to it")
}
