//! A topic and its subscriptions.

use api_types::{NamePage, QueueView, TopicView};
use http::Method;
use maud::{Markup, html};
use serde_json::Value;

use super::settings::{self, EntityKind};
use super::{ROWS, count_heads, message, subscription_row};
use crate::components;
use crate::components::controls::{Controls, FieldValues};
use crate::context::{PageContext, encoded, place};
use crate::error::PageError;
use crate::page::{NavSection, Page};
use crate::pages::FormOutcome;

fn api(topic: &str) -> String {
    format!("/v1/topics/{}", encoded(topic))
}

fn address(topic: &str) -> String {
    format!("/ui/topics/{}", encoded(topic))
}

/// The subscriptions of a topic after a name, as many as fit on a page.
pub(super) async fn subscriptions(
    ctx: &PageContext,
    topic: &str,
    after: Option<String>,
) -> Result<NamePage<QueueView>, PageError> {
    let query = [("after", after), ("limit", Some(ROWS.to_string()))];
    ctx.get(&place(&format!("{}/subscriptions", api(topic)), query)).await
}

pub(super) async fn show(ctx: &PageContext, name: &str) -> Result<Page, PageError> {
    let topic: TopicView = ctx.get(&api(name)).await?;
    let after = ctx.query_value("after");
    let NamePage { items, next } = subscriptions(ctx, name, after.clone()).await?;
    let first = after.is_some().then(|| address(name));
    let next = next.map(|next| place(&address(name), [("after", Some(next))]));
    let document = serde_json::to_value(&topic).unwrap_or_default();
    let controls = Controls::new(settings::texts(EntityKind::Topic, &document));
    let version = topic.version.to_string();
    let question = format!("Delete {name}, its subscriptions and all of their messages?");
    Ok(Page::new(name, NavSection::Queues)
        .live("topic", html! {
            p.quiet { "Each message goes to every subscription whose filter matches. " (settings::topic_in_words(&topic)) "." }
            h2 { "Subscriptions" }
            (table(name, &items))
            nav.pager aria-label="Pages of this list" {
                @if let Some(first) = first { a href=(first) rel="first" { "First" } }
                @if let Some(next) = next { a href=(next) rel="next" { "More" } }
            }
        })
        .part(html! {
            div.actions { (components::button(&format!("{}/delete", address(name)), "Delete topic", Some(&question), &[])) }
            details #new-subscription {
                summary { "New subscription" }
                (settings::fresh(EntityKind::Subscription, &format!("{}/subscribe", address(name))))
            }
            details #send { summary { "Send a message" } (message::form(&format!("{}/send", address(name)), FieldValues::new(), None)) }
            details #settings {
                summary { "Settings" }
                (settings::form(EntityKind::Topic, &format!("{}/settings", address(name)), controls, None, Some(&version)))
            }
        }))
}

fn table(topic: &str, subscriptions: &[QueueView]) -> Markup {
    if subscriptions.is_empty() {
        return components::empty(
            "No subscriptions",
            html! { "Messages sent to this topic are dropped until it has one." },
        );
    }
    html! {
        div.scroll tabindex="0" role="region" aria-label="Subscriptions" {
            table {
                thead { tr { th { "Subscription" } (count_heads()) th { "Settings" } } }
                tbody { @for queue in subscriptions { (subscription_row(topic, queue)) } }
            }
        }
    }
}

pub(super) async fn act(ctx: &PageContext, name: &str, what: &str) -> Result<FormOutcome, PageError> {
    let again = |form: Markup| {
        FormOutcome::Invalid(Page::new(name, NavSection::Queues).part(html! {
            (form)
            p { a href=(address(name)) { "Back to " (name) } }
        }))
    };
    let done = |message: &str| FormOutcome::Done { to: address(name), message: message.to_owned() };
    match what {
        "send" => Ok(match message::send(ctx, name).await? {
            Ok(()) => done("Message sent."),
            Err(form) => again(form),
        }),
        "settings" => Ok(match settings::write(ctx, EntityKind::Topic, &api(name)).await? {
            Ok(()) => done("Settings saved."),
            Err(form) => again(form),
        }),
        "subscribe" => {
            let root = format!("topics/{}/subscriptions", encoded(name));
            Ok(match settings::make(ctx, EntityKind::Subscription, &root).await? {
                Ok((_, message)) => done(&message),
                Err(form) => again(form),
            })
        }
        "delete" => {
            ctx.send(Method::DELETE, &api(name), &Value::Null).await?;
            Ok(FormOutcome::Done { to: "/ui/queues".to_owned(), message: format!("Deleted {name}.") })
        }
        _ => Err(PageError::NotFound),
    }
}
