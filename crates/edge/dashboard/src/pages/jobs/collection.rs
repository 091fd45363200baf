//! A collection: its jobs, its quota, and the actions on it.

mod settings;

use api_types::Problem;
use http::Method;
use http::header::IF_NONE_MATCH;
use maud::{Markup, html};
use serde_json::{Value, json};

use super::{CollectionDocument, collection_address, collection_api, list};
use crate::components;
use crate::components::controls::{Controls, FieldValues};
use crate::context::{PageContext, place};
use crate::error::PageError;
use crate::page::{NavSection, Page};
use crate::pages::FormOutcome;

const ROWS: usize = 40;

const PLANS: [(&str, &str); 6] = [
    ("Sortie", "Sortie: 10,000 jobs, 1 second"),
    ("Free", "Free: 5 jobs, 1 hour"),
    ("Standard", "Standard: 50 jobs, 1 minute"),
    ("P10Premium", "P10Premium: 50 jobs, 1 minute"),
    ("Premium", "Premium: 50 jobs, 1 minute"),
    ("P20Premium", "P20Premium: 1,000 jobs, 1 minute"),
];

pub(super) async fn show(ctx: &PageContext, name: &str) -> Result<Page, PageError> {
    let (collection, version): (CollectionDocument, String) = ctx.versioned(&collection_api(name)).await?;
    let cursor = ctx.query_value("cursor");
    let mut look_ups = list::LOOKED_UP_MAX;
    let (rows, next) = list::rows(ctx, name, ROWS, cursor.clone(), &mut look_ups).await?;
    let at = |cursor: Option<String>| {
        let query =
            [("name", ctx.query_value("name")), ("state", ctx.query_value("state")), ("cursor", cursor)];
        place(&collection_address(name), query)
    };
    let (first, next) = (cursor.is_some().then(|| at(None)), next.map(|next| at(Some(next))));
    let all = html! {
        h2 { "Jobs" }
        @if ctx.query_value("name").is_some() || ctx.query_value("state").is_some() {
            p.quiet { "Filtered. " a href=(collection_address(name)) { "Show all jobs in " (name) } }
        }
        (list::table(&rows))
        nav.pager aria-label="Pages of this list" {
            @if let Some(first) = first { a href=(first) rel="first" { "First" } }
            @if let Some(next) = next { a href=(next) rel="next" { "More" } }
        }
    };
    let action = format!("{}/settings", collection_address(name));
    Ok(Page::new(name, NavSection::Jobs)
        .live("collection", facts(&collection))
        .live("actions", actions(name, collection.state()))
        .live("jobs", all)
        .part(html! {
            details #settings {
                summary { "Settings" }
                (settings::form(&action, settings::texts(&collection), &version, None))
            }
        }))
}

fn facts(collection: &CollectionDocument) -> Markup {
    let quota = |name: &str| collection.properties.pointer(&format!("/quota/{name}"));
    let mut facts = vec![
        ("State", components::badge(&collection.state().to_lowercase())),
        ("Plan", html! { (collection.plan()) }),
        ("Jobs", html! { (components::count(collection.jobs)) }),
    ];
    facts.extend(quota("maxJobCount").map(|most| ("Max. jobs", html! { (most) })));
    facts.extend(quota("maxRecurrence").and_then(|shortest| {
        let (interval, frequency) = (shortest.get("interval")?, shortest.get("frequency")?.as_str()?);
        Some(("Min. interval", html! { (interval) " " (frequency) }))
    }));
    components::facts(&facts)
}

fn actions(name: &str, state: &str) -> Markup {
    let address = collection_address(name);
    let disable = format!("Disable {name}? Its jobs do not fire until you enable it again.");
    let delete = format!("Delete {name} with all of its jobs and their history?");
    html! {
        div.actions {
            a.button.primary href=(place(&format!("/ui/jobs/{}", super::NEW), [("collection", Some(name.to_owned()))])) { "New job" }
            @if state.eq_ignore_ascii_case("enabled") {
                (components::button(&format!("{address}/disable"), "Disable", Some(&disable), &[]))
            } @else {
                (components::button(&format!("{address}/enable"), "Enable", None, &[]))
            }
            (components::button(&format!("{address}/delete"), "Delete", Some(&delete), &[]))
        }
    }
}

pub(super) async fn act(ctx: &PageContext, name: &str, what: &str) -> Result<FormOutcome, PageError> {
    let api = collection_api(name);
    match what {
        "enable" | "disable" => {
            ctx.send(Method::POST, &format!("{api}/{what}"), &Value::Null).await?;
            Ok(FormOutcome::Done { to: collection_address(name), message: format!("{name} {what}d.") })
        }
        "settings" => Ok(match settings::write(ctx, name).await? {
            Ok(()) => {
                FormOutcome::Done { to: collection_address(name), message: "Settings saved.".to_owned() }
            }
            Err(form) => FormOutcome::Invalid(Page::new(name, NavSection::Jobs).part(html! {
                (form)
                p { a href=(collection_address(name)) { "Back to " (name) } }
            })),
        }),
        "delete" => {
            ctx.send(Method::DELETE, &api, &Value::Null).await?;
            Ok(FormOutcome::Done { to: "/ui/jobs".to_owned(), message: format!("Deleted {name}.") })
        }
        _ => Err(PageError::NotFound),
    }
}

/// Creates the collection that the form describes.
pub(super) async fn make(ctx: &PageContext) -> Result<FormOutcome, PageError> {
    let name = ctx.field("collection").unwrap_or_default();
    let plan = ctx.field("plan").unwrap_or_else(|| PLANS[0].0.to_owned());
    let made = if name.is_empty() {
        Err(PageError::Problem(Box::new(
            PageError::Form("collection: this field is required".to_owned()).problem(),
        )))
    } else {
        create(ctx, &name, &json!({ "properties": { "sku": { "name": plan } } })).await
    };
    match made {
        Ok(()) => {
            Ok(FormOutcome::Done { to: collection_address(&name), message: format!("Created {name}.") })
        }
        Err(PageError::Problem(problem)) => {
            let form = new_form(&ctx.all_fields(), Some(&problem));
            Ok(FormOutcome::Invalid(Page::new("New collection", NavSection::Jobs).part(form)))
        }
        Err(error) => Err(error),
    }
}

/// Creates a collection; fails if it exists.
pub(super) async fn create(ctx: &PageContext, name: &str, document: &Value) -> Result<(), PageError> {
    let only_if = [(IF_NONE_MATCH, "*".to_owned())];
    ctx.send_with(Method::PUT, &collection_api(name), document, &only_if).await.map(drop)
}

/// The form of a new collection.
pub(super) fn new_form(filled: &[(String, String)], problem: Option<&Problem>) -> Markup {
    let mut texts: FieldValues = filled.iter().cloned().collect();
    texts.entry("plan".to_owned()).or_insert_with(|| PLANS[0].0.to_owned());
    let mut controls = Controls::new(texts);
    if let Some(problem) = problem {
        controls = controls.with_errors(problem, &|field| (field == "collection").then(|| field.to_owned()));
    }
    html! {
        @if let Some(problem) = problem { (components::problem(problem)) }
        details #new-collection open[problem.is_some()] {
            summary { "New collection" }
            form.card.wide method="post" action="/ui/jobs" {
                (controls.line("collection", "Name", "1 to 100 characters, except / \\ ? # % ~."))
                (controls.choice("plan", "Plan", "Limits the number of jobs and how often they may fire.", &PLANS))
                div.actions { button.primary type="submit" { "Create collection" } }
            }
        }
    }
}
