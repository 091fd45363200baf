//! A topic and its subscriptions.

use api_types::{NamePage, QueueView, TopicView};
use http::Method;
use maud::{Markup, html};
use serde_json::Value;

use super::settings::{self, EntityKind};
use super::{ROWS, count_heads, message, subscription_row};
use crate::page::{NavSection, Page};
use crate::pages::FormOutcome;
use crate::pieces;
use crate::pieces::controls::{Controls, FieldValues};
use crate::trouble::PageError;
use crate::visit::{Visit, encoded, place};

fn api(topic: &str) -> String {
    format!("/v1/topics/{}", encoded(topic))
}

fn address(topic: &str) -> String {
    format!("/ui/topics/{}", encoded(topic))
}

/// The subscriptions of a topic behind a name, as many as a page holds.
pub(super) async fn subscriptions(
    visit: &Visit,
    topic: &str,
    after: Option<String>,
) -> Result<NamePage<QueueView>, PageError> {
    let query = [("after", after), ("limit", Some(ROWS.to_string()))];
    visit.get(&place(&format!("{}/subscriptions", api(topic)), query)).await
}

pub(super) async fn show(visit: &Visit, name: &str) -> Result<Page, PageError> {
    let topic: TopicView = visit.get(&api(name)).await?;
    let after = visit.query_value("after");
    let NamePage { items, next } = subscriptions(visit, name, after.clone()).await?;
    let first = after.is_some().then(|| address(name));
    let next = next.map(|next| place(&address(name), [("after", Some(next))]));
    let document = serde_json::to_value(&topic).unwrap_or_default();
    let controls = Controls::new(settings::texts(EntityKind::Topic, &document));
    let version = topic.version.to_string();
    let question = format!("Delete {name}, its subscriptions and all of their messages?");
    Ok(Page::new(name, NavSection::Queues)
        .live("topic", html! {
            p.quiet { "A topic: each message goes to all subscriptions that want it. " (settings::topic_in_words(&topic)) "." }
            h2 { "Subscriptions" }
            (table(name, &items))
            nav.pager aria-label="Pages of this list" {
                @if let Some(first) = first { a href=(first) rel="first" { "First" } }
                @if let Some(next) = next { a href=(next) rel="next" { "More" } }
            }
        })
        .part(html! {
            div.actions { (pieces::button(&format!("{}/delete", address(name)), "Delete the topic", Some(&question), &[])) }
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
        return pieces::empty(
            "No subscriptions",
            html! { "What is sent to this topic is dropped until there is one." },
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

pub(super) async fn act(visit: &Visit, name: &str, what: &str) -> Result<FormOutcome, PageError> {
    let again = |form: Markup| {
        FormOutcome::Invalid(Page::new(name, NavSection::Queues).part(html! {
            (form)
            p { a href=(address(name)) { "Back to " (name) } }
        }))
    };
    let done = |said: &str| FormOutcome::Done { to: address(name), message: said.to_owned() };
    match what {
        "send" => Ok(match message::send(visit, name).await? {
            Ok(()) => done("The message was handed to the subscriptions that want it."),
            Err(form) => again(form),
        }),
        "settings" => Ok(match settings::write(visit, EntityKind::Topic, &api(name)).await? {
            Ok(()) => done("The settings are in force."),
            Err(form) => again(form),
        }),
        "subscribe" => {
            let root = format!("topics/{}/subscriptions", encoded(name));
            Ok(match settings::make(visit, EntityKind::Subscription, &root).await? {
                Ok((_, said)) => done(&said),
                Err(form) => again(form),
            })
        }
        "delete" => {
            visit.send(Method::DELETE, &api(name), &Value::Null).await?;
            Ok(FormOutcome::Done { to: "/ui/queues".to_owned(), message: format!("{name} is deleted.") })
        }
        _ => Err(PageError::NotFound),
    }
}
