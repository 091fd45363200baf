//! Runs to put into a view, and views to put them in.

use std::path::Path;

use bytes::Bytes;
use types::{BodyHash, Key, PartitionId, RunId, RunStatus, Timestamp, WorkflowName};
use view::{EndedRun, RunPage, RunQuery, RunSummary, Settings, View};

pub const FINAL: [RunStatus; 3] = [RunStatus::Completed, RunStatus::Undone, RunStatus::GivenUp];

pub fn open(dir: &Path, partitions: u16) -> View {
    let view = View::open(dir, Settings::default()).unwrap();
    for number in 0..partitions {
        view.open_partition(PartitionId(number)).unwrap();
    }
    view
}

pub fn id(number: u32) -> RunId {
    RunId::new(&format!("run-{number:06}")).unwrap()
}

/// A run that differs from the adjacent ones in everything that lists filter by.
pub fn run(number: u32) -> EndedRun {
    let key = if number.is_multiple_of(3) { format!("key {}", number % 30) } else { id(number).to_string() };
    EndedRun {
        id: id(number),
        workflow: WorkflowName::new(["order", "order-2", "delivery"][number as usize % 3]).unwrap(),
        version: number,
        key: Key::new(&key).unwrap(),
        status: FINAL[number as usize / 3 % 3],
        accepted_at: Timestamp(1_700_000_000_000 + i64::from(number) * 10),
        ended_at: Timestamp(1_700_000_000_500 + i64::from(number) * 10),
        body_hash: BodyHash([number as u8; 16]),
        reason: number.is_multiple_of(2).then(|| format!("reason {number}")),
        detail: Bytes::from(format!("{{\"request\":{number},\"timeline\":[]}}").repeat(4)),
    }
}

/// The partition that these tests put a run into.
pub fn partition(run: &EndedRun, partitions: u16) -> PartitionId {
    PartitionId::of(&run.key, partitions)
}

pub fn query() -> RunQuery {
    RunQuery { limit: 1000, ..RunQuery::default() }
}

/// All pages of a query, one after another.
pub fn all_pages(view: &View, query: &RunQuery) -> Vec<RunPage> {
    let mut pages: Vec<RunPage> = Vec::new();
    loop {
        let cursor = pages.last().map(|page| page.next.clone().unwrap());
        let page = view.list(&RunQuery { cursor, ..query.clone() }).unwrap();
        let last = page.next.is_none();
        pages.push(page);
        if last {
            return pages;
        }
    }
}

pub fn all_rows(view: &View, query: &RunQuery) -> Vec<RunSummary> {
    all_pages(view, query).into_iter().flat_map(|page| page.rows).collect()
}

/// What a list of all `runs` should return for the query.
pub fn expected<'a>(runs: impl IntoIterator<Item = &'a EndedRun>, query: &RunQuery) -> Vec<RunSummary> {
    let matches = |run: &&EndedRun| {
        query.workflow.as_ref().is_none_or(|workflow| run.workflow == *workflow)
            && query.status.is_none_or(|status| run.status == status)
            && query.key.as_ref().is_none_or(|key| run.key == *key)
            && query.from.is_none_or(|from| run.accepted_at >= from)
            && query.to.is_none_or(|to| run.accepted_at < to)
    };
    let mut rows: Vec<_> = runs.into_iter().filter(matches).map(EndedRun::summary).collect();
    rows.sort_by(|a, b| b.accepted_at.cmp(&a.accepted_at).then_with(|| a.id.cmp(&b.id)));
    rows
}
