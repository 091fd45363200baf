//! Suggestions for mistyped names, from what exists on the server.

use anyhow::Context;
use serde::Deserialize;
use serde_json::Value;
use workflow::did_you_mean;

use crate::client::{self, Answer, Call};
use crate::failure::{Failure, code_of};
use crate::session::Session;
use crate::table::clean;

/// Names fetched at most; a typo is most likely in one of the newest.
const LOOKED_AT: usize = 500;
/// A prefix of at least this many letters counts as similar.
const START_CHARS_MIN: usize = 4;

/// The kind of thing that a name refers to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameKind<'a> {
    Run,
    Collection,
    JobOf(&'a str),
    /// A queue, or a subscription as TOPIC/SUBSCRIPTION.
    Queue,
    Topic,
}

#[derive(Deserialize)]
struct NameItem {
    items: Vec<Value>,
}

impl Session {
    /// Calls the API for a named thing; if it does not exist, the error suggests a similar name.
    pub async fn find(&mut self, call: Call, kind: NameKind<'_>, name: &str) -> anyhow::Result<Answer> {
        match self.client.send(call).await {
            Ok(answer) => Ok(answer),
            Err(error) => Err(self.explain(error, kind, name).await),
        }
    }

    /// The error with a suggestion for the name.
    pub async fn explain(&mut self, error: anyhow::Error, kind: NameKind<'_>, name: &str) -> anyhow::Error {
        let program = self.program();
        let shown = clean(name);
        match (kind, code_of(&error)) {
            (NameKind::JobOf(collection), Some("unknown_collection")) => {
                let hint = self.nearest(NameKind::Collection, collection).await;
                no_collection(collection, &hint, &program)
            }
            (NameKind::Collection, Some("unknown_collection")) => {
                let hint = self.nearest(NameKind::Collection, name).await;
                no_collection(name, &hint, &program)
            }
            (NameKind::JobOf(collection), Some("unknown_job")) => {
                let hint = self.nearest(kind, name).await;
                let collection = clean(collection);
                let list = format!("; see its jobs with: {program} job list {collection}");
                let hint = if hint.is_empty() { list } else { hint };
                Failure::No(format!("collection '{collection}' has no job '{shown}'{hint}")).into()
            }
            (NameKind::Run, Some("not_found"))
            | (NameKind::Queue | NameKind::Topic, Some("unknown_queue" | "unknown_subscription")) => {
                let hint = self.nearest(kind, name).await;
                with_hint(error, &hint)
            }
            _ => error,
        }
    }

    /// `; did you mean '…'?`, or nothing if no name is similar or the names cannot be fetched.
    async fn nearest(&mut self, kind: NameKind<'_>, name: &str) -> String {
        let names = self.names(kind, name).await.unwrap_or_default();
        nearest(name, &names)
    }

    async fn names(&mut self, kind: NameKind<'_>, name: &str) -> anyhow::Result<Vec<String>> {
        let limit = LOOKED_AT.to_string();
        let limited = |path: &str, parameter| client::query(path, &[(parameter, Some(limit.clone()))]);
        match kind {
            NameKind::Run => self.listed(&limited("/v1/runs", "limit"), "id").await,
            NameKind::Collection => self.listed("/v1/collections", "collection").await,
            NameKind::JobOf(collection) => {
                let path = client::path("/v1/collections/{}/jobs", &[collection]);
                self.listed(&limited(&path, "limit"), "name").await
            }
            NameKind::Topic => self.listed("/v1/topics", "name").await,
            NameKind::Queue => match name.split_once('/') {
                None => self.listed("/v1/queues", "name").await,
                Some((topic, _)) => {
                    let path = client::path("/v1/topics/{}/subscriptions", &[topic]);
                    // Without the topic there are no subscriptions: the topic's name is wrong.
                    let Ok(own) = self.listed(&path, "name").await else {
                        return self.listed("/v1/topics", "name").await;
                    };
                    Ok(own.iter().map(|own| format!("{topic}/{own}")).collect())
                }
            },
        }
    }

    async fn listed(&mut self, path: &str, field: &str) -> anyhow::Result<Vec<String>> {
        let listed: NameItem = self.client.get(path).await.context("fetching names")?;
        let names = listed.items.iter().filter_map(|item| item[field].as_str());
        Ok(names.take(LOOKED_AT).map(str::to_owned).collect())
    }
}

/// The most similar of `names`, as the end of a message.
pub fn nearest(text: &str, names: &[String]) -> String {
    // An id copied from a narrow table ends with an ellipsis.
    let start = text.trim_end_matches('…');
    let mut begun = names.iter().filter(|name| name.starts_with(start));
    match (begun.next(), begun.next()) {
        (Some(only), None) if start.chars().count() >= START_CHARS_MIN => {
            format!("; did you mean '{}'?", clean(only))
        }
        _ => clean(&did_you_mean(text, names.iter().map(String::as_str))),
    }
}

fn no_collection(collection: &str, hint: &str, program: &str) -> anyhow::Error {
    let list = format!("; see them with: {program} job collection list");
    let hint = if hint.is_empty() { &list } else { hint };
    Failure::No(format!("no collection is named '{}'{hint}", clean(collection))).into()
}

fn with_hint(error: anyhow::Error, hint: &str) -> anyhow::Error {
    match error.downcast::<Failure>() {
        Ok(Failure::Refused(mut problem)) if !problem.detail.contains("did you mean") => {
            problem.detail.push_str(hint);
            Failure::Refused(problem).into()
        }
        Ok(other) => other.into(),
        Err(other) => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_meant_or_the_only_one_that_begins_so() {
        let names = ["delivery-1", "delivery-2", "019a8b7c-0000-7000"].map(str::to_owned);
        assert_eq!(nearest("delivry-1", &names), "; did you mean 'delivery-1'?");
        assert_eq!(nearest("019a8b7c…", &names), "; did you mean '019a8b7c-0000-7000'?");
        assert_eq!(nearest("order", &names), "");
        assert_eq!(nearest("del", &names), "");
    }
}
