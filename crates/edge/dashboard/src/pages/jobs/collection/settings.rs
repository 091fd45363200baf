//! The plan and quota of a collection: the form, and saving it without overwriting a concurrent change.

use api_types::Problem;
use http::Method;
use http::header::IF_MATCH;
use maud::{Markup, html};
use serde_json::{Value, json};

use super::{CollectionDocument, PLANS, collection_api};
use crate::components;
use crate::components::controls::{Controls, FieldValues};
use crate::context::PageContext;
use crate::error::PageError;

const FREQUENCIES: [(&str, &str); 6] = [
    ("second", "seconds"),
    ("minute", "minutes"),
    ("hour", "hours"),
    ("day", "days"),
    ("week", "weeks"),
    ("month", "months"),
];

const JOBS_HINT: &str = "At most the plan's limit, which is the default.";
const PERIOD_HINT: &str = "At least the plan's minimum, which is the default.";

/// The form values for a collection.
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

/// The form; `version` is the version of the collection that it shows.
pub(super) fn form(action: &str, texts: FieldValues, version: &str, problem: Option<&Problem>) -> Markup {
    let controls = Controls::new(texts);
    let controls = &match problem {
        Some(problem) => controls.with_errors(problem, &control),
        None => controls,
    };
    html! {
        @if let Some(problem) = problem { (components::problem(problem)) }
        form.card.wide method="post" action=(action) {
            input type="hidden" name="version" value=(version);
            (controls.choice("plan", "Plan", "Limits the number of jobs and how often they may fire.", &PLANS))
            (controls.line("jobs_max", "Max. jobs", JOBS_HINT))
            div.columns {
                (controls.line("period", "Min. interval", PERIOD_HINT))
                (controls.choice("frequency", "Of", "", &FREQUENCIES))
            }
            div.actions { button.primary type="submit" { "Save settings" } }
        }
    }
}

/// The control for a field of the document, or of the form itself.
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

/// Saves the settings; returns the form with errors if that fails.
pub(super) async fn write(ctx: &PageContext, name: &str) -> Result<Result<(), Markup>, PageError> {
    let filled: FieldValues = ctx.all_fields().into_iter().collect();
    let seen = ctx.field("version").unwrap_or_default();
    let (present, version): (CollectionDocument, String) = ctx.versioned(&collection_api(name)).await?;
    let written = if version == seen {
        let only_if = [(IF_MATCH, version.clone())];
        match change(&filled, present.properties.get("quota").is_some()) {
            Ok(change) => ctx.send_with(Method::PATCH, &collection_api(name), &change, &only_if).await,
            Err(error) => Err(error),
        }
    } else {
        Err(PageError::Problem(Box::new(overtaken(&present))))
    };
    match written {
        Ok(_) => Ok(Ok(())),
        Err(error @ (PageError::Form(_) | PageError::Problem(_))) => {
            Ok(Err(form(&ctx.place(), filled, &version, Some(&error.problem()))))
        }
        Err(error) => Err(error),
    }
}

fn overtaken(present: &CollectionDocument) -> Problem {
    let theirs = texts(present);
    let text =
        |name: &str| theirs.get(name).filter(|text| !text.is_empty()).map_or("the plan's", String::as_str);
    let detail = format!(
        "The current plan is {}, max. jobs {}, min. interval {}. Saving again overwrites these settings.",
        text("plan"),
        text("jobs_max"),
        theirs
            .get("period")
            .filter(|period| !period.is_empty())
            .map_or_else(|| "the plan's".to_owned(), |period| format!("{period} {}", text("frequency")),),
    );
    let title = "Changed by someone else".to_owned();
    Problem { title, ..PageError::Form(detail).problem() }
}

/// The patch. Members of an existing quota that the form has no field for are kept.
fn change(filled: &FieldValues, has_quota: bool) -> Result<Value, PageError> {
    let text = |name: &str| filled.get(name).map_or("", |text| text.trim());
    let number = |name: &str| match text(name) {
        "" => Ok(None),
        text => match text.parse::<u32>() {
            Ok(number) => Ok(Some(number)),
            Err(_) => Err(PageError::Form(format!("{name}: must be a number or empty"))),
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
    use crate::pages::fake_api::{self, now, refused};

    const FILLED: [(&str, &str); 5] =
        [("version", "\"3\""), ("plan", "Free"), ("jobs_max", "4"), ("period", ""), ("frequency", "hour")];

    fn collection(version: u32, properties: &Value) -> Value {
        json!({ "collection": "ops", "jobs": 0, "version": version, "properties": properties })
    }

    #[test]
    fn what_is_saved_is_a_change_under_the_version_that_was_seen() {
        let stored =
            json!({ "state": "Enabled", "sku": { "name": "Sortie" }, "quota": { "maxJobOccurrence": 7 } });
        let (ctx, sent) =
            fake_api::context("/ui/jobs/ops/settings", &FILLED, move |_| (200, collection(3, &stored)));
        assert!(now(write(&ctx, "ops")).expect("nothing goes wrong").is_ok());
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
            let (ctx, _) = fake_api::context("/ui/jobs/ops/settings", fields, move |(method, _, _)| {
                match method.as_str() {
                    "GET" => (200, collection(version, &stored)),
                    _ => refused(422, "properties.quota.maxJobCount: 4 jobs are too many"),
                }
            });
            let written = now(write(&ctx, "ops")).expect("the form is shown");
            written.expect_err("it cannot be saved").into_string()
        };
        let refused = shown(&FILLED, 3);
        assert!(refused.contains("4 jobs are too many") && refused.contains("value=\"4\""), "{refused}");
        let overtaken = shown(&FILLED, 4);
        assert!(
            overtaken.contains("Changed by someone else") && overtaken.contains("plan is Standard"),
            "{overtaken}"
        );
        assert!(
            overtaken.contains("value=\"&quot;4&quot;\""),
            "the next save uses the new version: {overtaken}"
        );
        let wrong = shown(&[("version", "\"3\""), ("plan", "Free"), ("period", "soon")], 3);
        assert!(wrong.contains("must be a number") && wrong.contains("value=\"soon\""), "{wrong}");
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
