//! The state of the control partition: its events folded, and the few of them that a snapshot needs.

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

/// An event of the control partition. Must stay readable for ever: variants are only added, at the end.
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
    /// A document replaces the previous one; without a text, the name is free again.
    Kept {
        kind: String,
        name: String,
        version: u64,
        document: Option<String>,
        at: Timestamp,
        by: String,
    },
}

/// The state of the control partition.
#[derive(Default)]
pub(super) struct ControlState {
    pub tail: Seq,
    /// All events of workflows: they are few and small.
    workflows: Vec<ControlEvent>,
    /// The newest documents only; older versions are dropped.
    pub documents: DocumentSet,
    /// Whether the workflows have changed since the catalog was last built.
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
            ControlEvent::Kept { kind, name, version, document: Some(text), at, by } => {
                let document = StoredDocument { text: text.into(), version, at, by: by.into() };
                self.documents.put(kind, name, document);
            }
            ControlEvent::Kept { kind, name, document: None, .. } => self.documents.remove(&kind, &name),
        }
    }

    /// The events that produce the same state.
    pub fn snapshot(&self) -> Bytes {
        let kept = self.documents.iter().map(|(kind, name, document)| ControlEvent::Kept {
            kind: kind.to_owned(),
            name: name.to_owned(),
            version: document.version,
            document: Some(document.text.to_string()),
            at: document.at,
            by: document.by.to_string(),
        });
        let events: Vec<_> = self.workflows.iter().map(Cow::Borrowed).chain(kept.map(Cow::Owned)).collect();
        codec::encode(&events)
    }

    /// Becomes the state of a snapshot.
    pub fn restore(&mut self, bytes: &[u8], through: Seq) -> Result<(), Unreadable> {
        let events: Vec<ControlEvent> = codec::decode(bytes)?;
        let mut state = ControlState { tail: through, ..ControlState::default() };
        events.into_iter().for_each(|event| state.push(event));
        state.workflows_changed = self.workflows_changed || state.workflows != self.workflows;
        *self = state;
        Ok(())
    }

    /// The catalog, if workflows have changed since it was last built: parsing every definition takes time, and
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

    /// The catalog has been brought up to date by other means.
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

    fn kept(kind: &str, name: &str, version: u64, document: Option<&str>) -> ControlEvent {
        ControlEvent::Kept {
            kind: kind.to_owned(),
            name: name.to_owned(),
            version,
            document: document.map(str::to_owned),
            at: Timestamp(7),
            by: "ada".to_owned(),
        }
    }

    #[test]
    fn what_documents_replace_is_forgotten() {
        let mut state = ControlState::default();
        state.push(kept("bulk", "a", 1, Some("{}")));
        let small = state.snapshot().len();
        for version in 2..100 {
            state.push(kept("bulk", "a", version, Some("{}")));
            state.push(kept("bulk", "b", version, Some("{}")));
            state.push(kept("bulk", "b", version, None));
        }
        assert_eq!(state.snapshot().len(), small);
        let mut again = ControlState::default();
        again.restore(&state.snapshot(), Seq(300)).unwrap();
        assert_eq!((again.tail, &again.documents), (Seq(300), &state.documents));
    }

    // guards: 49
    #[test]
    fn from_any_snapshot_on_the_events_make_the_same_state() {
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
        assert!(whole.documents.iter().count() > 2);
        for cut in 0..=events.len() {
            let mut before = ControlState::default();
            events[..cut].iter().for_each(|event| before.push(event.clone()));
            let mut state = ControlState::default();
            state.restore(&before.snapshot(), Seq(cut as u64)).unwrap();
            events[cut..].iter().for_each(|event| state.push(event.clone()));
            assert_eq!(
                (&state.workflows, &state.documents),
                (&whole.workflows, &whole.documents),
                "cut at {cut}"
            );
            assert_eq!(state.snapshot(), whole.snapshot());
        }
    }

    #[test]
    fn documents_do_not_make_anybody_read_the_workflows_again() {
        let mut state = ControlState::default();
        let name = WorkflowName::new("w").unwrap();
        state.push(ControlEvent::WorkflowDeleted { name, at: Timestamp(1), by: String::new() });
        assert!(state.changed_catalog().unwrap().is_some());
        state.push(kept("bulk", "a", 2, Some("{}")));
        assert!(state.changed_catalog().unwrap().is_none());
        let bytes = state.snapshot();
        state.restore(&bytes, Seq(9)).unwrap();
        assert!(state.changed_catalog().unwrap().is_none(), "the same workflows as before");
        let mut other = ControlState::default();
        other.restore(&bytes, Seq(9)).unwrap();
        assert!(other.changed_catalog().unwrap().is_some());
    }
}
