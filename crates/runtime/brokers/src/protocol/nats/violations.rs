//! What a server forbids: it says so beside its answers, by the subject alone.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use async_nats::{Event, ServerError};
use tokio::sync::Notify;

/// Subjects that the user of a connection may not publish to, as far as the server has said so.
#[derive(Default)]
pub(super) struct Violations {
    subjects: Mutex<BTreeSet<String>>,
    changed: Notify,
}

/// Subjects that are remembered: enough for those who wait, and no more than a few kilobytes.
const SUBJECTS_MAX: usize = 64;

impl Violations {
    pub(super) fn hear(&self, event: &Event) {
        let Event::ServerError(ServerError::Other(told)) = event else { return };
        let Some(subject) = forbidden(told) else { return };
        let mut subjects = self.subjects.lock().unwrap_or_else(PoisonError::into_inner);
        if subjects.len() >= SUBJECTS_MAX {
            subjects.clear();
        }
        subjects.insert(subject);
        drop(subjects);
        self.changed.notify_waiters();
    }

    /// Waits until the server forbids this subject, and says so.
    pub(super) async fn of(&self, subject: &str) -> String {
        loop {
            let changed = self.changed.notified();
            if let Some(forbidden) = self.take(subject) {
                return forbidden;
            }
            changed.await;
        }
    }

    /// What is known to be forbidden. Each refusal is reported once: rights may be given later.
    pub(super) fn take(&self, subject: &str) -> Option<String> {
        let known = self.subjects.lock().unwrap_or_else(PoisonError::into_inner).remove(subject);
        known.then(|| format!("NATS does not let this user publish to {subject:?}"))
    }
}

/// The subject in `Permissions Violation for Publish to "orders.new"`.
fn forbidden(told: &str) -> Option<String> {
    let lower = told.to_ascii_lowercase();
    let rest = &told[lower.find("permissions violation for publish to")?..];
    rest.split('"').nth(1).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_subject_is_read_from_what_the_server_says() {
        let told = "Permissions Violation for Publish to \"Orders.New\"";
        assert_eq!(forbidden(told).as_deref(), Some("Orders.New"));
        assert_eq!(forbidden("Permissions Violation for Subscription to \"a\""), None);
    }
}
