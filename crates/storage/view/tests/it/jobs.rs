//! Rows of jobs and collections, and the index of when jobs are due.

use types::{JobRef, PartitionId, Seq, Timestamp, Uid};
use view::{RunQuery, View};

use crate::common::{open, run};

const P: PartitionId = PartitionId(0);

fn job(name: &str) -> JobRef {
    JobRef { collection: Uid([3; 16]), name: name.into() }
}

fn due(view: &View) -> Vec<(i64, String)> {
    let all = view.due_jobs(P, Timestamp(i64::MIN), Timestamp(i64::MAX - 1), usize::MAX).unwrap();
    all.into_iter().map(|(at, job)| (at.0, job.name.to_string())).collect()
}

// guards: 22
#[test]
fn a_job_is_due_once_at_its_newest_time() {
    let dir = tempfile::tempdir().unwrap();
    let view = open(dir.path(), 1);
    for name in ["a", "b"] {
        view.put_job(P, &job(name), b"definition").unwrap();
    }
    view.put_progress(P, &job("a"), None, Some(Timestamp(-5)), b"1").unwrap();
    view.put_progress(P, &job("b"), None, Some(Timestamp(7)), b"1").unwrap();
    assert_eq!(due(&view), [(-5, "a".to_owned()), (7, "b".to_owned())]);
    view.put_progress(P, &job("a"), None, Some(Timestamp(9)), b"2").unwrap();
    view.put_progress(P, &job("b"), None, None, b"2").unwrap();
    assert_eq!(due(&view), [(9, "a".to_owned())]);
    assert_eq!(view.job(P, &job("b")).unwrap().unwrap().progress.as_ref(), b"2");
    view.delete_job(P, &job("a")).unwrap();
    assert_eq!(due(&view), []);
    assert_eq!(view.job(P, &job("a")).unwrap(), None);
}

// guards: 22
#[test]
fn a_replay_over_a_flushed_view_ends_at_the_same_place() {
    let dir = tempfile::tempdir().unwrap();
    let replay = |view: &View| {
        view.put_job(P, &job("a"), b"definition").unwrap();
        for at in [10, 20, 30, 20, 40] {
            view.put_progress(P, &job("a"), None, Some(Timestamp(at)), at.to_string().as_bytes()).unwrap();
        }
    };
    let view = open(dir.path(), 1);
    replay(&view);
    view.flush(P, Seq(1)).unwrap();
    view.close();
    drop(view);
    let view = open(dir.path(), 1);
    replay(&view);
    view.flush(P, Seq(2)).unwrap();
    let rows = view.job(P, &job("a")).unwrap().unwrap();
    assert_eq!(rows.progress.as_ref(), b"40");
    // Stale hints of the first pass may still be there; the newest must be.
    assert!(due(&view).contains(&(40, "a".to_owned())), "{:?}", due(&view));
}

#[test]
fn jobs_of_a_collection_are_listed_by_name_and_collections_by_id() {
    let dir = tempfile::tempdir().unwrap();
    let view = open(dir.path(), 1);
    for name in ["b", "a", "ab", "c"] {
        view.put_progress(P, &job(name), None, None, b"").unwrap();
        view.put_job(P, &job(name), name.as_bytes()).unwrap();
    }
    let other = JobRef { collection: Uid([4; 16]), name: "z".into() };
    view.put_progress(P, &other, None, None, b"").unwrap();
    view.put_job(P, &other, b"z").unwrap();
    let names = |after, limit| {
        let jobs = view.jobs(P, Uid([3; 16]), after, limit).unwrap();
        jobs.iter().map(|(job, _)| job.name.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(names(None, 10), ["a", "ab", "b", "c"]);
    assert_eq!(names(Some("a"), 2), ["ab", "b"]);
    for id in ["s/g/c", "s/h/c", "t/g/c"] {
        view.put_collection(P, id, id.as_bytes()).unwrap();
    }
    view.delete_collection(P, "s/h/c").unwrap();
    let ids = |prefix| view.collections(P, prefix).unwrap().into_iter().map(|(id, _)| id).collect::<Vec<_>>();
    assert_eq!(ids("s/"), ["s/g/c"]);
    assert_eq!(ids(""), ["s/g/c", "t/g/c"]);
}

#[test]
fn only_the_newest_runs_of_a_key_are_kept() {
    let dir = tempfile::tempdir().unwrap();
    let view = open(dir.path(), 1);
    for n in 0..30 {
        let mut run = run(n);
        run.key = types::Key::new("job").unwrap();
        view.put_ended(P, &run).unwrap();
    }
    let before = view.list(&RunQuery { limit: 100, ..RunQuery::default() }).unwrap().rows;
    assert_eq!(view.keep_newest(P, &types::Key::new("job").unwrap(), 10).unwrap(), 20);
    let after = view.list(&RunQuery { limit: 100, ..RunQuery::default() }).unwrap().rows;
    assert_eq!(after, before[..10]);
    assert!(view.run(&before[10].id, None).unwrap().is_none());
}
