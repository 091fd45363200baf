//! One message becomes one request: handed in like any other, and told apart from those that never can be.

use std::time::Duration;

use engine::CatalogEntry;
use ingest::{IncomingRequest, Location, RemoteRequest, Sender, SubmitError, WorkflowVersion};
use sha2::{Digest, Sha256};
use types::{Message, RunId};

use crate::SourceParts;
use crate::holders::{ForwardedRequest, OwnerError};

/// How long a source waits before it tries again what was refused for now.
const PAUSE: Duration = Duration::from_secs(1);

/// What became of a message.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum IntakeResult {
    /// Its run is durable.
    Started,
    /// It can never become a run; says why.
    Poison(String),
    /// There is no room for it at the moment.
    Later(Duration),
}

/// Hands a message in as a request of a workflow. `id` is that of its run, unless its body names one.
pub(crate) async fn take(
    parts: &SourceParts,
    entry: &CatalogEntry,
    id: Option<RunId>,
    message: &Message,
) -> IntakeResult {
    let incoming = IncomingRequest {
        body: message.body.clone(),
        header_id: id,
        sender: Sender::Internal,
        ..IncomingRequest::default()
    };
    let workflow = WorkflowVersion { definition: &entry.definition, version: entry.version };
    let submitted = match parts.ingest.admit_and_locate(workflow, incoming) {
        Ok(Location::Here(located)) => parts.ingest.submit(located).await,
        Ok(Location::There(remote)) => return forward(parts, entry, remote).await,
        Err(error) => Err(error),
    };
    match submitted {
        Ok(_) => IntakeResult::Started,
        Err(SubmitError::Refused(refusal)) => {
            IntakeResult::Later(PAUSE.max(Duration::from_secs(refusal.retry_after_secs.min(60))))
        }
        Err(SubmitError::Journal(_) | SubmitError::View(_) | SubmitError::Stopped { .. }) => {
            IntakeResult::Later(PAUSE)
        }
        Err(
            error @ (SubmitError::TooLarge { .. }
            | SubmitError::NotJson(_)
            | SubmitError::Schema(_)
            | SubmitError::Unfit(_)
            | SubmitError::Conflict { .. }),
        ) => IntakeResult::Poison(explain(&error)),
    }
}

/// Forwards a request whose body names its run: only the owner of its partition knows whether that id is in use.
async fn forward(parts: &SourceParts, entry: &CatalogEntry, remote: RemoteRequest) -> IntakeResult {
    let Some(holders) = &parts.holders else { return IntakeResult::Later(PAUSE) };
    let RemoteRequest { partition, incoming, .. } = remote;
    let (workflow, version) = (entry.definition.name().clone(), entry.version);
    let request = ForwardedRequest { workflow, version, id: incoming.header_id, body: incoming.body };
    match holders.hand_in(partition, request).await {
        Ok(_) => IntakeResult::Started,
        Err(OwnerError::Refused(reason)) => IntakeResult::Poison(reason),
        Err(OwnerError::Later(reason)) => {
            tracing::debug!(%partition, reason, "forwarding a message to the owner of its partition failed; retrying");
            IntakeResult::Later(PAUSE)
        }
    }
}

/// The id of a message's run when its body names none: the same whenever this message comes to this source of this
/// workflow, and another for every other. It begins with the message's own id where an id of a run can, for people.
pub(crate) fn run_id(entry: &CatalogEntry, from: &str, message: &Message, mark: &str) -> RunId {
    name_run(entry.definition.name().as_str(), from, &message.id, mark)
}

fn name_run(workflow: &str, from: &str, id: &str, mark: &str) -> RunId {
    let hash = hash(&[workflow, from, id, mark].map(str::as_bytes));
    let readable = (!id.is_empty()).then(|| RunId::new(&format!("{id}-{:016x}", hash as u64)).ok());
    let hidden = || RunId::new(&format!("{hash:032x}")).expect("digits are an id");
    readable.flatten().unwrap_or_else(hidden)
}

pub(crate) fn hash(parts: &[&[u8]]) -> u128 {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update((part.len() as u64).to_be_bytes());
        hasher.update(part);
    }
    u128::from_be_bytes(hasher.finalize()[..16].try_into().expect("a hash has 32 bytes"))
}

fn explain(error: &SubmitError) -> String {
    let SubmitError::Schema(problems) = error else { return error.to_string() };
    let each = problems.iter().map(|problem| format!("{}: {}", problem.pointer, problem.message));
    format!("{error}: {}", each.collect::<Vec<_>>().join("; "))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::name_run;

    #[test]
    fn the_id_of_a_run_is_derived_from_its_message_and_unique() {
        fn run(workflow: &str, from: &str, id: &str, mark: &str) -> String {
            name_run(workflow, from, id, mark).to_string()
        }
        assert!(run("w", "q", "order-7", "").starts_with("order-7-"));
        assert_eq!(run("w", "q", "order-7", "1"), run("w", "q", "order-7", "1"));
        assert_eq!(run("w", "q", "run/step/do", "").len(), 32);
        assert_eq!(run("w", "q", &"x".repeat(128), "").len(), 32);
        let all = BTreeSet::from([
            run("w", "q", "order-7", "1"),
            run("w", "q", "order-7", "2"),
            run("w", "q", "order-8", "1"),
            run("w", "other", "order-7", "1"),
            run("v", "q", "order-7", "1"),
            run("w", "q", "run/step/do", "1"),
            run("w", "q", "run/step/do", "2"),
        ]);
        assert_eq!(all.len(), 7);
    }
}
