//! Named documents of the control partition: the newest text of each kind and name.

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::sync::watch;
use types::Timestamp;

/// A document as it was last stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredDocument {
    /// JSON, by convention of the writers.
    pub text: Arc<str>,
    /// Higher with every change, and never the same twice for one kind and name, even after a removal.
    pub version: u64,
    pub at: Timestamp,
    pub by: Arc<str>,
}

/// All documents at one moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DocumentSet(BTreeMap<String, BTreeMap<String, StoredDocument>>);

impl DocumentSet {
    pub fn get(&self, kind: &str, name: &str) -> Option<&StoredDocument> {
        self.0.get(kind)?.get(name)
    }

    /// The documents of a kind, by name.
    pub fn all(&self, kind: &str) -> impl DoubleEndedIterator<Item = (&str, &StoredDocument)> {
        self.0.get(kind).into_iter().flatten().map(|(name, document)| (name.as_str(), document))
    }

    pub(super) fn count(&self, kind: &str) -> usize {
        self.0.get(kind).map_or(0, BTreeMap::len)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &str, &StoredDocument)> {
        let documents = self.0.iter();
        documents
            .flat_map(|(kind, all)| all.iter().map(move |(name, one)| (kind.as_str(), name.as_str(), one)))
    }

    pub(super) fn put(&mut self, kind: String, name: String, document: StoredDocument) {
        self.0.entry(kind).or_default().insert(name, document);
    }

    pub(super) fn remove(&mut self, kind: &str, name: &str) {
        let Some(all) = self.0.get_mut(kind) else { return };
        all.remove(name);
        if all.is_empty() {
            self.0.remove(kind);
        }
    }
}

/// The documents as the whole process shares them. Cheap to clone.
#[derive(Clone, Default)]
pub struct Documents(Arc<watch::Sender<Arc<DocumentSet>>>);

impl Documents {
    pub fn load(&self) -> Arc<DocumentSet> {
        self.0.borrow().clone()
    }

    /// Notifies of every change, whichever instance made it.
    pub fn watch(&self) -> watch::Receiver<Arc<DocumentSet>> {
        self.0.subscribe()
    }

    pub(super) fn store(&self, documents: &DocumentSet) {
        self.0.send_if_modified(|current| {
            let differs = **current != *documents;
            if differs {
                *current = Arc::new(documents.clone());
            }
            differs
        });
    }
}

/// The condition under which a document may be changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExpectedVersion {
    Anything,
    /// The name is free.
    Absent,
    /// This version is the newest.
    Version(u64),
}

impl ExpectedVersion {
    pub(super) fn holds(self, current: Option<u64>) -> bool {
        match self {
            ExpectedVersion::Anything => true,
            ExpectedVersion::Absent => current.is_none(),
            ExpectedVersion::Version(version) => current == Some(version),
        }
    }
}
