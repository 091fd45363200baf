//! What the control partition has come to: its events folded, and the few of them that a snapshot needs.

use std::borrow::Cow;
use std::sync::Arc;

use bytes::Bytes;
use journal::codec::{self, Unreadable};
use serde::{Deserialize, Serialize};
use types::{Seq, Timestamp, WorkflowName};
use workflow::Definition;

use super::ControlError;
use super::documents::{DocumentSet, StoredDocument};
use crate::{Catalog, CatalogEntry};

/// A fact of the control partition. Read for ever: variants are only added, at the end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum ControlEvent {
    WorkflowApplied {
        name: WorkflowName,
        version: u32,
        source: String,
        at: Timestamp,
        by: String,
    },
    WorkflowDeleted {
        name: WorkflowName,
        at: Timestamp,
        by: String,
    },
    /// A document takes the place of the one before it; without one, the name is free again.
    Kept {
        shelf: String,
        name: String,
        version: u64,
        document: Option<String>,
        at: Timestamp,
        by: String,
    },
}

/// What is known of the control partition.
#[derive(Default)]
pub(super) struct ControlState {
    pub tail: Seq,
    /// All that ever happened to workflows: it is small.
    workflows: Vec<ControlEvent>,
    /// The newest documents alone: those before them are forgotten.
    pub shelves: DocumentSet,
    /// Whether the workflows have changed since somebody asked.
    workflows_changed: bool,
    /// Whether the state may belong to a history that was replaced: then a follower reads it again from the start.
    pub outlived: bool,
}

impl ControlState {
    pub fn push(&mut self, event: ControlEvent) {
        match event {
            ControlEvent::WorkflowApplied { .. } | ControlEvent::WorkflowDeleted { .. } => {
                self.workflows.push(event);
                self.workflows_changed = true;
            }
            ControlEvent::Kept { shelf, name, version, document: Some(text), at, by } => {
                let document = StoredDocument { text: text.into(), version, at, by: by.into() };
                self.shelves.put(shelf, name, document);
            }
            ControlEvent::Kept { shelf, name, document: None, .. } => self.shelves.remove(&shelf, &name),
        }
    }

    /// The events that make the same book.
    pub fn snapshot(&self) -> Bytes {
        let kept = self.shelves.iter().map(|(shelf, name, document)| ControlEvent::Kept {
            shelf: shelf.to_owned(),
            name: name.to_owned(),
            version: document.version,
            document: Some(document.text.to_string()),
            at: document.at,
            by: document.by.to_string(),
        });
        let events: Vec<_> = self.workflows.iter().map(Cow::Borrowed).chain(kept.map(Cow::Owned)).collect();
        codec::encode(&events)
    }

    /// Becomes what a snapshot holds.
    pub fn restore(&mut self, bytes: &[u8], through: Seq) -> Result<(), Unreadable> {
        let events: Vec<ControlEvent> = codec::decode(bytes)?;
        let mut book = ControlState { tail: through, ..ControlState::default() };
        events.into_iter().for_each(|event| book.push(event));
        book.workflows_changed = self.workflows_changed || book.workflows != self.workflows;
        *self = book;
        Ok(())
    }

    /// The catalog, when workflows have changed since it was asked for last: reading every definition takes time, and
    /// documents change far more often.
    pub fn changed_catalog(&mut self) -> Result<Option<Catalog>, ControlError> {
        if !self.workflows_changed {
            return Ok(None);
        }
        let mut catalog = Catalog::default();
        for event in &self.workflows {
            evolve(&mut catalog, event)?;
        }
        self.workflows_changed = false;
        Ok(Some(catalog))
    }

    /// The catalog has been brought up to the book by other means.
    pub fn catalog_is_known(&mut self) {
        self.workflows_changed = false;
    }
}

fn evolve(catalog: &mut Catalog, event: &ControlEvent) -> Result<(), ControlError> {
    match event {
        ControlEvent::WorkflowApplied { name, version, source, at, by } => {
            let definition = Definition::parse(source).map_err(|problems| ControlError::Definition {
                name: name.clone(),
                version: *version,
                problems,
            })?;
            catalog.insert(CatalogEntry {
                version: *version,
                definition: Arc::new(definition),
                applied_at: *at,
                applied_by: by.as_str().into(),
            });
        }
        ControlEvent::WorkflowDeleted { name, .. } => catalog.retire(name),
        ControlEvent::Kept { .. } => {}
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(shelf: &str, name: &str, version: u64, document: Option<&str>) -> ControlEvent {
        ControlEvent::Kept {
            shelf: shelf.to_owned(),
            name: name.to_owned(),
            version,
            document: document.map(str::to_owned),
            at: Timestamp(7),
            by: "ada".to_owned(),
        }
    }

    #[test]
    fn what_documents_replace_is_forgotten() {
        let mut book = ControlState::default();
        book.push(kept("bulk", "a", 1, Some("{}")));
        let small = book.snapshot().len();
        for version in 2..100 {
            book.push(kept("bulk", "a", version, Some("{}")));
            book.push(kept("bulk", "b", version, Some("{}")));
            book.push(kept("bulk", "b", version, None));
        }
        assert_eq!(book.snapshot().len(), small);
        let mut again = ControlState::default();
        again.restore(&book.snapshot(), Seq(300)).unwrap();
        assert_eq!((again.tail, &again.shelves), (Seq(300), &book.shelves));
    }

    // guards: 49
    #[test]
    fn from_any_snapshot_on_the_events_make_the_same_book() {
        let name = |text| WorkflowName::new(text).unwrap();
        let mut events: Vec<_> = (0..40_u64)
            .map(|n| {
                let document = (n % 5 != 0).then(|| format!("{{\"n\":{n}}}"));
                kept(
                    ["bulk", "services"][n as usize % 2],
                    ["a", "b", "c"][n as usize % 3],
                    n,
                    document.as_deref(),
                )
            })
            .collect();
        events
            .insert(11, ControlEvent::WorkflowDeleted { name: name("w"), at: Timestamp(1), by: "x".into() });
        let mut whole = ControlState::default();
        events.iter().for_each(|event| whole.push(event.clone()));
        assert!(whole.shelves.iter().count() > 2);
        for cut in 0..=events.len() {
            let mut before = ControlState::default();
            events[..cut].iter().for_each(|event| before.push(event.clone()));
            let mut book = ControlState::default();
            book.restore(&before.snapshot(), Seq(cut as u64)).unwrap();
            events[cut..].iter().for_each(|event| book.push(event.clone()));
            assert_eq!((&book.workflows, &book.shelves), (&whole.workflows, &whole.shelves), "cut at {cut}");
            assert_eq!(book.snapshot(), whole.snapshot());
        }
    }

    #[test]
    fn documents_do_not_make_anybody_read_the_workflows_again() {
        let mut book = ControlState::default();
        let name = WorkflowName::new("w").unwrap();
        book.push(ControlEvent::WorkflowDeleted { name, at: Timestamp(1), by: String::new() });
        assert!(book.changed_catalog().unwrap().is_some());
        book.push(kept("bulk", "a", 2, Some("{}")));
        assert!(book.changed_catalog().unwrap().is_none());
        let bytes = book.snapshot();
        book.restore(&bytes, Seq(9)).unwrap();
        assert!(book.changed_catalog().unwrap().is_none(), "the same workflows as before");
        let mut other = ControlState::default();
        other.restore(&bytes, Seq(9)).unwrap();
        assert!(other.changed_catalog().unwrap().is_some());
    }
}
