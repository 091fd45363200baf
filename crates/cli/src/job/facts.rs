//! A job's definition as labelled lines, for display and comparison.

use schedule::action::{ActionCall, RetryPolicy};
use schedule::spelling::RetryType;
use schedule::{ActionTarget, Authentication};

use super::recurrence::{self, plural};
use super::view::{JobProperties, second};
use crate::json::one_line;

pub type Fact = (&'static str, String);

/// The definition of a job, without its state.
pub fn definition(job: &JobProperties) -> Vec<Fact> {
    let call = &job.action.main;
    let mut facts = target(call);
    facts.push(("schedule", recurrence::describe(job)));
    let starts = job.start_time.filter(|_| job.recurrence.is_some());
    facts.extend(starts.map(|start| ("begins", format!("{} UTC", second(start)))));
    facts.push(("retries", retries(call.retry_policy.as_ref())));
    if let Some(call) = &job.action.error_action {
        let own = call.retry_policy.as_ref().map(|policy| format!(", {}", retries(Some(policy))));
        let says = target(call).into_iter().map(|(_, fact)| fact).collect::<Vec<_>>().join(", ");
        facts.push(("on error", says + &own.unwrap_or_default()));
    }
    let words = [("missed", &job.missed), ("overlap", &job.overlap)];
    facts.extend(words.into_iter().filter_map(|(label, word)| Some((label, word.clone()?))));
    facts.extend(job.jitter.as_ref().map(|jitter| ("jitter", format!("up to {}", jitter.span()))));
    let change = job.clock_change.as_ref();
    let gap = change.and_then(|change| change.gap).map(|gap| format!("skipped times: {gap}"));
    let repeat = change.and_then(|change| change.repeat).map(|repeat| format!("repeated times: {repeat}"));
    let clocks: Vec<_> = gap.into_iter().chain(repeat).collect();
    if !clocks.is_empty() {
        facts.push(("clocks", clocks.join(", ")));
    }
    facts
}

/// The differences between two definitions, `label: before -> after`, including whether the job is enabled.
pub fn differences(before: &JobProperties, after: &JobProperties) -> Vec<String> {
    let with_state = |job: &JobProperties| {
        let mut facts = definition(job);
        facts.push(("state", job.state.clone()));
        facts
    };
    let (before, after) = (with_state(before), with_state(after));
    let find =
        |facts: &[Fact], label| facts.iter().find(|(name, _)| *name == label).map(|(_, fact)| fact.clone());
    let mut labels: Vec<&str> = before.iter().chain(&after).map(|(label, _)| *label).collect();
    let mut seen = Vec::new();
    labels.retain(|label| !seen.contains(label) && (seen.push(*label), true).1);
    let changes = labels.into_iter().filter_map(|label| match (find(&before, label), find(&after, label)) {
        (Some(before), Some(after)) if before == after => None,
        (before, after) => {
            let word = |fact: Option<String>| fact.unwrap_or_else(|| "nothing".to_owned());
            Some(format!("{label}: {} -> {}", word(before), word(after)))
        }
    });
    changes.collect()
}

fn target(call: &ActionCall) -> Vec<Fact> {
    match &call.target {
        ActionTarget::Request(request) => {
            let mut facts = vec![("calls", format!("{} {}", request.method, request.uri))];
            let headers = request.headers.iter().map(|(name, value)| format!("{name}: {value}"));
            let headers = headers.collect::<Vec<_>>().join(", ");
            facts.extend((!headers.is_empty()).then_some(("headers", headers)));
            facts.extend(request.body.clone().map(|body| ("body", body)));
            facts.extend(request.authentication.as_ref().map(|how| ("auth", signs_in(how))));
            facts
        }
        ActionTarget::Workflow(start) => {
            let mut facts = vec![("starts", format!("workflow {}", start.name))];
            facts.extend(start.id.clone().map(|id| ("run id", id)));
            facts.extend(start.body.as_ref().map(|body| ("request", one_line(&body.to_string()))));
            facts
        }
        ActionTarget::QueueMessage(_)
        | ActionTarget::ServiceBusQueueMessage(_)
        | ActionTarget::ServiceBusTopicMessage(_)
        | ActionTarget::Message(_) => {
            let to = call.target.destination_words().unwrap_or_default();
            vec![("sends to", to), ("message", call.target.message().unwrap_or_default().to_owned())]
        }
    }
}

fn signs_in(how: &Authentication) -> String {
    match how {
        Authentication::Basic { username, .. } => format!("Basic, user {username}"),
        Authentication::ClientCertificate { facts: Some(facts), .. } => {
            format!("certificate {}, valid until {} UTC", facts.subject_name, second(facts.expiration))
        }
        Authentication::ClientCertificate { facts: None, .. } => "client certificate".to_owned(),
        Authentication::ActiveDirectoryOAuth { client_id, tenant, .. } => {
            format!("OAuth token, client {client_id}, tenant {tenant}")
        }
    }
}

fn retries(policy: Option<&RetryPolicy>) -> String {
    let none =
        RetryPolicy { retry_type: None, retry_interval: None, retry_count: None, max_retry_interval: None };
    let kind = policy.and_then(|policy| policy.retry_type).unwrap_or(RetryType::Fixed);
    let usual = if policy.is_none() { " (default)" } else { "" };
    match policy.unwrap_or(&none).retry() {
        types::Retry::None => "none".to_owned(),
        types::Retry::Fixed { delay, attempts } => {
            let count = attempts.saturating_sub(1);
            format!("{count} {}, {delay} apart{usual}", plural(count, "more time"))
        }
        types::Retry::Exponential { first, max, attempts, .. } => {
            let count = attempts.saturating_sub(1);
            format!("{count} {}, exponential backoff from {first} to {max}", plural(count, "more time"))
        }
        types::Retry::Patient { .. } => format!("{kind}"),
    }
}
