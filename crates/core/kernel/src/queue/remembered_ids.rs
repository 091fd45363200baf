//! The ids of messages that were sent lately, to drop a second one.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use types::{Span, Timestamp};

/// Ids in the order in which they came, and by themselves.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct RememberedIds {
    order: VecDeque<(Timestamp, Arc<str>)>,
    #[serde(skip)]
    ids: BTreeMap<Arc<str>, Timestamp>,
}

impl RememberedIds {
    pub(super) fn restore(&mut self) {
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

    /// How many are in memory, whether they still count or not.
    #[cfg(test)]
    pub(super) fn held(&self) -> usize {
        assert!(self.ids.len() <= self.order.len());
        self.order.len()
    }

    /// When the last of them can be forgotten if none comes any more, to the next minute: it changes with few sends.
    pub(super) fn idle_at(&self, window: Span) -> Option<Timestamp> {
        const GRAIN_MS: i64 = 60_000;
        // The clock may have gone back between them; whichever is later keeps the rest.
        let ((first, _), (last, _)) = (self.order.front()?, self.order.back()?);
        let end = (*first.max(last) + window).0;
        Some(Timestamp(end.div_euclid(GRAIN_MS).saturating_add(1).saturating_mul(GRAIN_MS)))
    }

    pub(super) fn note(&mut self, id: &str, at: Timestamp, window: Span) {
        self.forget(at, window);
        let id: Arc<str> = id.into();
        self.ids.insert(id.clone(), at);
        self.order.push_back((at, id));
    }

    /// Forgets what no longer counts by then.
    pub(super) fn forget(&mut self, at: Timestamp, window: Span) {
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
        if self.order.is_empty() {
            self.order.shrink_to_fit();
        }
    }
}
