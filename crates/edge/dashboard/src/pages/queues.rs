//! Queues and topics: counts, messages, settings and actions.

mod message;
mod queue;
mod settings;
mod topic;

use api_types::{CountsView, NamePage, QueueView, TopicView};
use maud::{Markup, html};

use self::settings::EntityKind;
use super::FormOutcome;
use crate::components;
use crate::context::{PageContext, decoded, encoded, place};
use crate::error::PageError;
use crate::page::{NavSection, Page};

const ROWS: usize = 100;

/// The address of a queue or subscription.
#[derive(Debug, Clone, PartialEq, Eq)]
enum QueueAddress {
    Queue(String),
    Subscription { topic: String, name: String },
}

impl QueueAddress {
    fn api(&self) -> String {
        self.below("/v1")
    }

    fn address(&self) -> String {
        self.below("/ui")
    }

    fn below(&self, root: &str) -> String {
        match self {
            QueueAddress::Queue(name) => format!("{root}/queues/{}", encoded(name)),
            QueueAddress::Subscription { topic, name } => {
                format!("{root}/topics/{}/subscriptions/{}", encoded(topic), encoded(name))
            }
        }
    }

    fn title(&self) -> String {
        match self {
            QueueAddress::Queue(name) => name.clone(),
            QueueAddress::Subscription { topic, name } => format!("{topic}/{name}"),
        }
    }
}

pub(super) async fn show(ctx: &PageContext, rest: &[&str]) -> Result<Page, PageError> {
    match rest {
        [] => list(ctx).await,
        [name] => queue::show(ctx, &QueueAddress::Queue(decoded(name)?)).await,
        _ => Err(PageError::NotFound),
    }
}

pub(super) async fn show_topic(ctx: &PageContext, rest: &[&str]) -> Result<Page, PageError> {
    match rest {
        [topic] => topic::show(ctx, &decoded(topic)?).await,
        [topic, "subscriptions", name] => {
            queue::show(ctx, &QueueAddress::Subscription { topic: decoded(topic)?, name: decoded(name)? })
                .await
        }
        _ => Err(PageError::NotFound),
    }
}

pub(super) async fn act(ctx: &PageContext, rest: &[&str]) -> Result<FormOutcome, PageError> {
    match rest {
        [] => make(ctx).await,
        [name, what] => queue::act(ctx, &QueueAddress::Queue(decoded(name)?), what).await,
        _ => Err(PageError::NotFound),
    }
}

pub(super) async fn act_topic(ctx: &PageContext, rest: &[&str]) -> Result<FormOutcome, PageError> {
    match rest {
        [topic, what] => topic::act(ctx, &decoded(topic)?, what).await,
        [topic, "subscriptions", name, what] => {
            let at = QueueAddress::Subscription { topic: decoded(topic)?, name: decoded(name)? };
            queue::act(ctx, &at, what).await
        }
        _ => Err(PageError::NotFound),
    }
}

/// Creates a queue or a topic, depending on the form.
async fn make(ctx: &PageContext) -> Result<FormOutcome, PageError> {
    let (kind, root) = if ctx.field("kind").as_deref() == Some("topic") {
        (EntityKind::Topic, "topics")
    } else {
        (EntityKind::Queue, "queues")
    };
    match settings::make(ctx, kind, root).await? {
        Ok((name, said)) => {
            Ok(FormOutcome::Done { to: format!("/ui/{root}/{}", encoded(&name)), message: said })
        }
        Err(form) => Ok(FormOutcome::Invalid(Page::new("Queues and topics", NavSection::Queues).part(form))),
    }
}

async fn list(ctx: &PageContext) -> Result<Page, PageError> {
    let asked = |root: &str, after: Option<String>| {
        place(&format!("/v1/{root}"), [("after", after), ("limit", Some(ROWS.to_string()))])
    };
    let (after, topics_after) = (ctx.query_value("after"), ctx.query_value("topics_after"));
    let queues: NamePage<QueueView> = ctx.get(&asked("queues", after.clone())).await?;
    let topics: NamePage<TopicView> = ctx.get(&asked("topics", topics_after.clone())).await?;
    let mut subscribed = Vec::new();
    for topic in &topics.items {
        subscribed.push(topic::subscriptions(ctx, &topic.name, None).await?);
    }
    let at = |after: Option<String>, topics_after: Option<String>| {
        place("/ui/queues", [("after", after), ("topics_after", topics_after)])
    };
    let next = queues.next.clone().map(|next| at(Some(next), topics_after.clone()));
    let next_topics = topics.next.clone().map(|next| at(after.clone(), Some(next)));
    let first = (after.is_some() || topics_after.is_some()).then(|| at(None, None));
    Ok(Page::new("Queues and topics", NavSection::Queues)
        .live(
            "queues",
            html! {
                h2.first { "Queues" }
                (queue_table(&queues.items))
                (components::pager(first.as_deref(), next.as_deref()))
                h2 { "Topics" }
                (topic_table(&topics.items, &subscribed))
                (components::pager(None, next_topics.as_deref()))
            },
        )
        .part(html! {
            details #new-queue { summary { "New queue" } (settings::fresh(EntityKind::Queue, "/ui/queues")) }
            details #new-topic { summary { "New topic" } (settings::fresh(EntityKind::Topic, "/ui/queues")) }
        }))
}

fn queue_table(queues: &[QueueView]) -> Markup {
    if queues.is_empty() {
        let hint = html! { "Create one below, or with " code { "sortie queue create NAME" } "." };
        return components::empty("No queues", hint);
    }
    html! {
        div.scroll tabindex="0" role="region" aria-label="Queues" {
            table {
                thead { tr { th { "Queue" } (count_heads()) th { "Settings" } } }
                tbody {
                    @for queue in queues { (row(&QueueAddress::Queue(queue.name.clone()), &queue.name, queue)) }
                }
            }
        }
    }
}

fn topic_table(topics: &[TopicView], subscribed: &[NamePage<QueueView>]) -> Markup {
    if topics.is_empty() {
        let hint = html! { "A topic copies each message to every subscription whose filter matches. Create one below." };
        return components::empty("No topics", hint);
    }
    html! {
        div.scroll tabindex="0" role="region" aria-label="Topics and their subscriptions" {
            table {
                thead { tr { th { "Topic and subscription" } (count_heads()) th { "Settings" } } }
                tbody {
                    @for (topic, subscriptions) in topics.iter().zip(subscribed) {
                        tr.group {
                            td { a href={ "/ui/topics/" (encoded(&topic.name)) } { (topic.name) } }
                            td colspan="5" { span.quiet { (topic.subscriptions) " " (plural(topic.subscriptions, "subscription")) } }
                            td.why { (settings::topic_in_words(topic)) }
                        }
                        @for queue in &subscriptions.items { (subscription_row(&topic.name, queue)) }
                        @if subscriptions.next.is_some() {
                            tr { td colspan="7" { a href={ "/ui/topics/" (encoded(&topic.name)) } { "All subscriptions of " (topic.name) } } }
                        }
                    }
                }
            }
        }
    }
}

fn subscription_row(topic: &str, queue: &QueueView) -> Markup {
    row(
        &QueueAddress::Subscription { topic: topic.to_owned(), name: queue.name.clone() },
        &format!("↳ {}", queue.name),
        queue,
    )
}

fn count_heads() -> Markup {
    html! { th.number { "Ready" } th.number { "Locked" } th.number { "Scheduled" } th.number { "Dead" } th.number { "Size" } }
}

fn row(at: &QueueAddress, name: &str, queue: &QueueView) -> Markup {
    let CountsView { ready, locked, scheduled, dead, bytes } = queue.counts;
    html! {
        tr {
            td { a href=(at.address()) { (name) } }
            @for count in [ready, locked, scheduled] { td.number { (components::count(count as u64)) } }
            td.number {
                @if dead > 0 { a href={ (at.address()) "?sub_queue=dead" } { span.badge.bad { (components::count(dead as u64)) } } }
                @else { "0" }
            }
            td.number { (size(bytes)) }
            td.why { (settings::queue_in_short(queue)) }
        }
    }
}

/// A number of bytes with a unit.
fn size(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    let mut size = bytes as f64;
    let mut unit = "B";
    for larger in UNITS {
        if size < 1024.0 {
            break;
        }
        (size, unit) = (size / 1024.0, larger);
    }
    if unit == "B" || size.fract() == 0.0 { format!("{size:.0} {unit}") } else { format!("{size:.1} {unit}") }
}

fn plural(count: usize, word: &str) -> String {
    if count == 1 { word.to_owned() } else { format!("{word}s") }
}

#[cfg(test)]
mod tests;
