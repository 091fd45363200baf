//! The job editor: a form or the document as JSON, with a preview of the next firings before saving.

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
use crate::components;
use crate::components::controls::{Controls, FieldValues};
use crate::context::PageContext;
use crate::error::PageError;
use crate::page::{self, Page};
use crate::pages::FormOutcome;
use crate::pages::workflows::difference;

/// The current state of the editor.
struct JobEditor<'a> {
    /// None for a new job.
    at: Option<&'a JobAddress>,
    /// The version of the job that the editor shows.
    version: String,
    /// Names of collections, for a new job.
    collections: Vec<String>,
    /// All form values, including the names of a new job.
    texts: FieldValues,
    /// The document, if it is edited as JSON.
    json: Option<String>,
    /// Why an existing job is shown as JSON.
    note: Option<&'static str>,
    problem: Option<Problem>,
    /// After a concurrent change: the difference from what is stored.
    overtaken: Option<Markup>,
    firings: Option<Firings>,
}

const FOREIGN: &str = "This job has settings that the form does not support, so it is shown as JSON.";

pub(super) async fn new_page(ctx: &PageContext) -> Result<Page, PageError> {
    let collections = collections(ctx).await?;
    let chosen = ctx.query_value("collection").or_else(|| collections.first().cloned()).unwrap_or_default();
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

pub(super) async fn show(ctx: &PageContext, at: &JobAddress) -> Result<Page, PageError> {
    let (job, version): (JobDocument, String) = ctx.versioned(&at.api()).await?;
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

async fn collections(ctx: &PageContext) -> Result<Vec<String>, PageError> {
    let CollectionList { items } = ctx.get("/v1/collections").await?;
    Ok(items.into_iter().map(|item| item.collection).collect())
}

pub(super) async fn act(ctx: &PageContext, at: Option<&JobAddress>) -> Result<FormOutcome, PageError> {
    let json = (ctx.field("as").as_deref() == Some("json")).then(|| ctx.raw_field("json"));
    let collections = if at.is_none() { collections(ctx).await? } else { Vec::new() };
    let texts = ctx.all_fields().into_iter().collect();
    let version = ctx.field("version").unwrap_or_default();
    let mut writing = JobEditor { version, collections, texts, json, ..empty(at) };
    let written = match read(&writing) {
        Ok(written) => written,
        Err(problem) => return Ok(again(writing, *problem)),
    };
    match ctx.field("do").as_deref() {
        Some("to-json") => {
            writing.json = Some(pretty(&written));
            Ok(FormOutcome::Preview(page(&writing)))
        }
        Some("to-fields") => Ok(to_fields(writing, &written)),
        Some("preview") => match preview(ctx, &written).await {
            Ok(firings) => {
                writing.firings = Some(firings);
                Ok(FormOutcome::Preview(page(&writing)))
            }
            Err(PageError::Problem(problem)) => Ok(again(writing, *problem)),
            Err(error) => Err(error),
        },
        _ => match save(ctx, &writing, &written).await {
            Ok(to) => Ok(FormOutcome::Done { to, message: "Job saved.".to_owned() }),
            Err(PageError::Problem(problem)) => match at {
                Some(at) if problem.status == StatusCode::PRECONDITION_FAILED => {
                    overtaken(ctx, at, writing, &written).await
                }
                _ => Ok(again(writing, *problem)),
            },
            Err(error) => Err(error),
        },
    }
}

/// The editor for the version that is stored now, with the difference; saving then overwrites that version.
async fn overtaken(
    ctx: &PageContext,
    at: &JobAddress,
    mut writing: JobEditor<'_>,
    written: &Value,
) -> Result<FormOutcome, PageError> {
    match ctx.versioned::<JobDocument>(&at.api()).await {
        Ok((job, version)) => {
            let shown = |document: &Value| pretty(&change::without_secrets(document));
            writing.version = version;
            writing.overtaken = Some(difference(&shown(&writable(&job.properties)), &shown(written)));
            Ok(FormOutcome::Invalid(page(&writing)))
        }
        Err(PageError::Problem(problem)) => Ok(again(writing, *problem)),
        Err(error) => Err(error),
    }
}

fn to_fields(mut writing: JobEditor<'_>, written: &Value) -> FormOutcome {
    let Some(texts) = document::texts(written) else {
        let detail =
            "This document has settings that the form does not support. Save it as JSON, or remove them.";
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

/// The properties that the form describes.
fn read(writing: &JobEditor<'_>) -> Result<Value, Box<Problem>> {
    let wrong = |errors: Vec<FieldError>| {
        let detail = "Some fields are invalid; see the messages next to them.".to_owned();
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
        wrong(vec![error("json", format!("not valid JSON: {why}"), u32::try_from(why.line()).ok())])
    })?;
    // Either the whole document, or only the value of its `properties`.
    Ok(whole.get("properties").cloned().unwrap_or(whole))
}

async fn preview(ctx: &PageContext, written: &Value) -> Result<Firings, PageError> {
    let answer =
        ctx.send(Method::POST, "/v1/preview", &json!({ "properties": written, "count": 10 })).await?;
    serde_json::from_value(answer).map_err(|error| PageError::Unreadable(error.to_string()))
}

/// Saves the job and returns the address of its page.
async fn save(ctx: &PageContext, writing: &JobEditor<'_>, written: &Value) -> Result<String, PageError> {
    let body = json!({ "properties": written });
    if let Some(at) = writing.at {
        let (job, _): (JobDocument, String) = ctx.versioned(&at.api()).await?;
        let only_if = [(IF_MATCH, writing.version.clone())];
        let before = writable(&job.properties);
        let finished = matches!(job.state(), "completed" | "faulted");
        if !finished && change::keeps_secrets(&before, written) {
            let change = json!({ "properties": change::between(&before, written) });
            ctx.send_with(Method::PATCH, &at.api(), &change, &only_if).await?;
        } else {
            ctx.send_with(Method::PUT, &at.api(), &body, &only_if).await?;
        }
        return Ok(at.address());
    }
    let text = |name: &str| writing.texts.get(name).map_or("", |text| text.trim());
    let fresh = text("new_collection");
    let collection = if fresh.is_empty() { text("collection") } else { fresh };
    let missing = |what: &str| {
        PageError::Problem(Box::new(PageError::Form(format!("{what}: this field is required")).problem()))
    };
    if collection.is_empty() {
        return Err(missing("new_collection"));
    }
    if text("name").is_empty() {
        return Err(missing("name"));
    }
    if !fresh.is_empty() {
        match collection::create(ctx, fresh, &json!({})).await {
            // An existing collection will do.
            Err(PageError::Problem(problem)) if problem.status == StatusCode::PRECONDITION_FAILED => {}
            made => made?,
        }
    }
    let at = JobAddress { collection: collection.to_owned(), job: text("name").to_owned() };
    ctx.send_with(Method::PUT, &at.api(), &body, &[(IF_NONE_MATCH, "*".to_owned())]).await?;
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
        @if let Some(problem) = &writing.problem { (components::problem(problem)) }
        @if let Some(difference) = &writing.overtaken {
            div.problem role="alert" {
                strong { "Changed by someone else" }
                p { "The difference between your version and the stored one is below. Copy what you want to keep; saving overwrites the stored version." }
            }
            (difference)
        }
        @if let Some(note) = writing.note { div.fine role="status" { (note) } }
        @if let Some(firings) = &writing.firings {
            div.card #preview role="status" { h2 { "Next firings" } (history::firings(firings, zone)) p.quiet { "Not saved yet." } }
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
                (controls.line("name", "Job", "1 to 100 characters, except / \\ ? # % ~."))
                (controls.choice("collection", "Collection", "", &options))
                (controls.line("new_collection", "Or a new collection", "Created with the plan Sortie."))
            }
        }
    }
}

fn json_area(text: &str) -> Markup {
    html! {
        input type="hidden" name="as" value="json";
        div.field {
            label for="json" { "Job as JSON" }
            textarea #json name="json" rows=(text.lines().count().clamp(14, 40)) spellcheck="false" { "\n" (text) }
            small {
                "Secrets are never shown. An omitted secret is kept if the authentication type does not change. "
                a href="/docs/reference/jobs" { "Reference of job documents" } "."
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
            button.primary type="submit" name="do" value="save" { (if writing.overtaken.is_some() { "Overwrite" } else { "Save" }) }
            button type="submit" name="do" value="preview" { "Preview" }
            @if writing.json.is_some() { button type="submit" name="do" value="to-fields" { "Edit as form" } }
            @else { button type="submit" name="do" value="to-json" { "Edit as JSON" } }
            a.button href=(back) { "Back" }
        }
    }
}

#[cfg(test)]
mod tests;
