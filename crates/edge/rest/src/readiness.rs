//! Whether this process can answer clients usefully.
//!
//! A full disk and a stopped partition do not count: each call that they scope is refused with its reason, and metrics
//! raise the alarm. If they counted, all instances would be taken out of service at once, and no caller would learn why.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::api::Cluster;

/// Why it cannot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unready {
    /// The others do not know of it: it has just started, or it does not reach NATS.
    Unheard,
    /// It hands over its partitions.
    Ending,
}

impl Unready {
    pub(crate) fn code(self) -> &'static str {
        match self {
            Unready::Unheard => "unheard",
            Unready::Ending => "ending",
        }
    }

    pub(crate) fn detail(self) -> &'static str {
        match self {
            Unready::Unheard => {
                "NATS has not heard this instance yet, or not for some seconds; see whether NATS answers, and the log"
            }
            Unready::Ending => "this instance hands over what it has, and ends",
        }
    }
}

/// Whether the process is about to end. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub(crate) struct End(Arc<AtomicBool>);

impl End {
    pub(crate) fn begin(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Cluster {
    pub(crate) fn unready(&self) -> Option<Unready> {
        let seen = match (self.directory.view(), self.directory.me()) {
            (Some(view), Some(me)) => view.members.contains_key(me),
            _ => true,
        };
        if self.end.0.load(Ordering::Relaxed) {
            Some(Unready::Ending)
        } else if !seen || self.engine.calls_are_held() {
            Some(Unready::Unheard)
        } else {
            None
        }
    }
}
