//! A queue or a subscription: counts, messages, dead letters and actions.

use api_types::{MessagePage, Moved, QueueView};
use http::Method;
use maud::{Markup, html};
use serde_json::{Value, json};

use super::settings::{self, EntityKind};
use super::{QueueAddress, message, size};
use crate::components;
use crate::components::controls::{Controls, FieldValues};
use crate::context::{PageContext, place};
use crate::error::PageError;
use crate::page::{NavSection, Page};
use crate::pages::FormOutcome;

/// Messages per page.
const ROWS: usize = 20;

/// Which messages are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MessageList {
    Main,
    Dead,
}

impl MessageList {
    fn word(self) -> &'static str {
        match self {
            MessageList::Main => "main",
            MessageList::Dead => "dead",
        }
    }
}

fn sub_queue(asked: Option<String>) -> MessageList {
    if asked.as_deref() == Some("dead") { MessageList::Dead } else { MessageList::Main }
}

pub(super) async fn show(ctx: &PageContext, at: &QueueAddress) -> Result<Page, PageError> {
    let queue: QueueView = ctx.get(&at.api()).await?;
    let sub_queue = sub_queue(ctx.query_value("sub_queue"));
    let page = Page::new(&at.title(), NavSection::Queues).live("counts", counts(at, &queue));
    if let Some(number) = ctx.query_value("message") {
        return alone(ctx, at, page, sub_queue, &number).await;
    }
    let from = ctx.query_value("from");
    let query = [
        ("sub_queue", Some(sub_queue.word().to_owned())),
        ("from", from.clone()),
        ("limit", Some(ROWS.to_string())),
    ];
    let messages: MessagePage = ctx.get(&place(&format!("{}/messages", at.api()), query)).await?;
    let there = |from: Option<String>| {
        place(&at.address(), [("sub_queue", Some(sub_queue.word().to_owned())), ("from", from)])
    };
    let next = messages.next.map(|next| there(Some(next.to_string())));
    let first = from.is_some().then(|| there(None));
    Ok(page
        .part(actions(at))
        .live(
            "messages",
            html! {
                h2 { (if sub_queue == MessageList::Dead { "Dead letters" } else { "Messages" }) }
                (tabs(at, sub_queue, &queue))
                @if messages.items.is_empty() { (nothing(sub_queue)) }
                (message::list(&messages.items, &at.address(), sub_queue.word()))
                nav.pager aria-label="Pages of this list" {
                    @if let Some(first) = first { a href=(first) rel="first" { "Oldest" } }
                    @if let Some(next) = next { a href=(next) rel="next" { "Newer" } }
                }
            },
        )
        .part(forms(at, &queue)))
}

async fn alone(
    ctx: &PageContext,
    at: &QueueAddress,
    page: Page,
    sub_queue: MessageList,
    number: &str,
) -> Result<Page, PageError> {
    let query = [
        ("sub_queue", Some(sub_queue.word().to_owned())),
        ("from", Some(number.to_owned())),
        ("limit", Some("1".to_owned())),
    ];
    let found: MessagePage = ctx.get(&place(&format!("{}/messages", at.api()), query)).await?;
    let found = found.items.into_iter().find(|message| message.sequence_number.to_string() == number);
    let back = place(&at.address(), [("sub_queue", Some(sub_queue.word().to_owned()))]);
    Ok(page.part(html! {
        h2 { "Message #" (number) }
        @match &found {
            Some(found) => (message::alone(found)),
            None => (components::empty("Message not found", html! { "A consumer has completed it, or it was moved." })),
        }
        p { a href=(back) { "All messages" } }
    }))
}

fn counts(at: &QueueAddress, queue: &QueueView) -> Markup {
    let counts = &queue.counts;
    let number = |count: usize| html! { span.figure { (components::count(count as u64)) } };
    let dead = html! {
        @if counts.dead > 0 { a.figure.bad href={ (at.address()) "?sub_queue=dead" } { (components::count(counts.dead as u64)) } }
        @else { (number(0)) }
    };
    html! {
        (components::facts(&[
            ("Ready", number(counts.ready)),
            ("Locked", number(counts.locked)),
            ("Scheduled", number(counts.scheduled)),
            ("Dead letters", dead),
            ("Size", html! { span.figure { (size(counts.bytes)) } }),
        ]))
        p.quiet { (settings::queue_in_words(queue)) }
    }
}

fn tabs(at: &QueueAddress, sub_queue: MessageList, queue: &QueueView) -> Markup {
    let main = queue.counts.ready + queue.counts.locked + queue.counts.scheduled;
    let tab = |own: MessageList, name: &str, count: usize| {
        html! {
            a href=(place(&at.address(), [("sub_queue", Some(own.word().to_owned()))]))
                aria-current=[(own == sub_queue).then_some("page")] { (name) " (" (components::count(count as u64)) ")" }
        }
    };
    html! {
        nav.tabs aria-label="Which messages" {
            (tab(MessageList::Main, "Messages", main))
            (tab(MessageList::Dead, "Dead letters", queue.counts.dead))
        }
    }
}

fn nothing(sub_queue: MessageList) -> Markup {
    match sub_queue {
        MessageList::Main => components::empty(
            "No messages",
            html! { "All messages have been completed, or none was sent yet." },
        ),
        MessageList::Dead => components::empty(
            "No dead letters",
            html! { "Messages that exceed the maximum number of deliveries, or that a consumer dead-letters, appear here." },
        ),
    }
}

/// The actions, grouped by what they apply to.
fn actions(at: &QueueAddress) -> Markup {
    let (address, title) = (at.address(), at.title());
    let purge_dead = format!("Delete all dead letters of {title}? This cannot be undone.");
    let purge = format!("Delete all messages of {title} that no consumer has locked? This cannot be undone.");
    let delete = format!("Delete {title} with all of its messages?");
    let purge_at = format!("{address}/purge");
    let (heading, what) = match at {
        QueueAddress::Queue(_) => ("Queue", "queue"),
        QueueAddress::Subscription { .. } => ("Subscription", "subscription"),
    };
    html! {
        div.groups {
            div role="group" aria-labelledby="dead-letters" {
                span #dead-letters.name { "Dead letters" }
                div.actions {
                    form.inline.row method="post" action={ (address) "/redrive" } {
                        label for="max" { "How many" }
                        input #max name="max" inputmode="numeric" size="6" placeholder="all" title="Leave empty for all";
                        button type="submit" { "Redrive" }
                    }
                    (components::button(&purge_at, "Purge dead letters", Some(&purge_dead), &[("sub_queue", "dead")]))
                }
            }
            div role="group" aria-labelledby="live-messages" {
                span #live-messages.name { "Messages" }
                div.actions { (components::button(&purge_at, "Purge messages", Some(&purge), &[("sub_queue", "main")])) }
            }
            div role="group" aria-labelledby="whole" {
                span #whole.name { (heading) }
                div.actions {
                    (components::button(&format!("{address}/delete"), &format!("Delete {what}"), Some(&delete), &[]))
                }
            }
        }
    }
}

fn forms(at: &QueueAddress, queue: &QueueView) -> Markup {
    let document = serde_json::to_value(queue).unwrap_or_default();
    let (kind, version) = (kind(at), queue.version.to_string());
    let controls = Controls::new(settings::texts(kind, &document));
    html! {
        @if let QueueAddress::Queue(_) = at {
            details #send { summary { "Send a message" } (message::form(&format!("{}/send", at.address()), FieldValues::new(), None)) }
        }
        details #settings {
            summary { "Settings" }
            (settings::form(kind, &format!("{}/settings", at.address()), controls, None, Some(&version)))
        }
    }
}

fn kind(at: &QueueAddress) -> EntityKind {
    match at {
        QueueAddress::Queue(_) => EntityKind::Queue,
        QueueAddress::Subscription { .. } => EntityKind::Subscription,
    }
}

pub(super) async fn act(ctx: &PageContext, at: &QueueAddress, what: &str) -> Result<FormOutcome, PageError> {
    let again = |form: Markup| {
        FormOutcome::Invalid(Page::new(&at.title(), NavSection::Queues).part(html! {
            (form)
            p { a href=(at.address()) { "Back to " (at.title()) } }
        }))
    };
    let done = |message: String| FormOutcome::Done { to: at.address(), message };
    match (what, at) {
        ("send", QueueAddress::Queue(name)) => Ok(match message::send(ctx, name).await? {
            Ok(()) => done("Message sent.".to_owned()),
            Err(form) => again(form),
        }),
        ("settings", _) => Ok(match settings::write(ctx, kind(at), &at.api()).await? {
            Ok(()) => done("Settings saved.".to_owned()),
            Err(form) => again(form),
        }),
        ("redrive", _) => {
            let moved = moved(ctx, at, "redrive", &portion(ctx)?).await?;
            Ok(done(format!("Moved {moved} dead letters back.")))
        }
        ("purge", _) => {
            let sub_queue = sub_queue(ctx.field("sub_queue"));
            let moved = moved(ctx, at, "purge", &json!({ "sub_queue": sub_queue.word() })).await?;
            let to = place(&at.address(), [("sub_queue", Some(sub_queue.word().to_owned()))]);
            Ok(FormOutcome::Done { to, message: format!("Deleted {moved} messages.") })
        }
        ("delete", _) => {
            ctx.send(Method::DELETE, &at.api(), &Value::Null).await?;
            let to = match at {
                QueueAddress::Queue(_) => "/ui/queues".to_owned(),
                QueueAddress::Subscription { topic, .. } => {
                    format!("/ui/topics/{}", crate::context::encoded(topic))
                }
            };
            Ok(FormOutcome::Done { to, message: format!("Deleted {}.", at.title()) })
        }
        _ => Err(PageError::NotFound),
    }
}

/// How many dead letters to move: all, unless the form has a number.
fn portion(ctx: &PageContext) -> Result<Value, PageError> {
    let Some(text) = ctx.field("max") else { return Ok(json!({})) };
    let max: u64 = text
        .parse()
        .map_err(|_| PageError::Form(format!("Redrive: {text:?} is not a number; leave it empty for all")))?;
    Ok(json!({ "max": max }))
}

async fn moved(ctx: &PageContext, at: &QueueAddress, what: &str, body: &Value) -> Result<String, PageError> {
    let answer = ctx.send(Method::POST, &format!("{}/{what}", at.api()), body).await?;
    let Moved { messages } =
        serde_json::from_value(answer).map_err(|error| PageError::Unreadable(error.to_string()))?;
    Ok(components::count(messages as u64))
}
