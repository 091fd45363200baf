//! The request for a bulk, checked: nothing is begun that could not go on.

use api_types::{BulkAction, BulkRequest, BulkSelect, BulkState, BulkView, DecisionKind, Time};
use types::{Key, RunId, RunStatus, Timestamp, WorkflowName};

use super::{Bulk, NextPage};
use crate::BulkError;
use crate::limits::{
    BULK_IDS_MAX, BULK_NOTE_BYTES_MAX, BULK_RATE_DEFAULT, BULK_RATE_MAX, BULK_TEXT_CHARS_MAX,
};

/// A bulk that can begin, or be previewed.
#[derive(Debug)]
pub struct BulkOrder {
    pub(crate) bulk: Bulk,
    pub(crate) ids: Vec<String>,
    pub(crate) dry_run: bool,
}

impl BulkOrder {
    /// Reads a request that was made at this time.
    pub fn read(bytes: &[u8], by: &str, now: Timestamp) -> Result<BulkOrder, BulkError> {
        let asked: BulkRequest =
            serde_json::from_slice(bytes).map_err(|error| bad(format!("the bulk: {error}")))?;
        let BulkRequest { select, ids, action, decision, step, note, rate, dry_run } = asked;
        check_decision(action, decision, step.as_deref())?;
        check_length("step", step.as_deref())?;
        if decision.is_some_and(DecisionKind::needs_note) && note.trim().is_empty() && !dry_run {
            return Err(bad("note: say why; it is kept in the runs' timelines".to_owned()));
        }
        if note.len() > BULK_NOTE_BYTES_MAX {
            return Err(bad(format!("note: {} bytes are more than {BULK_NOTE_BYTES_MAX}", note.len())));
        }
        let rate = rate.unwrap_or(BULK_RATE_DEFAULT);
        if !(1..=BULK_RATE_MAX).contains(&rate) {
            return Err(bad(format!("rate: {rate} is not 1 to {BULK_RATE_MAX} runs per second")));
        }
        let select = match (select, ids.is_empty()) {
            (Some(select), true) => Some(narrowed(select, action, now)?),
            (None, false) => None,
            (Some(_), false) => return Err(bad("ids: give either select or ids, not both".to_owned())),
            (None, true) => {
                return Err(bad("select: say which runs are meant, by select or by ids".to_owned()));
            }
        };
        let ids = checked_ids(ids)?;
        let view = BulkView {
            id: host::new_run_id().to_string(),
            state: BulkState::Running,
            action,
            decision,
            step,
            select,
            matched: None,
            done: 0,
            skipped: Default::default(),
            failed: Default::default(),
            rate,
            waiting: None,
            by: by.to_owned(),
            note,
            started_at: Time(now),
            ended_at: None,
        };
        let next = if ids.is_empty() { NextPage::First } else { NextPage::Taken(0) };
        Ok(BulkOrder { bulk: Bulk { view, next, page: Vec::new() }, ids, dry_run })
    }
}

fn bad(text: String) -> BulkError {
    BulkError::Invalid(text)
}

fn check_decision(
    action: BulkAction,
    decision: Option<DecisionKind>,
    step: Option<&str>,
) -> Result<(), BulkError> {
    use DecisionKind::{ByHand, GiveUp, Skip};
    let text = match (action, decision, step) {
        (BulkAction::Resolve, None, _) => "decision: say skip, by_hand or give_up",
        (BulkAction::Resolve, Some(Skip | ByHand), None) => "step: say which step is decided on",
        (BulkAction::Resolve, Some(GiveUp), Some(_)) => "step: a run is given up as a whole; omit it",
        (BulkAction::Resolve, Some(Skip | ByHand | GiveUp), _) => return Ok(()),
        (BulkAction::Resolve, Some(_), _) => {
            "decision: only skip, by_hand and give_up are for many runs at once; for another try there is the action retry"
        }
        (_, Some(_), _) => "decision: only for the action resolve",
        (_, None, Some(_)) => "step: only for the action resolve",
        (_, None, None) => return Ok(()),
    };
    Err(bad(text.to_owned()))
}

fn check_length(field: &str, text: Option<&str>) -> Result<(), BulkError> {
    match text.map(|text| text.chars().count()) {
        Some(count) if count > BULK_TEXT_CHARS_MAX => {
            Err(bad(format!("{field}: {count} characters are more than {BULK_TEXT_CHARS_MAX}")))
        }
        _ => Ok(()),
    }
}

/// The selection with its end: what comes later is not meant, or it would never be through.
fn narrowed(select: BulkSelect, action: BulkAction, now: Timestamp) -> Result<BulkSelect, BulkError> {
    let status = match (action, select.status) {
        (BulkAction::Retry | BulkAction::Resolve, None | Some(RunStatus::Parked)) => Some(RunStatus::Parked),
        (BulkAction::Retry | BulkAction::Resolve, Some(other)) => {
            return Err(bad(format!(
                "select.status: {} is not parked, and nothing else waits for a decision",
                other.as_str()
            )));
        }
        (BulkAction::Cancel, status @ (None | Some(RunStatus::Queued | RunStatus::Running))) => status,
        (BulkAction::Cancel, Some(other)) => {
            let text = format!(
                "select.status: only queued and running runs can be cancelled, not {}",
                other.as_str()
            );
            return Err(bad(text));
        }
        (BulkAction::Rerun, Some(status)) if status.is_final() => Some(status),
        (BulkAction::Rerun, _) => {
            return Err(bad(
                "select.status: say which ended runs are run again: undone, given_up or completed".to_owned(),
            ));
        }
    };
    let to = select.to.map_or(now, |to| to.0.min(now));
    let select = BulkSelect { status, to: Some(Time(to)), ..select };
    check_names(&select)?;
    if select.reason.as_deref() == Some("") {
        return Err(bad("select.reason: empty; omit it".to_owned()));
    }
    check_length("select.reason", select.reason.as_deref())?;
    Ok(select)
}

fn check_names(select: &BulkSelect) -> Result<(), BulkError> {
    let workflow = select.workflow.as_deref().map(WorkflowName::new).transpose();
    workflow.map_err(|error| bad(format!("select.workflow: {error}")))?;
    let key = select.key.clone().map(Key::try_from).transpose();
    key.map_err(|error| bad(format!("select.key: {error}")))?;
    Ok(())
}

fn checked_ids(mut ids: Vec<String>) -> Result<Vec<String>, BulkError> {
    if ids.len() > BULK_IDS_MAX {
        return Err(bad(format!("ids: {} are more than {BULK_IDS_MAX}; select them instead", ids.len())));
    }
    for (number, id) in ids.iter().enumerate() {
        RunId::new(id).map_err(|error| bad(format!("ids[{number}]: {error}")))?;
    }
    let mut seen = std::collections::BTreeSet::new();
    ids.retain(|id| seen.insert(id.clone()));
    Ok(ids)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp(1_000_000);

    fn read(text: &str) -> Result<BulkOrder, String> {
        BulkOrder::read(text.as_bytes(), "ada", NOW).map_err(|error| error.to_string())
    }

    #[test]
    fn what_is_wrong_is_named_by_its_field() {
        for (text, begins) in [
            (r#"{"action":"retry"}"#, "select: say which"),
            (r#"{"action":"retry","select":{},"ids":["a"]}"#, "ids: give either"),
            (r#"{"action":"shrug","select":{}}"#, "the bulk: unknown variant `shrug`"),
            (r#"{"action":"retry","select":{"colour":"red"}}"#, "the bulk: unknown field `colour`"),
            (
                r#"{"action":"retry","select":{"status":"completed"}}"#,
                "select.status: completed is not parked",
            ),
            (r#"{"action":"cancel","select":{"status":"parked"}}"#, "select.status: only queued and running"),
            (r#"{"action":"rerun","select":{}}"#, "select.status: say which ended runs"),
            (r#"{"action":"rerun","select":{"status":"parked"}}"#, "select.status: say which ended runs"),
            (r#"{"action":"retry","select":{"workflow":"a b"}}"#, "select.workflow: "),
            (r#"{"action":"retry","select":{"reason":""}}"#, "select.reason: "),
            (r#"{"action":"retry","ids":["a b"]}"#, "ids[0]: "),
            (r#"{"action":"retry","select":{},"rate":0}"#, "rate: 0 is not"),
            (r#"{"action":"retry","select":{},"rate":1001}"#, "rate: 1001 is not"),
            (r#"{"action":"resolve","select":{}}"#, "decision: say skip"),
            (r#"{"action":"resolve","select":{},"decision":"skip"}"#, "step: say which"),
            (r#"{"action":"resolve","select":{},"decision":"instead","step":"a"}"#, "decision: only skip"),
            (r#"{"action":"resolve","select":{},"decision":"skip","step":"a"}"#, "note: say why"),
            (r#"{"action":"resolve","select":{},"decision":"give_up","note":" "}"#, "note: say why"),
            (r#"{"action":"retry","select":{},"step":"a"}"#, "step: only for"),
            (r#"{"action":"cancel","select":{},"decision":"skip"}"#, "decision: only for"),
        ] {
            let error = read(text).expect_err(text);
            assert!(error.starts_with(begins), "{text}: {error}");
        }
        let long = format!(r#"{{"action":"retry","select":{{}},"note":"{}"}}"#, "x".repeat(1001));
        assert!(read(&long).unwrap_err().starts_with("note: "));
        let long = "ü".repeat(257);
        let reason = format!(r#"{{"action":"retry","select":{{"reason":"{long}"}}}}"#);
        assert!(read(&reason).unwrap_err().starts_with("select.reason: 257 characters are more than 256"));
        let step =
            format!(r#"{{"action":"resolve","decision":"skip","select":{{}},"step":"{long}","note":"x"}}"#);
        assert!(read(&step).unwrap_err().starts_with("step: 257 characters are more than 256"));
        let many: Vec<_> = (0..1001).map(|n| format!("\"r-{n}\"")).collect();
        let many = format!(r#"{{"action":"retry","ids":[{}]}}"#, many.join(","));
        assert!(read(&many).unwrap_err().starts_with("ids: 1001 are more"));
    }

    #[test]
    fn what_is_broken_off_says_why_in_few_bytes() {
        let mut bulk = read(r#"{"action":"retry","select":{"reason":"r"}}"#).unwrap().bulk;
        bulk.view.select.as_mut().unwrap().reason = Some("r".repeat(300_000));
        (bulk.page, bulk.next) = (vec!["a".to_owned()], NextPage::Cursor("c".to_owned()));
        bulk.break_off("too_large", "it is", NOW);
        assert_eq!((bulk.view.state, bulk.view.ended_at), (BulkState::Stopped, Some(Time(NOW))));
        assert_eq!((bulk.view.failed.sample[0].code.as_str(), &bulk.next), ("too_large", &NextPage::End));
        assert!(bulk.page.is_empty() && bulk.text().len() < 2000);
    }

    #[test]
    fn a_selection_ends_at_the_start_and_ids_are_taken_once() {
        let order = read(r#"{"action":"retry","select":{"to":"2999-01-01T00:00:00Z"}}"#).unwrap();
        let select = order.bulk.view.select.unwrap();
        assert_eq!((select.to, select.status), (Some(Time(NOW)), Some(RunStatus::Parked)));
        let order = read(r#"{"action":"retry","ids":["a","b","a"]}"#).unwrap();
        assert_eq!(
            (order.ids, order.bulk.view.rate),
            (vec!["a".to_owned(), "b".to_owned()], BULK_RATE_DEFAULT)
        );
    }
}
