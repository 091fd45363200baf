//! What is promised of jobs, with a clock that the test turns.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bytes::Bytes;
use proptest::prelude::*;
use types::{
    CollectionSpec, Frequency, Gap, JobRef, JobSpec, JobState, Missed, Outcome, Overlap, Plan, Recurrence,
    Repeat, Retry, Rule, RunId, Span, Ticks, Timestamp, Timing, Uid, Work, WorkflowName,
};

use super::{
    Collection, CollectionDraft, Draft, Due, Expect, FINISHED_KEPT, Job, JobRejection, Occurrence, PutMode,
    due, ended, put, put_collection, run_now,
};
use crate::{Event, Fact, Input, Run, State};

const START: Timestamp = Timestamp(1_800_000_000_000);

type Plans = BTreeMap<(WorkflowName, u32), Arc<Plan>>;

/// One partition with one job, and the calls that its target sees.
struct Bench {
    collection: Collection,
    job: Job,
    state: State,
    now: Timestamp,
    fired: Vec<(RunId, Ticks)>,
    calls: Vec<(Timestamp, Work, u32)>,
    ended: Vec<Run>,
}

fn collection(enabled: bool) -> CollectionDraft {
    CollectionDraft {
        subscription: "S".to_owned(),
        group: "G".to_owned(),
        name: "C".to_owned(),
        uid: Uid([1; 16]),
        spec: CollectionSpec { jobs_max: 2, period_min: Span::from_secs(60), authentication: false, enabled },
        document: "{}".to_owned(),
    }
}

fn every(frequency: Frequency, interval: u32, count: Option<u32>) -> Option<Recurrence> {
    Some(Recurrence { rule: Rule::Every { frequency, interval, schedule: None }, count, end: None })
}

fn spec(start: Option<Timestamp>, recurrence: Option<Recurrence>) -> JobSpec {
    JobSpec {
        timing: Timing {
            start: start.map(Ticks::from),
            recurrence,
            zone: None,
            gap: Gap::End,
            repeat: Repeat::First,
            jitter: Span::ZERO,
        },
        retry: Retry::JOB,
        alternative: None,
        missed: Missed::Latest,
        overlap: Overlap::Skip,
        enabled: true,
        authenticates: false,
    }
}

fn draft(spec: JobSpec) -> Draft {
    Draft {
        name: "Nightly".to_owned(),
        uid: Uid([9; 16]),
        spec,
        document: "{}".to_owned(),
        delay: Span::ZERO,
    }
}

fn minutes(n: u64) -> Span {
    Span::from_secs(60 * n)
}

impl Bench {
    fn new(spec: JobSpec) -> Bench {
        let (collection, _) =
            put_collection(None, &[], &collection(true), Expect::Nothing, START).expect("a new collection");
        let job =
            put(&collection, None, &draft(spec), Expect::Nothing, PutMode::Replace, START).expect("a job");
        let (state, fired, calls, ended) = (State::default(), Vec::new(), Vec::new(), Vec::new());
        Bench { collection, job, state, now: START, fired, calls, ended }
    }

    fn live(&self) -> usize {
        self.state.occurrences(&self.job.key()).len()
    }

    fn change(&mut self, spec: JobSpec) -> Result<(), JobRejection> {
        let manner = PutMode::Change;
        self.job = put(&self.collection, Some(&self.job), &draft(spec), Expect::Anything, manner, self.now)?;
        Ok(())
    }

    fn apply(&mut self, input: &Input) {
        let (mut events, mut retired) = (Vec::new(), Vec::new());
        self.state.apply(&Plans::new(), self.now, input, &mut events, &mut retired).expect("not rejected");
        for event in events {
            match event {
                Event::Fired(fired) => {
                    self.job.progress = fired.progress;
                    let occurrence = Occurrence::of_request(&fired.request).expect("an occurrence");
                    self.fired.push((fired.request.id, occurrence.expected));
                }
                Event::Run { fact: Fact::Started { work, attempt }, .. } => {
                    self.calls.push((self.now, work, attempt))
                }
                _ => {}
            }
        }
        for run in retired {
            self.job.progress = ended(&self.job, &run, self.now, self.live());
            self.ended.push(run);
        }
    }

    /// Fires what is due and lets runs go on; answers every call that is owed.
    fn turn(&mut self, answer: &mut dyn FnMut(Work) -> Option<Outcome>) {
        while self.job.progress.due.is_some_and(|due| due <= self.now) {
            match due(&self.job, self.now, self.live()) {
                Due::Fire(firing) => self.apply(&Input::Fire(firing)),
                Due::Progress(progress) => self.job.progress = progress,
                Due::Forget => break,
            }
        }
        self.apply(&Input::Tick);
        let owed: Vec<_> = self.state.pending_calls().collect();
        for owed in owed {
            if let Some(outcome) = answer(owed.attempt.work) {
                let (work, attempt) = (owed.attempt.work, owed.attempt.attempt);
                self.apply(&Input::Outcome { run: owed.run, work, attempt, outcome });
            }
        }
    }

    fn pass(&mut self, span: Span, step: Span, mut answer: impl FnMut(Work) -> Option<Outcome>) {
        let until = self.now + span;
        while self.now < until {
            self.now = self.now + step;
            self.turn(&mut answer);
        }
    }

    fn fired_minutes(&self) -> Vec<i64> {
        self.fired.iter().map(|(_, at)| (at.floor().0 - START.0) / 60_000).collect()
    }
}

fn done(_: Work) -> Option<Outcome> {
    Some(Outcome::Done { status: 200, output: Bytes::from_static(b"null") })
}

fn down(_: Work) -> Option<Outcome> {
    Some(Outcome::Transient { status: None, reason: "connection refused".to_owned(), retry_after: None })
}

#[test]
fn an_endpoint_that_is_down_is_called_five_times_at_thirty_seconds_and_then_the_alternative() {
    let mut bench = Bench::new(JobSpec { alternative: Some(Retry::JOB), ..spec(None, None) });
    bench.turn(&mut down);
    bench.pass(minutes(10), Span::from_secs(1), |work| match work {
        Work::Alternative(_) => done(work),
        _ => down(work),
    });
    let calls: Vec<_> =
        bench.calls.iter().map(|(at, work, n)| (at.since(START).as_ms() / 1000, *work, *n)).collect();
    let step = types::StepIndex(0);
    let expected = [(0, 1), (30, 2), (60, 3), (90, 4), (120, 5)].map(|(at, n)| (at, Work::Do(step), n));
    assert_eq!(calls[..5], expected);
    assert_eq!(calls[5].1, Work::Alternative(step));
    assert_eq!(calls.len(), 6);
    let progress = &bench.job.progress;
    let tally = progress.tally;
    assert_eq!((tally.executions, tally.failures, tally.faulted), (6, 5, 1));
    assert_eq!(progress.state, JobState::Faulted, "the alternative does not make the action succeed");
}

#[test]
fn the_alternative_follows_its_own_policy() {
    let retry = Retry::Fixed { delay: Span::from_secs(60), attempts: 2 };
    let mut bench = Bench::new(JobSpec { retry: Retry::None, alternative: Some(retry), ..spec(None, None) });
    bench.turn(&mut down);
    bench.pass(minutes(5), Span::from_secs(1), down);
    let tally = bench.job.progress.tally;
    assert_eq!((tally.executions, tally.failures, tally.faulted), (3, 3, 1));
}

#[test]
fn occurrences_stay_on_the_grid_of_the_start_and_end_with_the_count() {
    let start = START + minutes(2);
    let mut bench = Bench::new(spec(Some(start), every(Frequency::Minute, 5, Some(3))));
    bench.pass(minutes(60), Span::from_secs(7), done);
    assert_eq!(bench.fired_minutes(), [2, 7, 12]);
    assert_eq!(bench.job.progress.state, JobState::Completed);
    assert_eq!(bench.job.progress.next, None);
}

#[test]
fn without_a_start_the_next_counts_from_the_actual_start() {
    let mut bench = Bench::new(spec(None, every(Frequency::Minute, 1, Some(4))));
    bench.turn(&mut done);
    bench.pass(minutes(10), Span::from_secs(7), done);
    let at: Vec<_> = bench.fired.iter().map(|(_, at)| (at.floor().0 - START.0) / 1000).collect();
    // Looked at every 7 seconds: each is late by up to 6 s, and the following one counts from there.
    assert_eq!(at, [0, 60, 123, 186]);
}

// guards: 21
#[test]
fn an_overlap_is_left_out_queued_or_allowed() {
    let fired = |overlap| {
        let recurrence = every(Frequency::Minute, 1, None);
        let mut bench = Bench::new(JobSpec { overlap, ..spec(Some(START), recurrence) });
        bench.turn(&mut |_| None);
        bench.pass(minutes(3), Span::from_secs(30), |_| None);
        (bench.fired.len(), bench.calls.len(), bench.job.progress.skipped)
    };
    assert_eq!(fired(Overlap::Skip), (1, 1, 3));
    assert_eq!(fired(Overlap::Queue), (4, 1, 0));
    assert_eq!(fired(Overlap::Allow), (4, 4, 0));
}

// guards: 21
#[test]
fn what_was_missed_is_caught_up_as_the_job_says() {
    let fired = |missed| {
        let recurrence = every(Frequency::Minute, 10, None);
        let mut bench = Bench::new(JobSpec { missed, ..spec(Some(START + minutes(10)), recurrence) });
        bench.now = START + minutes(45);
        bench.turn(&mut done);
        bench.pass(minutes(10), Span::from_secs(30), done);
        bench.fired_minutes()
    };
    assert_eq!(fired(Missed::Latest), [40, 50]);
    assert_eq!(fired(Missed::All), [10, 20, 30, 40, 50]);
    assert_eq!(fired(Missed::Skip), [50]);
}

#[test]
fn all_that_was_missed_is_caught_up_one_after_another_to_the_last() {
    let rule = Rule::Cron("*/5 * * * * *".parse().expect("a cron expression"));
    let recurrence = Some(Recurrence { rule, count: None, end: None });
    let mut collection = collection(true);
    collection.spec.period_min = Span::from_secs(1);
    let (collection, _) = put_collection(None, &[], &collection, Expect::Nothing, START).expect("new");
    let spec = JobSpec { missed: Missed::All, ..spec(Some(START), recurrence) };
    let job = put(&collection, None, &draft(spec), Expect::Nothing, PutMode::Replace, START).expect("a job");
    let mut bench = Bench { collection, job, ..Bench::new(self::spec(None, None)) };
    bench.now = START + Span::from_secs(74);
    bench.turn(&mut |_| None);
    assert_eq!(bench.fired.len(), 1, "the others wait for the first");
    bench.pass(Span::from_secs(50), Span::from_secs(1), done);
    let at: Vec<_> = bench.fired.iter().map(|(_, at)| (at.floor().0 - START.0) / 1000).collect();
    assert_eq!(at, (0..=120).step_by(5).collect::<Vec<_>>());
    assert_eq!(bench.job.progress.skipped, 0);
}

// guards: 21
#[test]
fn late_by_less_than_a_minute_is_not_missed() {
    let mut bench = Bench::new(JobSpec { missed: Missed::Skip, ..spec(Some(START + minutes(1)), None) });
    bench.now = START + minutes(2);
    bench.turn(&mut done);
    assert_eq!(bench.fired.len(), 1);
}

#[test]
fn a_one_time_job_that_must_not_be_late_faults() {
    let mut bench = Bench::new(JobSpec { missed: Missed::Skip, ..spec(Some(START + minutes(1)), None) });
    bench.now = START + minutes(3);
    bench.turn(&mut done);
    assert_eq!((bench.fired.len(), bench.job.progress.state), (0, JobState::Faulted));
}

#[test]
fn a_finished_job_is_forgotten_after_sixty_days() {
    let mut bench = Bench::new(spec(None, None));
    bench.turn(&mut done);
    assert_eq!(bench.job.progress.state, JobState::Completed);
    assert_eq!(bench.job.progress.due, Some(START + FINISHED_KEPT));
    assert_eq!(due(&bench.job, START + FINISHED_KEPT, 0), Due::Forget);
}

// guards: 20
#[test]
fn a_clock_set_back_brings_nothing_back() {
    let mut bench = Bench::new(spec(Some(START), every(Frequency::Minute, 1, None)));
    bench.turn(&mut done);
    bench.pass(minutes(5), Span::from_secs(30), done);
    bench.now = START + Span::from_secs(30);
    let other = spec(Some(START), every(Frequency::Minute, 2, None));
    bench.change(other).expect("an edit");
    bench.pass(minutes(10), Span::from_secs(30), done);
    assert_eq!(bench.fired_minutes(), [0, 1, 2, 3, 4, 5, 6, 8, 10]);
}

#[test]
fn a_job_that_wakes_up_before_it_was_made_fires_from_then_on() {
    let rule = Rule::Cron("* * * * *".parse().expect("every minute"));
    let recurrence = Some(Recurrence { rule, count: None, end: None });
    let mut bench = Bench::new(JobSpec { enabled: false, ..spec(None, recurrence.clone()) });
    // The clock that it was made by was ahead by two hours.
    bench.now = START - minutes(120);
    bench.change(spec(None, recurrence)).expect("enabled");
    bench.pass(minutes(3), Span::from_secs(30), done);
    assert_eq!(bench.fired_minutes(), [-119, -118, -117]);
}

#[test]
fn a_job_whose_last_occurrence_ended_while_it_was_disabled_ends_when_it_wakes_up() {
    for answer in [done, down] {
        let once = JobSpec { retry: Retry::None, ..spec(None, None) };
        let mut bench = Bench::new(once.clone());
        bench.turn(&mut |_| None);
        bench.change(JobSpec { enabled: false, ..once.clone() }).expect("disabled");
        bench.turn(&mut |work| answer(work));
        assert_eq!((bench.live(), bench.job.progress.state), (0, JobState::Disabled));
        bench.change(once).expect("enabled");
        bench.turn(&mut |_| None);
        let failed = answer(Work::Do(types::StepIndex(0))) == down(Work::Do(types::StepIndex(0)));
        let state = if failed { JobState::Faulted } else { JobState::Completed };
        assert_eq!((bench.fired.len(), bench.job.progress.state), (1, state));
        assert_eq!(bench.job.progress.due, Some(START + FINISHED_KEPT));
    }
}

#[test]
fn a_job_that_wakes_up_beside_its_last_occurrence_ends_with_it_and_is_kept() {
    let mut bench = Bench::new(spec(None, None));
    bench.turn(&mut |_| None);
    bench.change(JobSpec { enabled: false, ..spec(None, None) }).expect("disabled");
    bench.change(spec(None, None)).expect("enabled");
    let owed: Vec<_> = bench.state.pending_calls().collect();
    let (work, attempt) = (owed[0].attempt.work, owed[0].attempt.attempt);
    let outcome = done(work).expect("an answer");
    bench.apply(&Input::Outcome { run: owed[0].run, work, attempt, outcome });
    assert_eq!(bench.job.progress.state, JobState::Completed);
    assert_eq!(bench.job.progress.due, Some(START + FINISHED_KEPT));
}

#[test]
fn what_was_missed_is_not_made_up_for_after_the_end() {
    let rule = Rule::Every { frequency: Frequency::Minute, interval: 1, schedule: None };
    let end = Some(Ticks::from(START + Span::from_secs(90)));
    let recurrence = Some(Recurrence { rule, count: None, end });
    let mut bench = Bench::new(JobSpec { missed: Missed::Skip, ..spec(None, recurrence) });
    bench.turn(&mut done);
    bench.now = START + minutes(5);
    bench.turn(&mut done);
    assert_eq!((bench.fired_minutes(), bench.job.progress.missed), (vec![0], 1));
    assert_eq!(bench.job.progress.state, JobState::Completed);
}

#[test]
fn an_edit_of_the_action_leaves_the_plan_as_it_is() {
    let recurrence = every(Frequency::Hour, 1, None);
    let mut bench = Bench::new(spec(None, recurrence.clone()));
    bench.turn(&mut done);
    let next = bench.job.progress.next;
    bench.now = bench.now + minutes(30);
    bench.change(JobSpec { retry: Retry::None, ..spec(None, recurrence) }).expect("an edit");
    assert_eq!(bench.job.progress.next, next);
    assert_eq!(bench.job.definition.version, 2);
}

#[test]
fn a_finished_job_can_be_replaced_but_not_changed() {
    let mut bench = Bench::new(spec(None, None));
    bench.turn(&mut done);
    let rejected = bench.change(spec(None, None));
    assert_eq!(rejected, Err(JobRejection::Final { state: JobState::Completed }));
    assert_eq!(run_now(&bench.job, START, 0), Err(JobRejection::Final { state: JobState::Completed }));
    let draft = draft(spec(None, None));
    let again =
        put(&bench.collection, Some(&bench.job), &draft, Expect::Anything, PutMode::Replace, bench.now);
    let again = again.expect("written again");
    assert_eq!(again.progress.state, JobState::Enabled);
    assert!(again.progress.next > bench.job.progress.newest, "its next occurrence has an id of its own");
}

#[test]
fn a_run_by_hand_leaves_the_plan_as_it_is() {
    let mut bench = Bench::new(spec(Some(START + minutes(5)), every(Frequency::Minute, 5, Some(2))));
    let firing = run_now(&bench.job, bench.now, 0).expect("not running");
    bench.apply(&Input::Fire(Box::new(firing)));
    assert_eq!(run_now(&bench.job, bench.now, 1), Err(JobRejection::Running));
    bench.pass(minutes(20), Span::from_secs(30), done);
    assert_eq!(bench.fired_minutes(), [0, 5, 10], "by hand, then both that were planned");
}

#[test]
fn disabling_a_collection_holds_its_jobs_and_enabling_brings_back_those_that_were_enabled() {
    let recurrence = every(Frequency::Minute, 10, None);
    let on = Bench::new(spec(Some(START), recurrence.clone())).job;
    let mut off = Bench::new(JobSpec { enabled: false, ..spec(Some(START), recurrence) }).job;
    off.definition.at = JobRef { name: "other".into(), ..off.definition.at };
    let (first, _) = put_collection(None, &[], &collection(true), Expect::Nothing, START).expect("new");
    let jobs = [on, off];
    let (second, moved) =
        put_collection(Some(&first), &jobs, &collection(false), Expect::Version(1), START).expect("disabled");
    assert_eq!(moved.len(), 1);
    assert_eq!((moved[0].1.state, moved[0].1.next, moved[0].1.held), (JobState::Disabled, None, true));
    let held = [Job { progress: moved[0].1.clone(), ..jobs[0].clone() }, jobs[1].clone()];
    let later = START + minutes(25);
    let (_, moved) =
        put_collection(Some(&second), &held, &collection(true), Expect::Anything, later).expect("enabled");
    assert_eq!(moved.len(), 1, "the job that a person disabled stays so");
    assert_eq!(moved[0].1.next, Some(Ticks::from(START + minutes(30))), "what passed meanwhile is left out");
}

// guards: 23
#[test]
fn quotas_are_kept() {
    let hourly = spec(None, every(Frequency::Minute, 1, None));
    let mut full = Bench::new(hourly.clone());
    full.collection.jobs = 2;
    let rejected = |collection: &Collection, spec: JobSpec| {
        put(collection, None, &draft(spec), Expect::Anything, PutMode::Replace, START).map(|_| ())
    };
    assert_eq!(rejected(&full.collection, hourly.clone()), Err(JobRejection::TooManyJobs { max: 2 }));
    let mut slow = full.collection.clone();
    slow.jobs = 0;
    slow.spec.period_min = Span::from_secs(3600);
    let too_often = JobRejection::TooOften { period: minutes(1), min: Span::from_secs(3600) };
    assert_eq!(rejected(&slow, hourly.clone()), Err(too_often));
    let signs_in = JobSpec { authenticates: true, ..spec(None, None) };
    assert_eq!(rejected(&slow, signs_in), Err(JobRejection::NoAuthentication));
    let smaller =
        CollectionDraft { spec: CollectionSpec { jobs_max: 1, ..full.collection.spec }, ..collection(true) };
    let shrunk = put_collection(Some(&full.collection), &[], &smaller, Expect::Anything, START);
    assert_eq!(shrunk.map(|_| ()), Err(JobRejection::QuotaTooLow { jobs: 2, max: 1 }));
    let slower = CollectionDraft { spec: slow.spec, ..collection(true) };
    let slowed =
        put_collection(Some(&full.collection), &[full.job.clone()], &slower, Expect::Anything, START);
    assert!(matches!(slowed, Err(JobRejection::JobDoesNotFit { .. })), "{slowed:?}");
}

#[test]
fn jitter_puts_an_occurrence_off_by_a_part_that_is_always_the_same() {
    let mut jittered = spec(Some(START + minutes(5)), None);
    jittered.timing.jitter = Span::from_secs(30);
    let [one, two] = [jittered.clone(), jittered].map(|spec| Bench::new(spec).job.progress);
    assert_eq!(one.due, two.due);
    assert_eq!(one.next, Some(Ticks::from(START + minutes(5))));
    let late = one.due.expect("planned").since(START + minutes(5));
    assert!(late <= Span::from_secs(30), "{late}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    // guards: 20
    /// Whatever happens to clock, target and definition: no occurrence has another's id, each is later than the one
    /// before, a counted rule fires its count, and what was counted is what was called.
    #[test]
    fn occurrences_are_unique_and_in_order(
        moves in prop::collection::vec((0u8..12, 1u64..4000), 1..120),
        overlap in prop::sample::select(vec![Overlap::Skip, Overlap::Queue, Overlap::Allow]),
        missed in prop::sample::select(vec![Missed::Latest, Missed::All, Missed::Skip]),
        anchored in any::<bool>(),
        count in prop::option::of(1u32..20),
    ) {
        let recurrence = every(Frequency::Minute, 3, count);
        let start = anchored.then_some(START);
        let base = JobSpec { overlap, missed, retry: Retry::None, ..spec(start, recurrence) };
        let mut bench = Bench::new(base.clone());
        for (kind, size) in moves {
            match kind {
                0 => bench.now = bench.now - Span::from_secs(size),
                1 => drop(bench.change(JobSpec { enabled: false, ..base.clone() })),
                2 | 3 => drop(bench.change(base.clone())),
                4 => bench.pass(Span::from_secs(size), Span::from_secs(61), down),
                5 => bench.pass(Span::from_secs(size), Span::from_secs(61), |_| None),
                _ => bench.pass(Span::from_secs(size), Span::from_secs(61), done),
            }
        }
        let ids: BTreeSet<_> = bench.fired.iter().map(|(id, _)| id).collect();
        prop_assert_eq!(ids.len(), bench.fired.len(), "an id was used twice");
        prop_assert!(bench.fired.windows(2).all(|two| two[0].1 < two[1].1), "out of order");
        prop_assert!(count.is_none_or(|count| bench.fired.len() <= count as usize));
        bench.now = bench.fired.last().map_or(bench.now, |(_, at)| at.floor().max(bench.now));
        bench.turn(&mut done);
        while bench.live() > 0 {
            bench.turn(&mut done);
        }
        let tally = bench.job.progress.tally;
        prop_assert_eq!(tally.executions as usize, bench.calls.len());
        prop_assert_eq!(bench.ended.len(), bench.fired.len());
    }
}
