//! Cursors of lists: those of the view are accepted, any other text is refused.

use std::sync::OnceLock;

use bytes::Bytes;
use types::{BodyHash, Key, PartitionId, RunId, RunStatus, Seq, Timestamp, WorkflowName};
use view::{EndedRun, ListError, RunQuery, Settings, View};

use crate::Target;
use crate::input::text;

pub const TARGET: Target =
    Target { name: "cursor", run, seeds, words: &["00", "ff", "0000", "g", "+1"], inputs: 3000 };

const RUNS: usize = 12;
const PAGE: usize = 5;

fn run(bytes: &[u8]) {
    let Some(text) = text(bytes) else { return };
    let query = RunQuery { limit: PAGE, cursor: Some(text.to_owned()), ..RunQuery::default() };
    match sample().list(&query) {
        Ok(page) => {
            assert!(page.rows.len() <= PAGE);
            let known = seeds().iter().any(|seed| seed == bytes);
            assert!(known, "an invented cursor is accepted");
        }
        Err(ListError::BadCursor) => {}
        Err(error) => panic!("{error}"),
    }
}

/// A view with a few runs in it; the directory goes with the process.
fn sample() -> &'static View {
    static SAMPLE: OnceLock<(View, tempfile::TempDir)> = OnceLock::new();
    let (view, _) = SAMPLE.get_or_init(|| {
        let directory = tempfile::tempdir().expect("a scratch directory can be made");
        let view = View::open(directory.path(), Settings::default()).expect("a new view opens");
        for partition in [PartitionId(0), PartitionId(1)] {
            view.open_partition(partition).expect("a new partition opens");
        }
        for n in 0..RUNS {
            view.put_ended(PartitionId(n as u16 % 2), &ended(n)).expect("the view takes a run");
        }
        view.flush(PartitionId(0), Seq(1)).expect("the view flushes");
        (view, directory)
    });
    view
}

fn ended(n: usize) -> EndedRun {
    let id = RunId::new(&format!("run-{n}")).expect("a valid id");
    EndedRun {
        key: Key::new(id.as_str()).expect("a valid key"),
        id,
        workflow: WorkflowName::new("orders").expect("a valid name"),
        version: 1,
        status: RunStatus::Completed,
        accepted_at: Timestamp(n as i64 * 1000),
        ended_at: Timestamp(n as i64 * 1000 + 1),
        body_hash: BodyHash([n as u8; 16]),
        reason: None,
        detail: Bytes::new(),
    }
}

/// The cursors of all pages.
fn seeds() -> Vec<Vec<u8>> {
    static CURSORS: OnceLock<Vec<Vec<u8>>> = OnceLock::new();
    let collect = || {
        let mut cursors = Vec::new();
        let mut query = RunQuery { limit: PAGE, ..RunQuery::default() };
        while let Some(next) = sample().list(&query).expect("the view lists").next {
            cursors.push(next.clone().into_bytes());
            query.cursor = Some(next);
        }
        cursors
    };
    CURSORS.get_or_init(collect).clone()
}
