//! The promises of a run, held against random plans, faults, crashes, cancels and decisions.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;

use kernel::drill::{Treatment, World, cancel, drill_saga};
use kernel::{Command, Decision, Input, Rejection};
use proptest::prelude::{Just, Strategy, any, prop_oneof};
use proptest::{collection, proptest};
use types::plan::NoticeEvents;
use types::{Key, Plan, PlanStep, Retry, RunId, RunStatus, Span, StepIndex, StepName};

#[derive(Debug, Clone)]
enum Op {
    Post { run: u8 },
    Treat { place: u8, treatment: Treatment },
    Repeat { place: u8 },
    Wait,
    Crash { treatment: Treatment },
    Cancel { run: u8 },
    Decide { run: u8, step: u8, what: u8 },
    ArriveLate,
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let treatment = || proptest::sample::select(Treatment::ALL.to_vec());
    let op = prop_oneof![
        3 => (0..4u8).prop_map(|run| Op::Post { run }),
        12 => (any::<u8>(), treatment()).prop_map(|(place, treatment)| Op::Treat { place, treatment }),
        2 => any::<u8>().prop_map(|place| Op::Repeat { place }),
        4 => Just(Op::Wait),
        1 => treatment().prop_map(|treatment| Op::Crash { treatment }),
        1 => (0..4u8).prop_map(|run| Op::Cancel { run }),
        2 => (0..4u8, 0..5u8, 0..6u8).prop_map(|(run, step, what)| Op::Decide { run, step, what }),
        1 => Just(Op::ArriveLate),
    ];
    collection::vec(op, 1..120)
}

fn plans() -> impl Strategy<Value = Plan> {
    let step = (any::<u8>(), any::<bool>(), 1..4u32, any::<bool>(), any::<bool>());
    (collection::vec(step, 1..6), any::<bool>(), proptest::option::of(0..6usize), any::<[bool; 3]>())
        .prop_map(|(steps, serial, pivot, [completed, undone, parked])| Plan {
            steps: steps.iter().enumerate().map(|(index, step)| plan_step(index, *step, pivot)).collect(),
            deadline: Some(Span::from_secs(3600)),
            serial,
            notices: NoticeEvents { completed, undone, parked },
            notice_retry: Retry::STEP,
        })
}

fn plan_step(
    index: usize,
    (mask, alternative, attempts, limited, drawn): (u8, bool, u32, bool, bool),
    pivot: Option<usize>,
) -> PlanStep {
    let retry = Retry::Exponential {
        first: Span::from_ms(100),
        factor_percent: 200,
        max: Span::from_secs(1),
        attempts,
    };
    PlanStep {
        name: StepName::new(&format!("s{index}")).unwrap(),
        after: (0..index).filter(|before| mask & (1 << before) != 0).map(|b| StepIndex(b as u16)).collect(),
        retry,
        alternative: alternative.then_some(Retry::None),
        undo: Some(if drawn { Retry::UNDO } else { retry }),
        pivot: pivot == Some(index),
        complete_by: limited.then_some(Span::from_ms(150)),
    }
}

fn id(run: u8) -> RunId {
    RunId::new(&format!("run-{run}")).unwrap()
}

fn decision(step: u8, what: u8) -> Decision {
    let step = StepIndex(step.into());
    match what {
        0 => Decision::Retry { step: None },
        1 => Decision::Retry { step: Some(step) },
        2 => Decision::RetryFrom { step },
        3 => Decision::Skip { step },
        4 => Decision::Instead { step, action: "{}".to_owned() },
        _ => Decision::GiveUp,
    }
}

/// Skipping an undo leaves its effect by the person's own will: such runs are not held against I6.
fn play(world: &mut World, op: &Op, skipped: &mut BTreeSet<RunId>) {
    match op {
        // Two runs share each key, so that serial plans have queues.
        Op::Post { run } => world.post(&id(*run), &Key::new(&format!("key-{}", run / 2)).unwrap()),
        Op::Treat { place, treatment } if !world.in_flight().is_empty() => {
            world.treat(usize::from(*place) % world.in_flight().len(), *treatment)
        }
        Op::Repeat { place } if !world.in_flight().is_empty() => {
            let owed = world.in_flight()[usize::from(*place) % world.in_flight().len()];
            world.treat(usize::from(*place) % world.in_flight().len(), Treatment::Apply);
            world.learn(owed, types::Outcome::Refused { status: None, reason: "late".to_owned() });
        }
        Op::Treat { .. } | Op::Repeat { .. } => {}
        Op::Wait => drop(world.wait()),
        Op::Crash { treatment } => world.crash(*treatment),
        Op::Cancel { run } => drop(world.input(cancel(&id(*run)))),
        Op::Decide { run, step, what } => {
            let decided = decision(*step, *what);
            let skips = matches!(decided, Decision::Skip { .. });
            let command = Command::Decide { decision: decided, note: "because".to_owned() };
            let input = Input::Command { id: id(*run), by: "person".to_owned(), command };
            if world.input(input).is_ok() && skips {
                skipped.insert(id(*run));
            }
        }
        Op::ArriveLate => world.arrive_late(),
    }
}

proptest! {
    #![proptest_config(proptest::test_runner::Config { cases: 1500, ..Default::default() })]

    // guards: 2, 5, 7
    #[test]
    fn no_mix_of_faults_breaks_a_promise(plan in plans(), ops in ops()) {
        let mut world = World::new(plan);
        let mut skipped = BTreeSet::new();
        let mut inbox_through = world.state().inbox_through();
        for op in &ops {
            play(&mut world, op, &mut skipped);
            let state = world.state();
            assert!(state.inbox_through() >= inbox_through, "I10: the checkpoint went back");
            inbox_through = state.inbox_through();
            assert_eq!(state.parked_count(), state.runs().filter(|r| r.status() == RunStatus::Parked).count());
        }
        world.finish();
        let violations: Vec<_> = world.audit();
        let mine = |text: &str| skipped.iter().any(|id| text.starts_with("I6") && text.contains(id.as_str()));
        let violations: Vec<_> = violations.into_iter().filter(|found| !mine(&found.0)).collect();
        assert_eq!(violations, []);
        for run in world.state().runs() {
            assert!(matches!(run.status(), RunStatus::Parked | RunStatus::Queued), "L1: {run:?}");
        }
    }

    // guards: 8
    #[test]
    fn a_snapshot_holds_the_whole_state(plan in plans(), ops in ops()) {
        let mut world = World::new(plan);
        for op in &ops {
            play(&mut world, op, &mut BTreeSet::new());
        }
        let bytes = postcard::to_stdvec(world.state()).unwrap();
        let restored = world.restored(postcard::from_bytes(&bytes).unwrap());
        assert_eq!(&restored, world.state());
        let events = postcard::to_stdvec(world.journal()).unwrap();
        assert_eq!(postcard::from_bytes::<Vec<kernel::Event>>(&events).unwrap(), world.journal());
    }
}

proptest! {
    #![proptest_config(proptest::test_runner::Config { cases: 12, ..Default::default() })]

    // guards: 3, 4, 6
    #[test]
    fn every_plan_survives_its_drill(plan in plans()) {
        assert_eq!(drill_saga(&plan), []);
    }
}

#[test]
fn a_run_that_waits_for_a_parked_one_starts_when_a_person_gives_that_up() {
    let mut world = World::new(Plan {
        steps: vec![plan_step(0, (0, false, 1, false, false), None)],
        deadline: None,
        serial: true,
        notices: NoticeEvents::default(),
        notice_retry: Retry::None,
    });
    let key = Key::new("k").unwrap();
    world.post(&id(1), &key);
    world.post(&id(2), &key);
    world.treat(0, Treatment::LoseAnswer);
    assert_eq!(world.state().find(&id(1)).unwrap().status(), RunStatus::Undoing);
    world.treat(0, Treatment::Refuse);
    assert_eq!(world.state().find(&id(1)).unwrap().status(), RunStatus::Parked);
    assert_eq!(world.state().find(&id(2)).unwrap().status(), RunStatus::Queued);
    let command = Command::Decide { decision: Decision::GiveUp, note: String::new() };
    world.input(Input::Command { id: id(1), by: "person".to_owned(), command }).unwrap();
    assert_eq!(world.state().find(&id(2)).unwrap().status(), RunStatus::Running);
    assert_eq!(world.input(cancel(&id(1))), Err(Rejection::NotFound));
}

fn step(index: usize, after: u8, undo: bool, pivot: bool) -> PlanStep {
    let mut step = plan_step(index, (after, false, 1, false, false), pivot.then_some(index));
    step.undo = step.undo.filter(|_| undo);
    step
}

fn world(steps: Vec<PlanStep>, notices: NoticeEvents) -> World {
    World::new(Plan { steps, deadline: None, serial: false, notices, notice_retry: Retry::STEP })
}

fn decide(world: &mut World, decision: Decision) {
    let command = Command::Decide { decision, note: String::new() };
    world.input(Input::Command { id: id(1), by: "person".to_owned(), command }).unwrap();
}

#[test]
fn a_run_whose_pivot_was_done_never_turns_back_not_even_from_a_step_before_it() {
    let steps = vec![step(0, 0, true, false), step(1, 1, true, true), step(2, 2, true, false)];
    let mut world = world(steps, NoticeEvents::default());
    world.post(&id(1), &id(1).into());
    world.treat(0, Treatment::Apply);
    world.treat(0, Treatment::Apply);
    world.treat(0, Treatment::Refuse);
    assert_eq!(world.state().find(&id(1)).unwrap().status(), RunStatus::Parked);
    decide(&mut world, Decision::RetryFrom { step: StepIndex(0) });
    world.treat(0, Treatment::Refuse);
    assert_eq!(world.state().find(&id(1)).unwrap().status(), RunStatus::Parked);
    assert!(world.ledger[&(id(1), StepIndex(1))].in_effect);
    assert_eq!(world.audit(), []);
}

#[test]
fn a_pivot_without_an_undo_that_may_have_been_done_is_parked_even_if_a_later_attempt_is_refused() {
    let mut pivot = step(0, 0, false, true);
    pivot.retry = Retry::Fixed { delay: Span::from_ms(1), attempts: 3 };
    let mut world = world(vec![pivot], NoticeEvents::default());
    world.post(&id(1), &id(1).into());
    world.treat(0, Treatment::LoseAnswer);
    world.wait();
    world.treat(0, Treatment::Refuse);
    assert_eq!(world.state().find(&id(1)).unwrap().status(), RunStatus::Parked);
}

#[test]
fn a_second_parking_is_reported_even_if_the_first_notice_was_still_in_flight() {
    let notices = NoticeEvents { parked: true, ..NoticeEvents::default() };
    let mut world =
        world(vec![step(0, 0, true, false), step(1, 1, true, true), step(2, 2, true, false)], notices);
    world.post(&id(1), &id(1).into());
    world.treat(0, Treatment::Apply);
    world.treat(0, Treatment::Apply);
    world.treat(0, Treatment::Refuse);
    let notice = |world: &World| world.in_flight().iter().position(|owed| owed.attempt.work.step().is_none());
    let first = notice(&world).expect("the first parking is being told");
    decide(&mut world, Decision::Retry { step: None });
    let call = world.in_flight().iter().position(|owed| owed.attempt.work.step().is_some()).unwrap();
    world.treat(call, Treatment::Refuse);
    world.treat(first, Treatment::Apply);
    assert!(notice(&world).is_some(), "the second parking is reported as well");
}
