//! A collection: its jobs, its quota, and turning it on and off.

mod settings;

use api_types::Problem;
use http::Method;
use http::header::IF_NONE_MATCH;
use maud::{Markup, html};
use serde_json::{Value, json};

use super::{CollectionDocument, collection_address, collection_api, list};
use crate::page::{NavSection, Page};
use crate::pages::FormOutcome;
use crate::pieces;
use crate::pieces::controls::{Controls, FieldValues};
use crate::trouble::PageError;
use crate::visit::{Visit, place};

const ROWS: usize = 40;

const PLANS: [(&str, &str); 6] = [
    ("Sortie", "Sortie: 10,000 jobs, 1 second"),
    ("Free", "Free: 5 jobs, 1 hour"),
    ("Standard", "Standard: 50 jobs, 1 minute"),
    ("P10Premium", "P10Premium: 50 jobs, 1 minute"),
    ("Premium", "Premium: 50 jobs, 1 minute"),
    ("P20Premium", "P20Premium: 1,000 jobs, 1 minute"),
];

pub(super) async fn show(visit: &Visit, name: &str) -> Result<Page, PageError> {
    let (collection, version): (CollectionDocument, String) = visit.versioned(&collection_api(name)).await?;
    let cursor = visit.query_value("cursor");
    let mut look_ups = list::LOOKED_UP_MAX;
    let (rows, next) = list::rows(visit, name, ROWS, cursor.clone(), &mut look_ups).await?;
    let at = |cursor: Option<String>| {
        let query =
            [("name", visit.query_value("name")), ("state", visit.query_value("state")), ("cursor", cursor)];
        place(&collection_address(name), query)
    };
    let (first, next) = (cursor.is_some().then(|| at(None)), next.map(|next| at(Some(next))));
    let all = html! {
        h2 { "Jobs" }
        @if visit.query_value("name").is_some() || visit.query_value("state").is_some() {
            p.quiet { "Those that were searched for. " a href=(collection_address(name)) { "Show all jobs of " (name) } }
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
        ("State", pieces::badge(&collection.state().to_lowercase())),
        ("Plan", html! { (collection.plan()) }),
        ("Jobs", html! { (pieces::count(collection.jobs)) }),
    ];
    facts.extend(quota("maxJobCount").map(|most| ("Jobs at most", html! { (most) })));
    facts.extend(quota("maxRecurrence").and_then(|shortest| {
        let (interval, frequency) = (shortest.get("interval")?, shortest.get("frequency")?.as_str()?);
        Some(("Shortest period", html! { (interval) " " (frequency) }))
    }));
    pieces::facts(&facts)
}

fn actions(name: &str, state: &str) -> Markup {
    let address = collection_address(name);
    let disable = format!("Disable {name}? None of its jobs fires until it is enabled again.");
    let delete = format!("Delete {name} with all of its jobs and their histories?");
    html! {
        div.actions {
            a.button.primary href=(place(&format!("/ui/jobs/{}", super::NEW), [("collection", Some(name.to_owned()))])) { "New job" }
            @if state.eq_ignore_ascii_case("enabled") {
                (pieces::button(&format!("{address}/disable"), "Disable", Some(&disable), &[]))
            } @else {
                (pieces::button(&format!("{address}/enable"), "Enable", None, &[]))
            }
            (pieces::button(&format!("{address}/delete"), "Delete", Some(&delete), &[]))
        }
    }
}

pub(super) async fn act(visit: &Visit, name: &str, what: &str) -> Result<FormOutcome, PageError> {
    let api = collection_api(name);
    match what {
        "enable" | "disable" => {
            visit.send(Method::POST, &format!("{api}/{what}"), &Value::Null).await?;
            Ok(FormOutcome::Done { to: collection_address(name), message: format!("{name} is {what}d.") })
        }
        "settings" => Ok(match settings::write(visit, name).await? {
            Ok(()) => FormOutcome::Done {
                to: collection_address(name),
                message: "The settings are in force.".to_owned(),
            },
            Err(form) => FormOutcome::Invalid(Page::new(name, NavSection::Jobs).part(html! {
                (form)
                p { a href=(collection_address(name)) { "Back to " (name) } }
            })),
        }),
        "delete" => {
            visit.send(Method::DELETE, &api, &Value::Null).await?;
            Ok(FormOutcome::Done { to: "/ui/jobs".to_owned(), message: format!("{name} is deleted.") })
        }
        _ => Err(PageError::NotFound),
    }
}

/// Makes the collection of the form.
pub(super) async fn make(visit: &Visit) -> Result<FormOutcome, PageError> {
    let name = visit.field("collection").unwrap_or_default();
    let plan = visit.field("plan").unwrap_or_else(|| PLANS[0].0.to_owned());
    let made = if name.is_empty() {
        Err(PageError::Problem(Box::new(PageError::Form("collection: fill this in".to_owned()).problem())))
    } else {
        create(visit, &name, &json!({ "properties": { "sku": { "name": plan } } })).await
    };
    match made {
        Ok(()) => {
            Ok(FormOutcome::Done { to: collection_address(&name), message: format!("{name} is there.") })
        }
        Err(PageError::Problem(problem)) => {
            let form = new_form(&visit.all_fields(), Some(&problem));
            Ok(FormOutcome::Invalid(Page::new("New collection", NavSection::Jobs).part(form)))
        }
        Err(trouble) => Err(trouble),
    }
}

/// Makes a collection that is not there yet.
pub(super) async fn create(visit: &Visit, name: &str, document: &Value) -> Result<(), PageError> {
    let only_if = [(IF_NONE_MATCH, "*".to_owned())];
    visit.send_with(Method::PUT, &collection_api(name), document, &only_if).await.map(drop)
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
        @if let Some(problem) = problem { (pieces::problem(problem)) }
        details #new-collection open[problem.is_some()] {
            summary { "New collection" }
            form.card.wide method="post" action="/ui/jobs" {
                (controls.line("collection", "Name", "1 to 100 characters, none of them / \\ ? # % ~."))
                (controls.choice("plan", "Plan", "How many jobs it holds, and how often they may recur.", &PLANS))
                div.actions { button.primary type="submit" { "Make the collection" } }
            }
        }
    }
}
