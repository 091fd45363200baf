//! The ids of messages that were sent lately, to drop a second one.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use words::{Span, Timestamp};

/// Ids in the order in which they came, and by themselves.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Seen {
    order: VecDeque<(Timestamp, Arc<str>)>,
    #[serde(skip)]
    ids: BTreeMap<Arc<str>, Timestamp>,
}

impl Seen {
    pub(super) fn restore(&mut self) {
        if planted::is(planted::Bug::IdsForgotten) {
            return;
        }
        self.ids = self.order.iter().map(|(at, id)| (id.clone(), *at)).collect();
    }

    pub(super) fn has(&self, id: &str, now: Timestamp, window: Span) -> bool {
        self.ids.get(id).is_some_and(|at| now.since(*at) < window)
    }

    /// How many ids are still remembered by then.
    pub(super) fn len(&self, now: Timestamp, window: Span) -> usize {
        let old = self.order.partition_point(|(at, _)| now.since(*at) >= window);
        self.order.len() - old
    }

    pub(super) fn note(&mut self, id: &str, at: Timestamp, window: Span) {
        while let Some((oldest, id)) = self.order.front() {
            if at.since(*oldest) < window {
                break;
            }
            // The id may have come again since, when its first time was already past the window.
            if self.ids.get(id) == Some(oldest) {
                self.ids.remove(id);
            }
            self.order.pop_front();
        }
        let id: Arc<str> = id.into();
        self.ids.insert(id.clone(), at);
        self.order.push_back((at, id));
    }
}
