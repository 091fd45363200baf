//! Bulk operations as pages show them, and forms as requests.

use serde_json::json;

use super::*;

const HOSTILE: &str = "<script>x</script>\"'";
const AT: &str = "2026-03-01T12:00:00.000Z";

fn bulk(more: serde_json::Value) -> BulkView {
    let mut bulk = json!({ "id": "b-1", "state": "running", "action": "retry", "select": { "status": "parked" },
        "matched": { "count": 200 }, "done": 50, "skipped": { "count": 20 }, "failed": { "count": 30 }, "rate": 50,
        "by": "ann", "started_at": AT });
    for (name, value) in more.as_object().unwrap() {
        bulk[name] = value.clone();
    }
    serde_json::from_value(bulk).unwrap()
}

fn draft(fields: &[(&str, &str)], ids: &[&str]) -> BulkForm {
    let value =
        |name: &str| fields.iter().find(|(field, _)| *field == name).map(|(_, value)| (*value).to_owned());
    BulkForm::of(value, ids.iter().map(|id| (*id).to_owned()).collect())
}

#[test]
fn foreign_text_stays_text() {
    let failure = json!({ "id": HOSTILE, "code": HOSTILE, "problem": HOSTILE });
    let bulk = bulk(
        json!({ "id": HOSTILE, "note": HOSTILE, "by": HOSTILE, "waiting": HOSTILE, "step": HOSTILE,
        "select": { "workflow": HOSTILE, "key": HOSTILE, "reason": HOSTILE },
        "skipped": { "count": 1, "reasons": { HOSTILE: 1 } }, "failed": { "count": 1, "sample": [failure] } }),
    );
    let preview = json!({ "matched": { "count": 1 }, "sample": [{ "id": HOSTILE, "workflow": HOSTILE,
        "reason": HOSTILE, "then": HOSTILE }] });
    let preview = serde_json::from_value(preview).unwrap();
    let draft = draft(&[("workflow", HOSTILE), ("note", HOSTILE), ("action", HOSTILE)], &[HOSTILE]);
    let shown =
        [table(std::slice::from_ref(&bulk)), one(&bulk).content(), previewed(&draft, &preview), draft.form()];
    for shown in shown.map(|shown| shown.into_string()) {
        assert!(!shown.contains("<script>") && !shown.contains("\"'"), "{shown}");
    }
}

#[test]
fn progress_counts_what_it_is_through_with() {
    let shown = progress(&bulk(json!({}))).into_string();
    assert!(shown.contains(r#"aria-valuenow="50""#) && shown.contains("100 of 200 (50 %)"), "{shown}");
    // Runs that arrived during counting do not push the progress over 100 %.
    let more = progress(&bulk(json!({ "matched": { "count": 10 } }))).into_string();
    assert!(more.contains("100 of 100 (100 %)"), "{more}");
    let none = progress(&bulk(
        json!({ "done": 0, "skipped": { "count": 0 }, "failed": { "count": 0 }, "matched": null }),
    ));
    assert!(none.into_string().contains("(0 %)"));
}

#[test]
fn a_form_becomes_a_request_and_what_is_wrong_is_named() {
    let asked = draft(&[("status", "parked"), ("workflow", "w"), ("rate", "5"), ("from", AT)], &[]);
    let request = serde_json::to_value(asked.request(true).unwrap()).unwrap();
    let expected = json!({ "select": { "workflow": "w", "status": "parked", "from": AT }, "action": "retry", "rate": 5, "dry_run": true });
    assert_eq!(request, expected);
    let named = draft(&[("action", "rerun"), ("status", "parked")], &["a", "b"]).request(false).unwrap();
    assert_eq!((named.ids.len(), named.select), (2, None));
    let wrong = |fields: &[(&str, &str)]| match draft(fields, &[]).request(false) {
        Err(PageError::Form(why)) => why.split(':').next().unwrap().to_owned(),
        _ => panic!("taken: {fields:?}"),
    };
    assert_eq!(wrong(&[("rate", "fast")]), "rate");
    assert_eq!(wrong(&[("status", "lost")]), "status");
    assert_eq!(wrong(&[("from", "noon")]), "from");
    assert_eq!(wrong(&[("action", "shrug")]), "action");
    assert_eq!(wrong(&[("action", "resolve"), ("decision", "give_up")]), "note");
}

#[test]
fn the_likeliest_action_follows_from_the_status() {
    let chosen = |status: &str| draft(&[("status", status)], &[]).action_text();
    assert_eq!(["parked", "running", "undone", ""].map(chosen), ["Retry", "Cancel", "Rerun", "Retry"]);
}

#[test]
fn a_status_stays_chosen_whatever_it_is() {
    let statuses = types::RunStatus::ALL.map(types::RunStatus::as_str);
    for status in statuses.into_iter().chain(["lost", ""]) {
        let shown = draft(&[("status", status)], &[]).form().into_string();
        let select =
            shown.split("<select id=\"status\"").nth(1).and_then(|rest| rest.split("</select>").next());
        let select = select.expect("there is a dropdown");
        assert!(select.contains(&format!("<option value=\"{status}\" selected>")), "{select}");
        assert_eq!(select.matches(" selected>").count(), 1, "{select}");
    }
}
