//! The page of a run: its sentence, its actions, and escaping of untrusted text.

use serde_json::{Value, json};

use super::*;
use crate::pages::fake_api::{self, refused};

const HOSTILE: &str = "<img src=x onerror=alert(1)>\"'&";
const AT: &str = "2026-03-01T12:00:00.000Z";

fn run(more: Value) -> RunDetail {
    let mut run = json!({ "id": "r-1", "workflow": "w", "version": 2, "status": "running", "key": "r-1",
        "accepted_at": AT, "partition": 3, "steps": [], "timeline": [{ "at": AT, "what": "accepted" }] });
    for (name, value) in more.as_object().unwrap() {
        run[name] = value.clone();
    }
    serde_json::from_str(&run.to_string()).unwrap()
}

fn shown(run: &RunDetail) -> String {
    page(run, Timestamp(1_772_366_460_000), None).content().into_string()
}

fn text(markup: &str) -> String {
    let parts = markup.split('<').map(|part| part.split_once('>').map_or(part, |(_, text)| text));
    parts.collect::<String>()
}

// guards: 54
#[test]
fn foreign_text_stays_text_on_the_page_of_a_run() {
    let step = json!({ "name": HOSTILE, "state": HOSTILE, "by": HOSTILE, "attempts": 1, "reason": HOSTILE,
        "output": { HOSTILE: HOSTILE }, "next_attempt_at": AT });
    let moment = json!({ "at": AT, "what": "ended", "step": HOSTILE, "work": HOSTILE, "attempt": 1,
        "outcome": HOSTILE, "status": 500, "detail": HOSTILE, "by": HOSTILE, "note": HOSTILE, "retry_at": AT });
    let mut begun = moment.clone();
    begun["what"] = json!("started");
    let mut decided = moment.clone();
    decided["what"] = json!("decided");
    for status in ["running", "undoing", "parked", "undone", "given_up", "queued"] {
        let run = run(json!({ "id": HOSTILE, "workflow": HOSTILE, "key": HOSTILE, "status": status,
            "reason": HOSTILE, "steps": [step], "open_steps": [HOSTILE], "request": { "a": HOSTILE },
            "timeline": [begun, moment, decided, { "at": AT, "what": HOSTILE }] }));
        let shown = shown(&run);
        assert!(!shown.contains("<img"), "{shown}");
        assert!(!shown.contains("\"'&"), "{shown}");
    }
}

#[test]
fn a_step_that_waits_in_a_run_that_has_ended_has_not_begun() {
    let step = json!({ "name": "drone", "state": "waiting", "attempts": 0 });
    for (status, word) in
        [("running", ">waiting<"), ("undone", ">not started<"), ("given_up", ">not started<")]
    {
        let shown = shown(&run(json!({ "status": status, "steps": [step] })));
        assert!(shown.contains(word), "{status}: {shown}");
    }
}

#[test]
fn the_sentence_says_what_a_run_waits_for() {
    let sentence = |more: Value| text(&why::sentence(&run(more)).into_string());
    let ended = json!({ "at": AT, "what": "ended", "step": "drone", "work": "do", "attempt": 1,
        "outcome": "transient", "status": 503, "detail": "from delivery", "retry_at": AT });
    let retrying = json!({ "name": "drone", "state": "retrying", "attempts": 1, "next_attempt_at": AT });
    let waits = sentence(json!({ "steps": [retrying], "timeline": [ended] }));
    assert_eq!(
        waits.trim(),
        "Step drone is waiting for its next attempt 2026-03-01 12:00:00 (last response: 503 from delivery)."
    );
    let calling = json!({ "name": "drone", "state": "running", "attempts": 2 });
    let waits = sentence(json!({ "steps": [calling] }));
    assert_eq!(waits.trim(), "Waiting for the response to step drone (attempt 2).");
    let parked = sentence(json!({ "status": "parked", "reason": "undo of step a failed: 409" }));
    assert_eq!(parked, "Waiting for a decision: undo of step a failed: 409.");
    let decided = json!({ "at": AT, "what": "decided", "detail": "give_up", "by": "ann", "note": "too old" });
    let given_up = sentence(json!({ "status": "given_up", "reason": "no", "timeline": [decided] }));
    assert_eq!(given_up, "Given up: no. Decided by ann (“too old”).");
}

#[test]
fn what_can_be_done_follows_from_where_the_run_stands() {
    let offers = |more: Value| {
        let shown = shown(&run(more));
        let all = ["/cancel\"", "\"retry\"", "\"retry_from\"", "\"by_hand\"", "\"give_up\""];
        all.iter()
            .filter(|each| shown.contains(**each))
            .map(|each| each.trim_matches(['"', '/']))
            .collect::<Vec<_>>()
            .join(" ")
    };
    assert_eq!(offers(json!({})), "cancel");
    assert_eq!(offers(json!({ "status": "undoing" })), "");
    assert_eq!(offers(json!({ "status": "completed" })), "");
    let step = |state: &str| json!([{ "name": "a", "state": state, "attempts": 1 }]);
    let parked = |state: &str| json!({ "status": "parked", "open_steps": ["a"], "steps": step(state) });
    assert_eq!(offers(parked("failed")), "retry retry_from by_hand give_up");
    assert_eq!(offers(parked("undo_failed")), "retry by_hand give_up");
}

#[test]
fn what_was_typed_for_an_earlier_step_stays_when_it_is_refused() {
    let parked = || {
        run(json!({ "status": "parked", "open_steps": ["c"], "steps": [
            { "name": "a", "state": "done", "attempts": 1 }, { "name": "b", "state": "done", "attempts": 1 },
            { "name": "c", "state": "failed", "attempts": 1 }] }))
    };
    let fields = [("decision", "retry_from"), ("step", "b"), ("note", "stock came")];
    let (ctx, _) =
        fake_api::context("/ui/runs/r-1/decide", &fields, move |(method, _, _)| match method.as_str() {
            "GET" => (200, serde_json::to_value(parked()).unwrap()),
            _ => refused(409, "not now"),
        });
    let Ok(FormOutcome::Invalid(page)) = fake_api::now(act(&ctx, "r-1", "decide")) else {
        panic!("not shown again")
    };
    let html = page.content().into_string();
    assert!(html.contains("not now") && html.contains("<option value=\"b\" selected>"), "{html}");
    assert_eq!(html.matches("value=\"stock came\"").count(), 1, "{html}");
    assert!(
        html.contains(
            "id=\"from-note-r-1\" name=\"note\" required autocomplete=\"off\" value=\"stock came\""
        ),
        "{html}"
    );
}

#[test]
fn an_occurrence_leads_to_its_job_and_a_run_to_its_version() {
    let plain = origin(&run(json!({}))).into_string();
    assert!(plain.contains("/ui/workflows/w?version=2"), "{plain}");
    let of = |collection: &str| {
        let request = json!({ "collection": collection, "job": "nightly" });
        origin(&run(json!({ "workflow": "job", "request": request }))).into_string()
    };
    let native = of("00000000-0000-0000-0000-000000000000/default/c");
    assert!(native.contains("/ui/jobs/c/nightly"), "{native}");
    assert!(of("s/g/c").contains("/ui/jobs/s~g~c/nightly"));
}

#[test]
fn a_long_run_stays_a_small_page() {
    let mut timeline = Vec::new();
    for attempt in 1..=5000 {
        let at = api_types::Time(Timestamp(1_772_366_400_000 + attempt * 60_000)).to_string();
        timeline.push(json!({ "at": at, "what": "started", "step": "a", "work": "do", "attempt": attempt }));
        timeline.push(json!({ "at": at, "what": "ended", "step": "a", "work": "do", "attempt": attempt,
            "outcome": "transient", "status": 503, "detail": "Service Unavailable", "retry_at": at }));
    }
    let step = json!({ "name": "a", "state": "retrying", "attempts": 5000, "next_attempt_at": AT });
    let size = shown(&run(json!({ "steps": [step], "timeline": timeline }))).len();
    assert!(size < 120_000, "{size} bytes");
}
