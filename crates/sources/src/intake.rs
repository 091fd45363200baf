//! One message becomes one request: handed in like any other, and told apart from those that never can be.

use std::time::Duration;

use engine::Entry;
use ingest::{Ingest, Offer, SubmitError, Target};
use journal::Journal;
use sha2::{Digest, Sha256};
use words::{Message, RunId};

/// How long a source waits before it tries again what was refused for now.
const PAUSE: Duration = Duration::from_secs(1);

/// What became of a message.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Its run is durable.
    Started,
    /// It can never become a run; says why.
    Poison(String),
    /// There is no room for it now.
    Later(Duration),
}

/// Hands a message in as a request of a workflow.
pub(crate) async fn take<J: Journal>(
    ingest: &Ingest<J>,
    entry: &Entry,
    from: &str,
    message: &Message,
) -> Verdict {
    let header_id = run_id(from, &message.id);
    let offer = Offer { body: message.body.clone(), header_id, ..Offer::default() };
    let target = Target { definition: &entry.definition, version: entry.version };
    match ingest.submit(target, offer).await {
        Ok(_) => Verdict::Started,
        Err(SubmitError::Refused(refusal)) => {
            Verdict::Later(PAUSE.max(Duration::from_secs(refusal.retry_after_secs.min(60))))
        }
        Err(
            SubmitError::Journal(_)
            | SubmitError::View(_)
            | SubmitError::Stopped { .. }
            | SubmitError::Elsewhere { .. },
        ) => Verdict::Later(PAUSE),
        Err(
            error @ (SubmitError::TooLarge { .. }
            | SubmitError::NotJson(_)
            | SubmitError::Schema(_)
            | SubmitError::Unfit(_)
            | SubmitError::Conflict { .. }),
        ) => Verdict::Poison(explain(&error)),
    }
}

/// The id of a message's run when its body names none: the message's own if it can be one, else a hash of it. Nothing
/// when the message has none: then a second delivery is a second run.
fn run_id(from: &str, id: &str) -> Option<RunId> {
    if id.is_empty() {
        return None;
    }
    RunId::new(id).ok().or_else(|| {
        let hash = Sha256::digest(format!("{from}\0{id}"));
        let half = u128::from_be_bytes(hash[..16].try_into().expect("a hash has 32 bytes"));
        RunId::new(&format!("{half:032x}")).ok()
    })
}

fn explain(error: &SubmitError) -> String {
    let SubmitError::Schema(problems) = error else { return error.to_string() };
    let each = problems.iter().map(|problem| format!("{}: {}", problem.pointer, problem.message));
    format!("{error}: {}", each.collect::<Vec<_>>().join("; "))
}

#[cfg(test)]
mod tests {
    use super::run_id;

    #[test]
    fn the_id_of_a_run_follows_from_the_message() {
        assert_eq!(run_id("q", "order-7").unwrap().as_str(), "order-7");
        assert_eq!(run_id("q", ""), None);
        let odd = run_id("q", "run/step/do").unwrap();
        assert_eq!(odd.as_str().len(), 32);
        assert_eq!(run_id("q", "run/step/do"), Some(odd.clone()));
        assert_ne!(run_id("other", "run/step/do"), Some(odd));
    }
}
