//! Lists: their order, their filters, their cursors and their cost.

use crate::common::{FINAL, all_pages, all_rows, expected, open, partition, query, run};
use types::{Key, PartitionId, RunStatus, Seq, Timestamp, WorkflowName};
use view::{EndedRun, ListError, RunQuery};

const PARTITIONS: u16 = 8;

#[test]
fn every_combination_of_filters_lists_what_it_should() {
    let dir = tempfile::tempdir().unwrap();
    let view = open(dir.path(), PARTITIONS);
    let runs: Vec<_> = (0..400).map(run).collect();
    for run in &runs {
        view.put_ended(partition(run, PARTITIONS), run).unwrap();
        if run.version == 200 {
            view.flush(partition(run, PARTITIONS), Seq(1)).unwrap();
        }
    }
    let workflows =
        [None, Some(WorkflowName::new("order").unwrap()), Some(WorkflowName::new("none").unwrap())];
    let statuses = [None, Some(RunStatus::Undone), Some(RunStatus::Parked)];
    let keys =
        [None, Some(Key::new("key 3").unwrap()), Some(runs[1].key.clone()), Some(Key::new("x").unwrap())];
    let times = [None, Some(runs[100].accepted_at), Some(runs[300].accepted_at), Some(Timestamp(i64::MIN))];
    for (workflow, status, key, from, to) in product(&workflows, &statuses, &keys, &times, &times) {
        let query = RunQuery { workflow, status, key, from, to, limit: 17, ..query() };
        assert_eq!(all_rows(&view, &query), expected(&runs, &query), "{query:?}");
    }
}

type Filters = (Option<WorkflowName>, Option<RunStatus>, Option<Key>, Option<Timestamp>, Option<Timestamp>);

fn product(
    workflows: &[Option<WorkflowName>],
    statuses: &[Option<RunStatus>],
    keys: &[Option<Key>],
    froms: &[Option<Timestamp>],
    tos: &[Option<Timestamp>],
) -> Vec<Filters> {
    let mut all = Vec::new();
    for workflow in workflows {
        for status in statuses {
            for key in keys {
                for from in froms {
                    all.extend(tos.iter().map(|to| (workflow.clone(), *status, key.clone(), *from, *to)));
                }
            }
        }
    }
    all
}

#[test]
fn a_page_of_20_000_runs_reads_its_rows_and_one_entry_more_per_scan() {
    let dir = tempfile::tempdir().unwrap();
    let view = open(dir.path(), PARTITIONS);
    for number in 0..20_000 {
        view.put_ended(partition(&run(number), PARTITIONS), &run(number)).unwrap();
    }
    for number in 0..PARTITIONS {
        view.flush(PartitionId(number), Seq(1)).unwrap();
    }
    let scans = usize::from(PARTITIONS);
    let order = Some(WorkflowName::new("order").unwrap());
    let given_up = Some(RunStatus::GivenUp);
    let middle = Some(run(10_000).accepted_at);
    let check = |query: RunQuery, scans: usize| {
        let pages = all_pages(&view, &query);
        assert!(pages.len() > 10, "{} pages", pages.len());
        for page in pages {
            assert!(page.entries_read <= query.limit + scans, "{} entries for {query:?}", page.entries_read);
        }
    };
    check(RunQuery { limit: 100, ..query() }, scans);
    check(RunQuery { limit: 100, to: middle, ..query() }, scans);
    check(RunQuery { limit: 100, status: given_up, ..query() }, scans);
    check(RunQuery { limit: 100, status: given_up, workflow: order.clone(), ..query() }, scans);
    // Without a status the three endings of a workflow are merged.
    check(RunQuery { limit: 100, workflow: order, from: middle, ..query() }, 3 * scans);
    check(RunQuery { limit: 5, key: Some(Key::new("key 3").unwrap()), ..query() }, 3 * scans + 1);
}

#[test]
fn a_filter_beyond_the_index_gives_short_pages_but_misses_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let view = open(dir.path(), 1);
    let key = Key::new("shared").unwrap();
    let other = WorkflowName::new("other").unwrap();
    for number in 0..500 {
        let workflow = if number == 3 { other.clone() } else { run(0).workflow };
        view.put_ended(PartitionId(0), &EndedRun { key: key.clone(), workflow, ..run(number) }).unwrap();
    }
    let query = RunQuery { key: Some(key), workflow: Some(other), limit: 10, ..query() };
    let pages = all_pages(&view, &query);
    assert!(pages.len() > 5 && pages.iter().all(|page| page.entries_read <= 90), "{pages:?}");
    assert_eq!(pages.into_iter().flat_map(|page| page.rows).count(), 1);
}

#[test]
fn pages_stay_in_step_while_runs_are_written_and_forgotten() {
    let dir = tempfile::tempdir().unwrap();
    let view = open(dir.path(), PARTITIONS);
    let mut number = 1000;
    for each in 1000..1500 {
        view.put_ended(partition(&run(each), PARTITIONS), &run(each)).unwrap();
    }
    let mut seen = Vec::new();
    let mut cursor = None;
    loop {
        let page = view.list(&RunQuery { limit: 20, cursor, ..query() }).unwrap();
        seen.extend(page.rows.into_iter().map(|row| row.version));
        for newer in 0..10 {
            let newer = run(1500 + number - 1000 + newer);
            view.put_ended(partition(&newer, PARTITIONS), &newer).unwrap();
        }
        number += 10;
        view.flush(PartitionId((number % 8) as u16), Seq(number.into())).unwrap();
        match page.next {
            Some(next) => cursor = Some(next),
            None => break,
        }
    }
    assert_eq!(seen, (1000..1500).rev().collect::<Vec<_>>());

    let first = view.list(&RunQuery { limit: 20, ..query() }).unwrap();
    let rest = RunQuery { cursor: first.next, ..query() };
    for number in 0..PARTITIONS {
        let time = run(1200).accepted_at;
        while view.forget_before(PartitionId(number), time, 1000).unwrap().more {}
    }
    assert!(all_rows(&view, &rest).iter().all(|row| row.ended_at >= run(1200).accepted_at));
}

#[test]
fn runs_of_one_moment_are_each_listed_once() {
    let dir = tempfile::tempdir().unwrap();
    let view = open(dir.path(), PARTITIONS);
    let moment = run(7).accepted_at;
    let runs: Vec<_> = (0..100).map(|number| EndedRun { accepted_at: moment, ..run(number) }).collect();
    for run in &runs {
        view.put_ended(partition(run, PARTITIONS), run).unwrap();
    }
    for limit in [1, 3, 100] {
        let query = RunQuery { limit, ..query() };
        assert_eq!(all_rows(&view, &query), expected(&runs, &query));
    }
}

#[test]
fn a_cursor_that_was_not_given_for_this_query_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let view = open(dir.path(), 1);
    for number in 0..10 {
        view.put_ended(PartitionId(0), &run(number)).unwrap();
    }
    let next = view.list(&RunQuery { limit: 3, ..query() }).unwrap().next.unwrap();
    assert!(next.bytes().all(|byte| byte.is_ascii_alphanumeric()), "{next}");
    let list = |cursor: &str, status| {
        view.list(&RunQuery { cursor: Some(cursor.to_owned()), status, limit: 5, ..query() })
    };
    assert_eq!(list(&next, None).unwrap().rows.len(), 5);
    for (cursor, status) in [(next.as_str(), Some(FINAL[0])), ("", None), ("00", None), ("zz", None)] {
        assert!(matches!(list(cursor, status), Err(ListError::BadCursor)), "{cursor}");
    }
}
