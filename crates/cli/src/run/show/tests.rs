//! Runs as `sortie run show` prints them.

use expect_test::{Expect, expect};
use types::Timestamp;

use crate::screen::Screen;

const UNDONE: &str = r#"{
  "id": "delivery-7", "workflow": "drone-delivery", "version": 3, "status": "undone", "key": "delivery-7",
  "accepted_at": "2026-03-01T12:00:00.000Z", "ended_at": "2026-03-01T12:00:01.720Z",
  "reason": "step drone was refused: 409 no drone is free", "partition": 18,
  "request": { "deliveryId": "delivery-7", "ownerId": "myowner", "confirmationRequired": "a \"b c\\" },
  "steps": [
    { "name": "account", "state": "done", "by": "call", "attempts": 1, "output": true },
    { "name": "package", "state": "undone", "by": "call", "attempts": 3 },
    { "name": "drone", "state": "undone", "by": "call", "attempts": 2, "reason": "409 no drone is free" },
    { "name": "delivery", "state": "waiting", "attempts": 0 }
  ],
  "timeline": [
    { "at": "2026-03-01T12:00:00.000Z", "what": "accepted" },
    { "at": "2026-03-01T12:00:00.002Z", "what": "begun" },
    { "at": "2026-03-01T12:00:00.002Z", "what": "started", "step": "account", "work": "do", "attempt": 1 },
    { "at": "2026-03-01T12:00:00.002Z", "what": "started", "step": "package", "work": "do", "attempt": 1 },
    { "at": "2026-03-01T12:00:00.008Z", "what": "ended", "step": "package", "work": "do", "attempt": 1,
      "outcome": "transient", "status": 503, "detail": "try later", "retry_at": "2026-03-01T12:00:00.508Z" },
    { "at": "2026-03-01T12:00:00.009Z", "what": "ended", "step": "account", "work": "do", "attempt": 1,
      "outcome": "done", "status": 200 },
    { "at": "2026-03-01T12:00:00.509Z", "what": "started", "step": "package", "work": "do", "attempt": 2 },
    { "at": "2026-03-01T12:00:00.516Z", "what": "ended", "step": "package", "work": "do", "attempt": 2,
      "outcome": "done", "status": 201 },
    { "at": "2026-03-01T12:00:00.517Z", "what": "started", "step": "drone", "work": "do", "attempt": 1 },
    { "at": "2026-03-01T12:00:01.700Z", "what": "ended", "step": "drone", "work": "do", "attempt": 1,
      "outcome": "refused", "status": 409, "detail": "no drone is free" },
    { "at": "2026-03-01T12:00:01.700Z", "what": "undoing", "detail": "step drone was refused: 409 no drone is free" },
    { "at": "2026-03-01T12:00:01.701Z", "what": "started", "step": "drone", "work": "undo", "attempt": 1 },
    { "at": "2026-03-01T12:00:01.709Z", "what": "ended", "step": "drone", "work": "undo", "attempt": 1,
      "outcome": "done", "status": 204 },
    { "at": "2026-03-01T12:00:01.710Z", "what": "started", "step": "package", "work": "undo", "attempt": 1 },
    { "at": "2026-03-01T12:00:01.719Z", "what": "ended", "step": "package", "work": "undo", "attempt": 1,
      "outcome": "done", "status": 204 },
    { "at": "2026-03-01T12:00:01.720Z", "what": "undone" }
  ]
}"#;

const PARKED: &str = r#"{
  "id": "reschedule-1", "workflow": "drone-reschedule", "version": 1, "status": "parked", "key": "delivery-7",
  "accepted_at": "2026-03-01T11:00:00.000Z",
  "reason": "undo of change failed: 500 disk \u001b[31mfull", "partition": 2,
  "steps": [
    { "name": "read", "state": "done", "by": "call", "attempts": 1, "output": { "pickup": "here" } },
    { "name": "change", "state": "undo_failed", "attempts": 4, "reason": "500 disk full" }
  ],
  "open_steps": ["change"],
  "timeline": [
    { "at": "2026-03-01T11:00:00.000Z", "what": "accepted" },
    { "at": "2026-03-01T11:00:30.000Z", "what": "cancel_asked", "by": "token ops" },
    { "at": "2026-03-01T11:30:00.000Z", "what": "parked", "detail": "undo of change failed: 500 disk full" },
    { "at": "2026-03-01T11:40:00.000Z", "what": "decided", "detail": "retry", "by": "token ops", "note": "disk was cleared" },
    { "at": "2026-03-01T11:40:00.000Z", "what": "started", "step": "change", "work": "undo", "attempt": 1 }
  ]
}"#;

const RETRYING: &str = r#"{
  "id": "delivery-8", "workflow": "drone-delivery", "version": 3, "status": "running", "key": "delivery-8",
  "accepted_at": "2026-03-01T11:59:50.000Z", "partition": 4,
  "steps": [
    { "name": "account", "state": "done", "by": "alternative", "attempts": 6 },
    { "name": "drone", "state": "retrying", "attempts": 2, "reason": "no answer within 5s",
      "next_attempt_at": "2026-03-01T12:00:02.500Z" }
  ],
  "timeline": []
}"#;

fn check(json: &str, width: Option<usize>, expected: Expect) {
    let now = Timestamp(1_772_366_400_000);
    let run = serde_json::from_str(json).unwrap();
    expected.assert_eq(&super::render(&run, now, "sortie", &Screen { colour: false, width }));
}

#[test]
fn an_undone_run_shows_what_failed_and_what_was_undone() {
    check(
        UNDONE,
        Some(80),
        expect![[r#"
            Run delivery-7 is undone
              workflow   drone-delivery, version 3
              accepted   2026-03-01 12:00:00.000 UTC
              ended      2026-03-01 12:00:01.720 UTC, after 1.72s
              partition  18
              why        step drone was refused: 409 no drone is free
              request    {"deliveryId":"delivery-7","ownerId":"myowner","confirmationRequir…

            Steps
              STEP      STATE    ATTEMPTS  WHY                   OUTPUT
              account   done            1                        true
              package   undone          3
              drone     undone          2  409 no drone is free
              delivery  waiting         0

            Timeline
              AFTER  STEP     WHAT      OUTCOME                                        TOOK
                0ms           accepted
                2ms           begun
                2ms  account  call      done 200                                        7ms
                2ms  package  call      transient 503: try later; retry in 500ms        6ms
              509ms  package  call #2   done 201                                        7ms
              517ms  drone    call      refused 409: no drone is free                 1.18s
              1.70s           undoing   step drone was refused: 409 no drone is free
              1.70s  drone    undo      done 204                                        8ms
              1.71s  package  undo      done 204                                        9ms
              1.72s           undone
        "#]],
    );
}

#[test]
fn a_request_in_the_inbox_says_that_it_waits() {
    let json = r#"{"id":"delivery-1","status":"accepted","partition":18}"#;
    let state: super::RunState = serde_json::from_str(json).unwrap();
    assert!(state.is_waiting());
    let expected = expect![[r#"
        Run delivery-1 is accepted
          The request is persisted and waiting in the inbox of partition 18.
    "#]];
    expected.assert_eq(&super::render_waiting(&state, &Screen { colour: false, width: None }));
}

#[test]
fn a_parked_run_shows_the_commands_to_resolve_it() {
    check(
        PARKED,
        Some(80),
        expect![[r#"
            Run reschedule-1 is parked
              workflow   drone-reschedule, version 1
              accepted   2026-03-01 11:00:00.000 UTC, 1h 00m ago
              key        delivery-7
              partition  2
              why        undo of change failed: 500 disk  [31mfull
              waits for  a decision on change

            Steps
              STEP    STATE        ATTEMPTS  WHY            OUTPUT
              read    done                1                 {"pickup":"here"}
              change  undo failed         4  500 disk full

            Timeline
                AFTER  STEP    WHAT          OUTCOME                               TOOK
                  0ms          accepted
               30.00s          cancel asked  by token ops
              30m 00s          parked        undo of change failed: 500 disk full
              40m 00s          decided       retry by token ops: disk was cleared
              40m 00s  change  undo          in progress

            Waiting for a decision. Resolve it with one of
              sortie run retry reschedule-1
                retry what failed
              sortie run resolve reschedule-1 --step change --by-hand --note "…"
                the undo of change was done manually
              sortie run resolve reschedule-1 --step change --skip --note "…"
                skip the undo of change
              sortie run give-up reschedule-1 --note "…"
                end it in its current state
        "#]],
    );
}

#[test]
fn a_running_run_shows_when_it_tries_again() {
    check(
        RETRYING,
        None,
        expect![[r#"
            Run delivery-8 is running
              workflow   drone-delivery, version 3
              accepted   2026-03-01 11:59:50.000 UTC, 10.00s ago
              partition  4

            Steps
              STEP     STATE     BY           ATTEMPTS  WHY
              account  done      alternative         6
              drone    retrying                      2  no answer within 5s; retry in 2.50s
        "#]],
    );
}
