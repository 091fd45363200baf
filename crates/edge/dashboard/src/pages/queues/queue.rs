//! A queue or a subscription: how full it is, its messages and dead letters, and what can be done with them.

use api_types::{MessagePage, Moved, QueueView};
use http::Method;
use maud::{Markup, html};
use serde_json::{Value, json};

use super::settings::{self, Kind};
use super::{At, message, size};
use crate::page::{Page, Place};
use crate::pages::Acted;
use crate::pieces;
use crate::pieces::controls::{Controls, Texts};
use crate::trouble::Trouble;
use crate::visit::{Visit, place};

/// Messages of a page.
const ROWS: usize = 20;

/// Which of its messages are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shelf {
    Main,
    Dead,
}

impl Shelf {
    fn word(self) -> &'static str {
        match self {
            Shelf::Main => "main",
            Shelf::Dead => "dead",
        }
    }
}

fn shelf(asked: Option<String>) -> Shelf {
    if asked.as_deref() == Some("dead") { Shelf::Dead } else { Shelf::Main }
}

pub(super) async fn show(visit: &Visit, at: &At) -> Result<Page, Trouble> {
    let queue: QueueView = visit.get(&at.api()).await?;
    let shelf = shelf(visit.asked("shelf"));
    let page = Page::new(&at.title(), Place::Queues).live("counts", counts(at, &queue));
    if let Some(number) = visit.asked("message") {
        return alone(visit, at, page, shelf, &number).await;
    }
    let from = visit.asked("from");
    let query =
        [("shelf", Some(shelf.word().to_owned())), ("from", from.clone()), ("limit", Some(ROWS.to_string()))];
    let messages: MessagePage = visit.get(&place(&format!("{}/messages", at.api()), query)).await?;
    let there = |from: Option<String>| {
        place(&at.address(), [("shelf", Some(shelf.word().to_owned())), ("from", from)])
    };
    let next = messages.next.map(|next| there(Some(next.to_string())));
    let first = from.is_some().then(|| there(None));
    Ok(page
        .part(actions(at))
        .live(
            "messages",
            html! {
                h2 { (if shelf == Shelf::Dead { "Dead letters" } else { "Messages" }) }
                (tabs(at, shelf, &queue))
                @if messages.items.is_empty() { (nothing(shelf)) }
                (message::list(&messages.items, &at.address(), shelf.word()))
                nav.pager aria-label="Pages of this list" {
                    @if let Some(first) = first { a href=(first) rel="first" { "Oldest" } }
                    @if let Some(next) = next { a href=(next) rel="next" { "Newer" } }
                }
            },
        )
        .part(forms(at, &queue)))
}

async fn alone(visit: &Visit, at: &At, page: Page, shelf: Shelf, number: &str) -> Result<Page, Trouble> {
    let query = [
        ("shelf", Some(shelf.word().to_owned())),
        ("from", Some(number.to_owned())),
        ("limit", Some("1".to_owned())),
    ];
    let found: MessagePage = visit.get(&place(&format!("{}/messages", at.api()), query)).await?;
    let found = found.items.into_iter().find(|message| message.sequence_number.to_string() == number);
    let back = place(&at.address(), [("shelf", Some(shelf.word().to_owned()))]);
    Ok(page.part(html! {
        h2 { "Message #" (number) }
        @match &found {
            Some(found) => (message::alone(found)),
            None => (pieces::empty("It is not here any more", html! { "A consumer has completed it, or it was moved." })),
        }
        p { a href=(back) { "All messages" } }
    }))
}

fn counts(at: &At, queue: &QueueView) -> Markup {
    let counts = &queue.counts;
    let number = |count: usize| html! { span.figure { (pieces::count(count as u64)) } };
    let dead = html! {
        @if counts.dead > 0 { a.figure.bad href={ (at.address()) "?shelf=dead" } { (pieces::count(counts.dead as u64)) } }
        @else { (number(0)) }
    };
    html! {
        (pieces::facts(&[
            ("Ready", number(counts.ready)),
            ("Locked", number(counts.locked)),
            ("Scheduled", number(counts.scheduled)),
            ("Dead letters", dead),
            ("Size", html! { span.figure { (size(counts.bytes)) } }),
        ]))
        p.quiet { (settings::queue_in_words(queue)) }
    }
}

fn tabs(at: &At, shelf: Shelf, queue: &QueueView) -> Markup {
    let main = queue.counts.ready + queue.counts.locked + queue.counts.scheduled;
    let tab = |own: Shelf, name: &str, count: usize| {
        html! {
            a href=(place(&at.address(), [("shelf", Some(own.word().to_owned()))]))
                aria-current=[(own == shelf).then_some("page")] { (name) " (" (pieces::count(count as u64)) ")" }
        }
    };
    html! {
        nav.tabs aria-label="Which messages" {
            (tab(Shelf::Main, "Messages", main))
            (tab(Shelf::Dead, "Dead letters", queue.counts.dead))
        }
    }
}

fn nothing(shelf: Shelf) -> Markup {
    match shelf {
        Shelf::Main => pieces::empty(
            "No messages",
            html! { "What was sent has been completed, or nothing was sent yet." },
        ),
        Shelf::Dead => pieces::empty(
            "No dead letters",
            html! { "A message that is delivered too often, or that its consumer sets aside, comes here." },
        ),
    }
}

/// What can be done, by what it is done to.
fn actions(at: &At) -> Markup {
    let (address, title) = (at.address(), at.title());
    let purge_dead = format!("Delete all dead letters of {title}? They are gone for good.");
    let purge = format!("Delete all messages of {title} that no consumer has? They are gone for good.");
    let delete = format!("Delete {title} with all of its messages?");
    let purge_at = format!("{address}/purge");
    let what = if matches!(at, At::Queue(_)) { "queue" } else { "subscription" };
    html! {
        div.groups {
            div role="group" aria-labelledby="dead-letters" {
                span #dead-letters.name { "Dead letters" }
                div.actions {
                    form.inline.row method="post" action={ (address) "/redrive" } {
                        label for="max" { "How many" }
                        input #max name="max" inputmode="numeric" size="6" placeholder="all" title="Empty is all";
                        button type="submit" { "Redrive" }
                    }
                    (pieces::button(&purge_at, "Purge the dead letters", Some(&purge_dead), &[("shelf", "dead")]))
                }
            }
            div role="group" aria-labelledby="live-messages" {
                span #live-messages.name { "Messages" }
                div.actions { (pieces::button(&purge_at, "Purge the messages", Some(&purge), &[("shelf", "main")])) }
            }
            div role="group" aria-labelledby="whole" {
                span #whole.name { "The " (what) }
                div.actions {
                    (pieces::button(&format!("{address}/delete"), &format!("Delete the {what}"), Some(&delete), &[]))
                }
            }
        }
    }
}

fn forms(at: &At, queue: &QueueView) -> Markup {
    let document = serde_json::to_value(queue).unwrap_or_default();
    let (kind, version) = (kind(at), queue.version.to_string());
    let controls = Controls::new(settings::texts(kind, &document));
    html! {
        @if let At::Queue(_) = at {
            details #send { summary { "Send a message" } (message::form(&format!("{}/send", at.address()), Texts::new(), None)) }
        }
        details #settings {
            summary { "Settings" }
            (settings::form(kind, &format!("{}/settings", at.address()), controls, None, Some(&version)))
        }
    }
}

fn kind(at: &At) -> Kind {
    match at {
        At::Queue(_) => Kind::Queue,
        At::Subscription { .. } => Kind::Subscription,
    }
}

pub(super) async fn act(visit: &Visit, at: &At, what: &str) -> Result<Acted, Trouble> {
    let again = |form: Markup| {
        Acted::Again(Page::new(&at.title(), Place::Queues).part(html! {
            (form)
            p { a href=(at.address()) { "Back to " (at.title()) } }
        }))
    };
    let done = |said: String| Acted::Done { to: at.address(), said };
    match (what, at) {
        ("send", At::Queue(name)) => Ok(match message::send(visit, name).await? {
            Ok(()) => done("The message is there.".to_owned()),
            Err(form) => again(form),
        }),
        ("settings", _) => Ok(match settings::write(visit, kind(at), &at.api()).await? {
            Ok(()) => done("The settings are in force.".to_owned()),
            Err(form) => again(form),
        }),
        ("redrive", _) => {
            let moved = moved(visit, at, "redrive", &portion(visit)?).await?;
            Ok(done(format!("{moved} dead letters were brought back.")))
        }
        ("purge", _) => {
            let shelf = shelf(visit.field("shelf"));
            let moved = moved(visit, at, "purge", &json!({ "shelf": shelf.word() })).await?;
            let to = place(&at.address(), [("shelf", Some(shelf.word().to_owned()))]);
            Ok(Acted::Done { to, said: format!("{moved} messages were deleted.") })
        }
        ("delete", _) => {
            visit.send(Method::DELETE, &at.api(), &Value::Null).await?;
            let to = match at {
                At::Queue(_) => "/ui/queues".to_owned(),
                At::Subscription { topic, .. } => format!("/ui/topics/{}", crate::visit::encoded(topic)),
            };
            Ok(Acted::Done { to, said: format!("{} is deleted.", at.title()) })
        }
        _ => Err(Trouble::NotFound),
    }
}

/// How many dead letters are meant: all, unless the form says a number.
fn portion(visit: &Visit) -> Result<Value, Trouble> {
    let Some(text) = visit.field("max") else { return Ok(json!({})) };
    let max: u64 = text.parse().map_err(|_| {
        Trouble::Form(format!("Redrive: {text:?} is not a number; write how many, or leave it empty for all"))
    })?;
    Ok(json!({ "max": max }))
}

async fn moved(visit: &Visit, at: &At, what: &str, body: &Value) -> Result<String, Trouble> {
    let answer = visit.send(Method::POST, &format!("{}/{what}", at.api()), body).await?;
    let Moved { messages } =
        serde_json::from_value(answer).map_err(|error| Trouble::Unreadable(error.to_string()))?;
    Ok(pieces::count(messages as u64))
}
