//! The plan and the quota of a collection: a form, and writing it without going over somebody else's change.

use api_types::Problem;
use http::Method;
use http::header::IF_MATCH;
use maud::{Markup, html};
use serde_json::{Value, json};

use super::{CollectionDocument, PLANS, collection_api};
use crate::pieces;
use crate::pieces::controls::{Controls, FieldValues};
use crate::trouble::PageError;
use crate::visit::Visit;

const FREQUENCIES: [(&str, &str); 6] = [
    ("second", "seconds"),
    ("minute", "minutes"),
    ("hour", "hours"),
    ("day", "days"),
    ("week", "weeks"),
    ("month", "months"),
];

const JOBS_HINT: &str = "Not more than the plan has; empty: as many as it has.";
const PERIOD_HINT: &str = "Not more often than the plan has it; empty: as often as it has.";

/// What is filled in for a collection as it stands.
pub(super) fn texts(collection: &CollectionDocument) -> FieldValues {
    let quota = |place: &str| collection.properties.pointer(&format!("/quota/{place}"));
    let number = |place: &str| quota(place).map(Value::to_string).unwrap_or_default();
    let frequency = quota("maxRecurrence/frequency").and_then(Value::as_str).unwrap_or("minute");
    FieldValues::from([
        ("plan".to_owned(), collection.plan().to_owned()),
        ("jobs_max".to_owned(), number("maxJobCount")),
        ("period".to_owned(), number("maxRecurrence/interval")),
        ("frequency".to_owned(), frequency.to_lowercase()),
    ])
}

/// The form; `version` is the one that was seen.
pub(super) fn form(action: &str, texts: FieldValues, version: &str, problem: Option<&Problem>) -> Markup {
    let controls = Controls::new(texts);
    let controls = &match problem {
        Some(problem) => controls.with_errors(problem, &control),
        None => controls,
    };
    html! {
        @if let Some(problem) = problem { (pieces::problem(problem)) }
        form.card.wide method="post" action=(action) {
            input type="hidden" name="version" value=(version);
            (controls.choice("plan", "Plan", "How many jobs it holds, and how often they may recur.", &PLANS))
            (controls.line("jobs_max", "Jobs at most", JOBS_HINT))
            div.columns {
                (controls.line("period", "Shortest period", PERIOD_HINT))
                (controls.choice("frequency", "Of", "", &FREQUENCIES))
            }
            div.actions { button.primary type="submit" { "Save the settings" } }
        }
    }
}

/// The control of a field of the document, or of the form itself.
fn control(field: &str) -> Option<String> {
    let name = match field {
        "plan" | "jobs_max" | "period" => field,
        field if field.starts_with("properties.sku") => "plan",
        "properties.quota.maxJobCount" => "jobs_max",
        field if field.starts_with("properties.quota.maxRecurrence") => "period",
        _ => return None,
    };
    Some(name.to_owned())
}

/// Writes what was filled in; the form again when it cannot be.
pub(super) async fn write(visit: &Visit, name: &str) -> Result<Result<(), Markup>, PageError> {
    let filled: FieldValues = visit.all_fields().into_iter().collect();
    let seen = visit.field("version").unwrap_or_default();
    let (present, version): (CollectionDocument, String) = visit.versioned(&collection_api(name)).await?;
    let written = if version == seen {
        let only_if = [(IF_MATCH, version.clone())];
        match change(&filled, present.properties.get("quota").is_some()) {
            Ok(change) => visit.send_with(Method::PATCH, &collection_api(name), &change, &only_if).await,
            Err(trouble) => Err(trouble),
        }
    } else {
        Err(PageError::Problem(Box::new(overtaken(&present))))
    };
    match written {
        Ok(_) => Ok(Ok(())),
        Err(trouble @ (PageError::Form(_) | PageError::Problem(_))) => {
            Ok(Err(form(&visit.place(), filled, &version, Some(&trouble.problem()))))
        }
        Err(trouble) => Err(trouble),
    }
}

fn overtaken(present: &CollectionDocument) -> Problem {
    let theirs = texts(present);
    let text =
        |name: &str| theirs.get(name).filter(|text| !text.is_empty()).map_or("the plan's", String::as_str);
    let detail = format!(
        "The plan is {} now, jobs at most {}, the shortest period {}. Saving again replaces it by yours.",
        text("plan"),
        text("jobs_max"),
        theirs
            .get("period")
            .filter(|period| !period.is_empty())
            .map_or_else(|| "the plan's".to_owned(), |period| format!("{period} {}", text("frequency")),),
    );
    let title = "Somebody has changed it meanwhile".to_owned();
    Problem { title, ..PageError::Form(detail).problem() }
}

/// The change of the document. Of a quota that is there, what the form has no field for stays.
fn change(filled: &FieldValues, has_quota: bool) -> Result<Value, PageError> {
    let text = |name: &str| filled.get(name).map_or("", |text| text.trim());
    let number = |name: &str| match text(name) {
        "" => Ok(None),
        text => match text.parse::<u32>() {
            Ok(number) => Ok(Some(number)),
            Err(_) => Err(PageError::Form(format!("{name}: write a number, or leave it empty"))),
        },
    };
    let (jobs_max, period) = (number("jobs_max")?, number("period")?);
    let recurrence = period.map(|interval| json!({ "frequency": text("frequency"), "interval": interval }));
    let mut properties = json!({ "sku": { "name": text("plan") } });
    if has_quota || jobs_max.is_some() || recurrence.is_some() {
        properties["quota"] = json!({ "maxJobCount": jobs_max, "maxRecurrence": recurrence });
    }
    Ok(json!({ "properties": properties }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pages::pretend::{self, now, refused};

    const FILLED: [(&str, &str); 5] =
        [("version", "\"3\""), ("plan", "Free"), ("jobs_max", "4"), ("period", ""), ("frequency", "hour")];

    fn collection(version: u32, properties: &Value) -> Value {
        json!({ "collection": "ops", "jobs": 0, "version": version, "properties": properties })
    }

    #[test]
    fn what_is_saved_is_a_change_under_the_version_that_was_seen() {
        let stored =
            json!({ "state": "Enabled", "sku": { "name": "Sortie" }, "quota": { "maxJobOccurrence": 7 } });
        let (visit, sent) =
            pretend::visit("/ui/jobs/ops/settings", &FILLED, move |_| (200, collection(3, &stored)));
        assert!(now(write(&visit, "ops")).expect("nothing goes wrong").is_ok());
        let (method, path, body) = sent.lock().unwrap().pop().expect("it was sent");
        assert_eq!((method.as_str(), path.as_str()), ("PATCH", "/v1/collections/ops"));
        let quota = json!({ "maxJobCount": 4, "maxRecurrence": null });
        assert_eq!(body, json!({ "properties": { "sku": { "name": "Free" }, "quota": quota } }));
    }

    #[test]
    fn what_cannot_be_saved_comes_back_with_what_was_typed() {
        let stored = json!({ "state": "Enabled", "sku": { "name": "Standard" } });
        let shown = |fields: &[(&str, &str)], version: u32| {
            let stored = stored.clone();
            let (visit, _) = pretend::visit("/ui/jobs/ops/settings", fields, move |(method, _, _)| {
                match method.as_str() {
                    "GET" => (200, collection(version, &stored)),
                    _ => refused(422, "properties.quota.maxJobCount: 4 jobs are too many"),
                }
            });
            let written = now(write(&visit, "ops")).expect("the form is shown");
            written.expect_err("it cannot be saved").into_string()
        };
        let refused = shown(&FILLED, 3);
        assert!(refused.contains("4 jobs are too many") && refused.contains("value=\"4\""), "{refused}");
        let overtaken = shown(&FILLED, 4);
        assert!(
            overtaken.contains("Somebody has changed it") && overtaken.contains("is Standard now"),
            "{overtaken}"
        );
        assert!(
            overtaken.contains("value=\"&quot;4&quot;\""),
            "the next save is under the new version: {overtaken}"
        );
        let wrong = shown(&[("version", "\"3\""), ("plan", "Free"), ("period", "soon")], 3);
        assert!(wrong.contains("write a number") && wrong.contains("value=\"soon\""), "{wrong}");
    }

    #[test]
    fn a_collection_is_the_same_after_its_form() {
        let quota = json!({ "maxJobCount": 9, "maxRecurrence": { "frequency": "Hour", "interval": 2 } });
        let properties = json!({ "sku": { "name": "Free" }, "quota": quota });
        let collection: CollectionDocument = serde_json::from_value(collection(1, &properties)).unwrap();
        let change = change(&texts(&collection), true).expect("it can be written");
        let quota = json!({ "maxJobCount": 9, "maxRecurrence": { "frequency": "hour", "interval": 2 } });
        assert_eq!(change["properties"], json!({ "sku": { "name": "Free" }, "quota": quota }));
    }
}
