//! Lists that change between two polls.

use super::*;

fn at(second: i64) -> Time {
    Time(Timestamp(second * 1000))
}

fn run(id: &str, status: RunStatus, accepted: i64) -> RunSummary {
    RunSummary {
        id: id.to_owned(),
        workflow: "w".to_owned(),
        version: 1,
        status,
        key: id.to_owned(),
        accepted_at: at(accepted),
        ended_at: status.is_final().then(|| at(accepted + 1)),
        reason: None,
    }
}

fn partition(tail: u64, through: u64) -> Vec<PartitionView> {
    vec![PartitionView { inbox_tail: tail, inbox_through: through, ..PartitionView::unheld(0) }]
}

fn look(live: &[RunSummary], ended: &[RunSummary]) -> PollResult {
    PollResult { live: live.to_vec(), ended: ended.to_vec(), broken_off: false }
}

#[track_caller]
fn check(following: &mut RunTracker, look: PollResult, told: &str, missing: &[&str]) {
    let (events, unseen) = following.take(look, at(999), &partition(0, 0));
    let words: Vec<String> =
        events.iter().map(|event| format!("{:?} {}", event.what, event.run.id)).collect();
    assert_eq!(
        (words.join(", "), unseen),
        (told.to_owned(), missing.iter().map(|id| (*id).to_owned()).collect())
    );
}

#[test]
fn a_run_is_reported_at_each_change_and_once() {
    use RunStatus::{Completed, Parked, Running};
    let mut all = RunTracker::begin(Some(at(100)), &partition(0, 0));
    check(&mut all, look(&[run("a", Running, 101)], &[]), "Accepted a", &[]);
    check(&mut all, look(&[run("a", Running, 101)], &[]), "", &[]);
    check(&mut all, look(&[run("a", Parked, 101)], &[]), "Parked a", &[]);
    check(&mut all, look(&[run("a", Parked, 101)], &[]), "", &[]);
    check(&mut all, look(&[run("a", Running, 101)], &[]), "", &[]);
    check(&mut all, look(&[], &[run("a", Completed, 101)]), "Ended a", &[]);
    check(&mut all, look(&[], &[run("a", Completed, 101)]), "", &[]);
}

#[test]
fn one_that_came_and_went_between_two_polls_is_reported_in_full() {
    let mut all = RunTracker::begin(Some(at(100)), &partition(0, 0));
    check(&mut all, look(&[], &[run("a", RunStatus::Undone, 101)]), "Accepted a, Ended a", &[]);
    check(&mut all, look(&[run("b", RunStatus::Parked, 102)], &[]), "Accepted b, Parked b", &[]);
}

#[test]
fn one_that_is_in_both_lists_has_ended() {
    let mut all = RunTracker::begin(Some(at(100)), &partition(0, 0));
    let both = look(&[run("a", RunStatus::Running, 101)], &[run("a", RunStatus::Completed, 101)]);
    check(&mut all, both, "Accepted a, Ended a", &[]);
}

#[test]
fn an_old_run_that_is_gone_from_the_list_is_asked_for() {
    let mut all = RunTracker::begin(Some(at(100)), &partition(0, 0));
    check(&mut all, look(&[run("old", RunStatus::Running, 3)], &[]), "Accepted old", &[]);
    check(&mut all, look(&[], &[]), "", &["old"]);
    assert!(all.resolve("old", Some(run("old", RunStatus::Undoing, 3))).is_empty());
    check(&mut all, look(&[], &[]), "", &["old"]);
    let events = all.resolve("old", Some(run("old", RunStatus::Undone, 3)));
    assert!(matches!(events.as_slice(), [RunEvent { what: TailEventKind::Ended, .. }]), "{events:?}");
    check(&mut all, look(&[], &[]), "", &[]);
}

#[test]
fn looks_go_back_as_far_as_requests_may_still_wait() {
    let mut all = RunTracker::begin(Some(at(100)), &partition(9, 9));
    assert_eq!(all.since(), at(95));
    let done = |id: &str, accepted| look(&[], &[run(id, RunStatus::Completed, accepted)]);
    // Ten requests are there, one of them has not become a run yet: it may be as old as it likes.
    all.mark(&partition(10, 9));
    all.take(done("a", 200), at(201), &partition(10, 9));
    all.mark(&partition(10, 9));
    all.take(done("b", 300), at(301), &partition(10, 9));
    assert_eq!(all.since(), at(95));
    // It became one: everything accepted before the mark is in the lists.
    all.mark(&partition(10, 10));
    all.take(done("c", 101), at(302), &partition(10, 10));
    assert_eq!(all.since(), at(295));
    assert_eq!(all.ended.keys().collect::<Vec<_>>(), ["b"]);
    assert_eq!(RunTracker::begin(Some(at(100)), &partition(10, 9)).since(), at(40));
}

#[test]
fn a_look_that_breaks_off_goes_on_from_what_it_had() {
    let mut all = RunTracker::begin(Some(at(100)), &partition(0, 0));
    let ended = [run("b", RunStatus::Completed, 300), run("a", RunStatus::Completed, 200)];
    all.take(PollResult { broken_off: true, ..look(&[], &ended) }, at(301), &partition(0, 0));
    assert_eq!(all.since(), Time(Timestamp(200_001)));
}
