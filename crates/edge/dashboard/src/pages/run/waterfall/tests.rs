//! Layouts of runs of many shapes.

use serde_json::{Value, json};

use super::*;

const START: i64 = 1_800_000_000_000;

fn time(ms: i64) -> String {
    api_types::Time(Timestamp(START + ms)).to_string()
}

fn started(ms: i64, step: &str, work: &str, attempt: u32) -> Value {
    json!({ "at": time(ms), "what": "started", "step": step, "work": work, "attempt": attempt })
}

fn ended(ms: i64, step: &str, work: &str, attempt: u32, outcome: &str) -> Value {
    json!({ "at": time(ms), "what": "ended", "step": step, "work": work, "attempt": attempt, "outcome": outcome })
}

fn retried(ms: i64, step: &str, attempt: u32, retry_at: i64) -> Value {
    let mut ended = ended(ms, step, "do", attempt, "transient");
    ended["retry_at"] = time(retry_at).into();
    ended
}

fn of_run(ms: i64, what: &str) -> Value {
    json!({ "at": time(ms), "what": what })
}

fn run(status: &str, steps: &[&str], timeline: Vec<Value>) -> RunDetail {
    let steps: Vec<Value> =
        steps.iter().map(|name| json!({ "name": name, "state": "waiting", "attempts": 0 })).collect();
    let mut all = vec![of_run(0, "accepted")];
    all.extend(timeline);
    let run = json!({ "id": "r", "workflow": "w", "version": 1, "status": status, "key": "r",
        "accepted_at": time(0), "partition": 0, "steps": steps, "timeline": all });
    serde_json::from_str(&run.to_string()).unwrap()
}

/// The layout as text: each row's bars as `lane x+width outcome`, then the ticks.
fn drawn(run: &RunDetail, now_ms: i64) -> String {
    let laid = layout(run, Timestamp(START + now_ms));
    let bar = |bar: &Bar| {
        let count = if bar.attempts.len() > 1 { format!("×{}", bar.attempts.len()) } else { String::new() };
        format!("{} {:.0}+{:.1} {}{count}", bar.lane.word(), bar.x, bar.width, bar.end.word())
    };
    let row = |row: &StepRow| {
        let gaps = row.gaps.iter().map(|gap| format!("wait {:.0}+{:.0}", gap.x, gap.width));
        format!("{}: {}", row.step, row.bars.iter().map(bar).chain(gaps).collect::<Vec<_>>().join(", "))
    };
    let mut lines: Vec<String> = laid.rows.iter().map(row).collect();
    lines.extend(laid.marks.iter().map(|mark| format!("{} at {:.0}", mark.what, mark.x)));
    lines.push(laid.ticks.iter().map(|tick| tick.label.as_str()).collect::<Vec<_>>().join(" "));
    lines.join("\n")
}

#[test]
fn retries_stand_apart_with_their_waits_between_them() {
    let timeline = vec![
        started(0, "a", "do", 1),
        retried(100, "a", 1, 500),
        started(500, "a", "do", 2),
        ended(600, "a", "do", 2, "done"),
        started(600, "b", "do", 1),
        ended(1000, "b", "do", 1, "done"),
        of_run(1000, "completed"),
    ];
    let expected = "a: do 0+10.0 transient, do 50+10.0 done, wait 10+40\n\
                    b: do 60+40.0 done\n\
                    0 200 ms 400 ms 600 ms 800 ms 1 s";
    assert_eq!(drawn(&run("completed", &["a", "b"], timeline), 9_999_999), expected);
}

#[test]
fn an_undo_has_a_lane_of_its_own_and_events_of_the_run_are_marked() {
    let timeline = vec![
        started(0, "a", "do", 1),
        ended(20, "a", "do", 1, "done"),
        started(20, "b", "do", 1),
        ended(40, "b", "do", 1, "refused"),
        of_run(40, "undoing"),
        started(40, "a", "undo", 1),
        ended(60, "a", "undo", 1, "refused"),
        of_run(60, "parked"),
        of_run(80, "decided"),
        started(80, "a", "undo_instead", 1),
        ended(100, "a", "undo_instead", 1, "done"),
        of_run(100, "undone"),
    ];
    let expected = "a: do 0+20.0 done, undo 40+20.0 refused, undo 80+20.0 done\n\
                    b: do 20+20.0 refused\n\
                    c: \n\
                    undoing at 40\nparked at 60\ndecided at 80\n\
                    0 20 ms 40 ms 60 ms 80 ms 100 ms";
    assert_eq!(drawn(&run("undone", &["a", "b", "c"], timeline), 500), expected);
}

#[test]
fn a_running_attempt_reaches_until_now_and_the_axis_stands_still_between_two_ticks() {
    let timeline = || vec![started(0, "a", "do", 1)];
    let run = run("running", &["a", "b"], timeline());
    assert_eq!(drawn(&run, 2_100), "a: do 0+84.0 running\nb: \n0 500 ms 1 s 1.5 s 2 s 2.5 s");
    assert_eq!(drawn(&run, 2_200), "a: do 0+88.0 running\nb: \n0 500 ms 1 s 1.5 s 2 s 2.5 s");
}

#[test]
fn a_planned_attempt_is_on_the_axis() {
    let mut run = run("running", &["a"], vec![started(0, "a", "do", 1), retried(1_000, "a", 1, 9_000)]);
    run.steps[0].next_attempt_at = Some(api_types::Time(Timestamp(START + 9_000)));
    assert_eq!(drawn(&run, 3_000), "a: do 0+10.0 transient, wait 10+80\n0 2 s 4 s 6 s 8 s 10 s");
}

#[test]
fn a_parked_run_stands_still_however_long_it_waits() {
    let timeline = vec![started(0, "a", "do", 1), ended(50, "a", "do", 1, "refused"), of_run(50, "parked")];
    let run = run("parked", &["a"], timeline);
    assert_eq!(
        drawn(&run, 9_999_999),
        "a: do 0+100.0 refused\nparked at 100\n0 10 ms 20 ms 30 ms 40 ms 50 ms"
    );
}

#[test]
fn a_run_of_a_millisecond_is_seen() {
    let timeline = vec![
        started(0, "a", "do", 1),
        ended(0, "a", "do", 1, "done"),
        started(1, "b", "do", 1),
        ended(1, "b", "do", 1, "done"),
        of_run(1, "completed"),
    ];
    let expected = "a: do 0+0.8 done\nb: do 99+0.8 done\n0 1 ms";
    assert_eq!(drawn(&run("completed", &["a", "b"], timeline), 1), expected);
}

#[test]
fn a_run_of_three_days_shows_its_crowded_attempts_as_one_and_the_others_apart() {
    const HOUR: i64 = 3_600_000;
    let mut timeline = Vec::new();
    // Five attempts within a minute, then one every twelve hours.
    let starts = [0, 1_000, 3_000, 10_000, 50_000, 12 * HOUR, 24 * HOUR, 36 * HOUR, 48 * HOUR, 60 * HOUR];
    for (n, at) in starts.iter().enumerate() {
        let next = starts.get(n + 1).copied().unwrap_or(72 * HOUR);
        timeline.push(started(*at, "a", "do", n as u32 + 1));
        timeline.push(retried(at + 20, "a", n as u32 + 1, next));
    }
    timeline.push(started(72 * HOUR, "a", "do", 11));
    timeline.push(ended(72 * HOUR + 30, "a", "do", 11, "done"));
    let laid = drawn(&run("completed", &["a"], timeline), 0);
    let bars = laid.lines().next().unwrap();
    assert!(bars.starts_with("a: do 0+0.8 transient×5, do 17+0.8 transient, do 33+0.8 transient"), "{bars}");
    assert_eq!(laid.lines().last(), Some("0 12 h 1 d 36 h 2 d 60 h 3 d"));
}

#[test]
fn whatever_the_length_there_are_few_ticks_and_they_are_in_order() {
    let mut length = 1;
    while length < 400 * DAY {
        let run = run("completed", &["a"], vec![of_run(length, "completed")]);
        let ticks = layout(&run, Timestamp(0)).ticks;
        assert!((2..=8).contains(&ticks.len()), "{length}: {ticks:?}");
        assert!(ticks.windows(2).all(|pair| pair[0].x < pair[1].x), "{length}: {ticks:?}");
        length = length * 3 / 2 + 1;
    }
}
