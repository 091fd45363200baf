//! Writing a job: a form or the document as JSON, with the next firings before anything is saved.

mod change;

use api_types::{FieldError, Problem};
use http::header::{IF_MATCH, IF_NONE_MATCH};
use http::{Method, StatusCode};
use maud::{Markup, html};
use serde_json::{Value, json};

use super::document::{self, document, writable};
use super::{
    CollectionList, Firings, JobAddress, JobDocument, collection, collection_address, form, history,
};
use crate::page::{self, Page};
use crate::pages::FormOutcome;
use crate::pages::workflows::difference;
use crate::pieces;
use crate::pieces::controls::{Controls, FieldValues};
use crate::trouble::PageError;
use crate::visit::Visit;

/// The form as it stands.
struct JobEditor<'a> {
    /// None for a job that is not there yet.
    at: Option<&'a JobAddress>,
    /// Its version when it was shown.
    version: String,
    /// Names of collections, for a new job.
    collections: Vec<String>,
    /// Everything that was typed, the names of a new job among it.
    texts: FieldValues,
    /// The document as JSON, when it is written so.
    json: Option<String>,
    /// Why a job that is there is written as JSON at first.
    note: Option<&'static str>,
    problem: Option<Problem>,
    /// Somebody was faster: how this differs from what they saved.
    overtaken: Option<Markup>,
    firings: Option<Firings>,
}

const FOREIGN: &str = "This job says something that the form has no field for; so its document is shown, and nothing of it is lost.";

pub(super) async fn new_page(visit: &Visit) -> Result<Page, PageError> {
    let collections = collections(visit).await?;
    let chosen = visit.query_value("collection").or_else(|| collections.first().cloned()).unwrap_or_default();
    let usual = [
        ("collection", chosen.as_str()),
        ("kind", "http"),
        ("method", "POST"),
        ("error_method", "POST"),
        ("mode", "every"),
        ("interval", "1"),
        ("frequency", "hour"),
        ("state", "enabled"),
    ];
    let texts = usual.map(|(name, text)| (name.to_owned(), text.to_owned())).into();
    Ok(page(&JobEditor { collections, texts, ..empty(None) }))
}

pub(super) async fn show(visit: &Visit, at: &JobAddress) -> Result<Page, PageError> {
    let (job, version): (JobDocument, String) = visit.versioned(&at.api()).await?;
    let written = writable(&job.properties);
    let texts = document::texts(&written);
    let json = texts.is_none().then(|| pretty(&written));
    let note = texts.is_none().then_some(FOREIGN);
    Ok(page(&JobEditor { version, json, note, texts: texts.unwrap_or_default(), ..empty(Some(at)) }))
}

fn empty(at: Option<&JobAddress>) -> JobEditor<'_> {
    JobEditor {
        at,
        version: String::new(),
        collections: Vec::new(),
        texts: FieldValues::new(),
        json: None,
        note: None,
        problem: None,
        overtaken: None,
        firings: None,
    }
}

async fn collections(visit: &Visit) -> Result<Vec<String>, PageError> {
    let CollectionList { items } = visit.get("/v1/collections").await?;
    Ok(items.into_iter().map(|item| item.collection).collect())
}

pub(super) async fn act(visit: &Visit, at: Option<&JobAddress>) -> Result<FormOutcome, PageError> {
    let json = (visit.field("as").as_deref() == Some("json")).then(|| visit.raw_field("json"));
    let collections = if at.is_none() { collections(visit).await? } else { Vec::new() };
    let texts = visit.all_fields().into_iter().collect();
    let version = visit.field("version").unwrap_or_default();
    let mut writing = JobEditor { version, collections, texts, json, ..empty(at) };
    let written = match read(&writing) {
        Ok(written) => written,
        Err(problem) => return Ok(again(writing, *problem)),
    };
    match visit.field("do").as_deref() {
        Some("to-json") => {
            writing.json = Some(pretty(&written));
            Ok(FormOutcome::Preview(page(&writing)))
        }
        Some("to-fields") => Ok(to_fields(writing, &written)),
        Some("preview") => match preview(visit, &written).await {
            Ok(firings) => {
                writing.firings = Some(firings);
                Ok(FormOutcome::Preview(page(&writing)))
            }
            Err(PageError::Problem(problem)) => Ok(again(writing, *problem)),
            Err(trouble) => Err(trouble),
        },
        _ => match save(visit, &writing, &written).await {
            Ok(to) => Ok(FormOutcome::Done { to, message: "The job is saved.".to_owned() }),
            Err(PageError::Problem(problem)) => match at {
                Some(at) if problem.status == StatusCode::PRECONDITION_FAILED => {
                    overtaken(visit, at, writing, &written).await
                }
                _ => Ok(again(writing, *problem)),
            },
            Err(trouble) => Err(trouble),
        },
    }
}

/// The form again for the version that is there now, with what differs from it; saving then replaces that one.
async fn overtaken(
    visit: &Visit,
    at: &JobAddress,
    mut writing: JobEditor<'_>,
    written: &Value,
) -> Result<FormOutcome, PageError> {
    match visit.versioned::<JobDocument>(&at.api()).await {
        Ok((job, version)) => {
            let shown = |document: &Value| pretty(&change::without_secrets(document));
            writing.version = version;
            writing.overtaken = Some(difference(&shown(&writable(&job.properties)), &shown(written)));
            Ok(FormOutcome::Invalid(page(&writing)))
        }
        Err(PageError::Problem(problem)) => Ok(again(writing, *problem)),
        Err(trouble) => Err(trouble),
    }
}

fn to_fields(mut writing: JobEditor<'_>, written: &Value) -> FormOutcome {
    let Some(texts) = document::texts(written) else {
        let detail =
            "The document says something that the form has no field for. Save it from here, or change it.";
        return again(writing, PageError::Form(detail.to_owned()).problem());
    };
    writing.texts.extend(texts);
    writing.json = None;
    FormOutcome::Preview(page(&writing))
}

fn again(mut writing: JobEditor<'_>, problem: Problem) -> FormOutcome {
    writing.problem = Some(problem);
    FormOutcome::Invalid(page(&writing))
}

/// The properties that the form says.
fn read(writing: &JobEditor<'_>) -> Result<Value, Box<Problem>> {
    let wrong = |errors: Vec<FieldError>| {
        let detail = "Some of this cannot be read; what is wrong stands beside it.".to_owned();
        Box::new(Problem { errors, ..PageError::Form(detail).problem() })
    };
    let error = |field: &str, message: String, line| FieldError {
        pointer: None,
        field: Some(field.to_owned()),
        line,
        message,
    };
    let Some(text) = &writing.json else {
        let errors = |errors: Vec<document::Wrong>| {
            errors.into_iter().map(|(at, why)| error(&at, why, None)).collect()
        };
        return document(&writing.texts).map_err(|found| wrong(errors(found)));
    };
    let whole: Value = serde_json::from_str(text).map_err(|why| {
        wrong(vec![error("json", format!("this is no JSON: {why}"), u32::try_from(why.line()).ok())])
    })?;
    // The document may be whole, or what is below its `properties` alone.
    Ok(whole.get("properties").cloned().unwrap_or(whole))
}

async fn preview(visit: &Visit, written: &Value) -> Result<Firings, PageError> {
    let answer =
        visit.send(Method::POST, "/v1/preview", &json!({ "properties": written, "count": 10 })).await?;
    serde_json::from_value(answer).map_err(|error| PageError::Unreadable(error.to_string()))
}

/// Writes the job and returns the address of its page.
async fn save(visit: &Visit, writing: &JobEditor<'_>, written: &Value) -> Result<String, PageError> {
    let body = json!({ "properties": written });
    if let Some(at) = writing.at {
        let (job, _): (JobDocument, String) = visit.versioned(&at.api()).await?;
        let only_if = [(IF_MATCH, writing.version.clone())];
        let before = writable(&job.properties);
        let finished = matches!(job.state(), "completed" | "faulted");
        if !finished && change::keeps_secrets(&before, written) {
            let change = json!({ "properties": change::between(&before, written) });
            visit.send_with(Method::PATCH, &at.api(), &change, &only_if).await?;
        } else {
            visit.send_with(Method::PUT, &at.api(), &body, &only_if).await?;
        }
        return Ok(at.address());
    }
    let text = |name: &str| writing.texts.get(name).map_or("", |text| text.trim());
    let fresh = text("new_collection");
    let collection = if fresh.is_empty() { text("collection") } else { fresh };
    let missing =
        |what: &str| PageError::Problem(Box::new(PageError::Form(format!("{what}: fill this in")).problem()));
    if collection.is_empty() {
        return Err(missing("new_collection"));
    }
    if text("name").is_empty() {
        return Err(missing("name"));
    }
    if !fresh.is_empty() {
        match collection::create(visit, fresh, &json!({})).await {
            // One that is there already will do.
            Err(PageError::Problem(problem)) if problem.status == StatusCode::PRECONDITION_FAILED => {}
            made => made?,
        }
    }
    let at = JobAddress { collection: collection.to_owned(), job: text("name").to_owned() };
    visit.send_with(Method::PUT, &at.api(), &body, &[(IF_NONE_MATCH, "*".to_owned())]).await?;
    Ok(at.address())
}

fn pretty(written: &Value) -> String {
    serde_json::to_string_pretty(&json!({ "properties": written })).unwrap_or_default()
}

fn page(writing: &JobEditor<'_>) -> Page {
    let title = writing.at.map_or("New job".to_owned(), |at| format!("Edit {}", at.job));
    let action = writing.at.map_or(format!("/ui/jobs/{}", super::NEW), |at| format!("{}/edit", at.address()));
    let mut controls = Controls::new(writing.texts.clone());
    if let Some(problem) = &writing.problem {
        controls = controls
            .with_errors(problem, &|field| form::control_of(field).or_else(|| Some(field.to_owned())));
    }
    let zone = controls.text("time_zone");
    let zone = (!zone.is_empty() && writing.json.is_none()).then_some(zone);
    Page::new(&title, page::NavSection::Jobs).part(html! {
        @if let Some(problem) = &writing.problem { (pieces::problem(problem)) }
        @if let Some(difference) = &writing.overtaken {
            div.problem role="alert" {
                strong { "Somebody has changed it meanwhile" }
                p { "Below is how yours differs from what is there now. Take over what you want to keep; saving replaces it." }
            }
            (difference)
        }
        @if let Some(note) = writing.note { div.fine role="status" { (note) } }
        @if let Some(firings) = &writing.firings {
            div.card #preview role="status" { h2 { "The next firings" } (history::firings(firings, zone)) p.quiet { "Nothing has been saved yet." } }
        }
        form.job method="post" action=(action) {
            input type="hidden" name="version" value=(writing.version);
            @if writing.at.is_none() { (names(writing, &controls)) }
            @match &writing.json {
                Some(text) => (json_area(text)),
                None => { input type="hidden" name="as" value="fields"; (form::controls(&controls)) },
            }
            (buttons(writing))
        }
    })
}

fn names(writing: &JobEditor<'_>, controls: &Controls) -> Markup {
    let mut options: Vec<(&str, &str)> =
        writing.collections.iter().map(|name| (name.as_str(), name.as_str())).collect();
    if options.is_empty() {
        options.push(("", "none yet"));
    }
    html! {
        fieldset {
            legend { "Name" }
            div.columns {
                (controls.line("name", "Job", "1 to 100 characters, none of them / \\ ? # % ~."))
                (controls.choice("collection", "Collection", "", &options))
                (controls.line("new_collection", "Or a new collection", "Made on the way, with the plan Sortie."))
            }
        }
    }
}

fn json_area(text: &str) -> Markup {
    html! {
        input type="hidden" name="as" value="json";
        div.field {
            label for="json" { "The job, as JSON" }
            textarea #json name="json" rows=(text.lines().count().clamp(14, 40)) spellcheck="false" { "\n" (text) }
            small {
                "Secrets are never shown; one that is left out is kept as long as the action signs in the same way. "
                a href="/docs/reference/jobs" { "What a job may say" } "."
            }
        }
    }
}

fn buttons(writing: &JobEditor<'_>) -> Markup {
    let back = writing.at.map_or_else(
        || {
            writing
                .texts
                .get("collection")
                .filter(|name| !name.is_empty())
                .map_or("/ui/jobs".to_owned(), |name| collection_address(name))
        },
        JobAddress::address,
    );
    html! {
        div.actions {
            button.primary type="submit" name="do" value="save" { (if writing.overtaken.is_some() { "Save over it" } else { "Save" }) }
            button type="submit" name="do" value="preview" { "Preview" }
            @if writing.json.is_some() { button type="submit" name="do" value="to-fields" { "As fields" } }
            @else { button type="submit" name="do" value="to-json" { "As JSON" } }
            a.button href=(back) { "Back" }
        }
    }
}

#[cfg(test)]
mod tests;
