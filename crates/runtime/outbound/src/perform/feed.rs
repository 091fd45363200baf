//! The supervisor's feed: a parked or undone run as a message on a built-in queue, besides the workflow's own notice.

use std::collections::BTreeMap;

use bytes::Bytes;
use serde::Serialize;
use serde_json::value::RawValue;
use types::{Message, Outcome, Work};

use super::{CallAttempt, PerformerInner};
use crate::limits;
use crate::outcome::not_done;
use crate::post::PostTarget;
use crate::send::{SendTarget, default_id};
use crate::sort::Sorted;

/// What a supervisor receives.
#[derive(Serialize)]
struct FeedMessage<'a> {
    run: FeedRun<'a>,
    /// Left out, as all outputs are, when the message would be too large with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    request: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    cut: bool,
    steps_done: Vec<FeedStep<'a>>,
    steps_undone: Vec<&'a str>,
}

#[derive(Serialize)]
struct FeedRun<'a> {
    id: &'a str,
    workflow: &'a str,
    version: u32,
    key: &'a str,
    status: &'a str,
    reason: Option<&'a str>,
    parked_count: u32,
}

#[derive(Serialize)]
struct FeedStep<'a> {
    step: &'a str,
    output: Option<&'a RawValue>,
}

impl PerformerInner {
    /// Tells the feed and the workflow's own action. The notice is given when both have it: else whoever has not confirmed
    /// it is reported again, under the same id, and one that will never take it does not keep the other from it.
    pub(super) async fn notify(&self, attempt: &CallAttempt<'_>, queue: &str) -> Option<Outcome> {
        if !attempt.definition.declares(attempt.work) {
            return self.feed(attempt, queue).await;
        }
        let had = self.halves.lock().expect("nobody panics while holding the map").get(&attempt.key);
        let fed = match had {
            Some(Half::Feed) => DONE,
            Some(Half::Own) | None => self.feed(attempt, queue).await?,
        };
        let own = match had {
            Some(Half::Own) => DONE,
            Some(Half::Feed) | None => self.act(attempt).await?,
        };
        let half = match (&fed, &own) {
            (Outcome::Done { .. }, Outcome::Transient { .. } | Outcome::Unknown { .. }) => Some(Half::Feed),
            (Outcome::Transient { .. } | Outcome::Unknown { .. }, Outcome::Done { .. }) => Some(Half::Own),
            _ => None,
        };
        self.halves.lock().expect("nobody panics while holding the map").note(&attempt.key, half);
        Some(worse(fed, own))
    }

    async fn feed(&self, attempt: &CallAttempt<'_>, queue: &str) -> Option<Outcome> {
        let target = SendTarget::BuiltIn(PostTarget::Queue(queue.to_owned()));
        let fed = match message(attempt) {
            Ok(message) => self.send(attempt, &target, message, limits::DEADLINE).await?,
            Err(reason) => Sorted::Refused { status: None, reason },
        };
        Some(match fed {
            Sorted::Done { status, .. } => Outcome::Done { status, output: b"null"[..].into() },
            sorted => named(queue, not_done(sorted)),
        })
    }
}

/// What was confirmed before.
const DONE: Outcome = Outcome::Done { status: 201, output: Bytes::from_static(b"null") };

/// The part of a notice that has been given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Half {
    Feed,
    Own,
}

/// Notices that one of two has, by their keys, while the other is tried again: a feed forgets ids sooner than an endpoint
/// that is down is given up. Lost with the process, and beyond its bound: then both are notified again.
#[derive(Debug, Default)]
pub(super) struct Halves(BTreeMap<String, Half>);

impl Halves {
    fn get(&self, key: &str) -> Option<Half> {
        self.0.get(key).copied()
    }

    fn note(&mut self, key: &str, half: Option<Half>) {
        match half {
            None => drop(self.0.remove(key)),
            Some(half) if self.0.len() < limits::HALF_NOTICES_MAX || self.0.contains_key(key) => {
                self.0.insert(key.to_owned(), half);
            }
            Some(_) => {}
        }
    }
}

/// The one that decides what follows: what may still be done first, then what will not be.
fn worse(one: Outcome, other: Outcome) -> Outcome {
    let rank = |outcome: &Outcome| match outcome {
        Outcome::Unknown { .. } => 3,
        Outcome::Transient { .. } => 2,
        Outcome::Refused { .. } => 1,
        Outcome::Done { .. } => 0,
    };
    if rank(&one) >= rank(&other) && rank(&one) > 0 { one } else { other }
}

fn named(queue: &str, mut outcome: Outcome) -> Outcome {
    if let Outcome::Refused { reason, .. } | Outcome::Transient { reason, .. } | Outcome::Unknown { reason } =
        &mut outcome
    {
        *reason = format!("feed '{queue}': {reason}");
    }
    outcome
}

fn message(attempt: &CallAttempt<'_>) -> Result<Message, String> {
    let (definition, context) = (attempt.definition, attempt.context);
    let raw = |bytes: &'_ bytes::Bytes| -> Result<Box<RawValue>, String> {
        serde_json::from_slice(bytes).map_err(|error| format!("not JSON: {error}"))
    };
    let request = raw(&context.request)?;
    let output = |name: &types::StepName| {
        let index = definition.step_names().iter().position(|step| step == name);
        index.and_then(|index| context.outputs.get(index)?.as_ref()).map(raw).transpose()
    };
    let outputs: Vec<_> = context.steps_done.iter().map(output).collect::<Result<_, _>>()?;
    let steps = context.steps_done.iter().zip(&outputs);
    let mut told = FeedMessage {
        run: FeedRun {
            id: context.run_id.as_str(),
            workflow: definition.name().as_str(),
            version: attempt.version,
            key: context.key.as_str(),
            status: context.status.as_str(),
            reason: context.reason.as_deref(),
            parked_count: context.parked_count,
        },
        request: Some(&request),
        cut: false,
        steps_done: steps
            .map(|(step, output)| FeedStep { step: step.as_str(), output: output.as_deref() })
            .collect(),
        steps_undone: context.steps_undone.iter().map(types::StepName::as_str).collect(),
    };
    let mut body = serde_json::to_vec(&told).expect("plain data is JSON");
    if body.len() > limits::FEED_BYTES_MAX {
        (told.request, told.cut) = (None, true);
        told.steps_done.iter_mut().for_each(|step| step.output = None);
        body = serde_json::to_vec(&told).expect("plain data is JSON");
    }
    let label = match attempt.work {
        Work::Notice(notice) => notice.name(),
        work => work.name(),
    };
    Ok(Message {
        // One for each run, so that a queue with sessions takes it as well.
        session: Some(context.run_id.to_string()),
        label: Some(label.to_owned()),
        content_type: Some("application/json".to_owned()),
        ..Message::new(default_id(&attempt.key), body)
    })
}
