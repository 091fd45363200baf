//! The catalog of workflows: every version ever applied, and which one new requests get.

use std::collections::BTreeMap;
use std::sync::{Arc, RwLock};

use kernel::Plans;
use types::{Plan, Timestamp, WorkflowName};
use workflow::Definition;

/// All workflows. Old versions stay: runs keep the one they started with.
#[derive(Clone, Default)]
pub struct Catalog {
    workflows: BTreeMap<WorkflowName, BTreeMap<u32, CatalogEntry>>,
    current: BTreeMap<WorkflowName, u32>,
}

/// One version of a workflow.
#[derive(Clone)]
pub struct CatalogEntry {
    pub version: u32,
    pub definition: Arc<Definition>,
    pub applied_at: Timestamp,
    pub applied_by: Arc<str>,
}

impl Catalog {
    /// The version that new requests of a workflow get.
    pub fn current(&self, workflow: &WorkflowName) -> Option<&CatalogEntry> {
        self.version(workflow, *self.current.get(workflow)?)
    }

    pub fn version(&self, workflow: &WorkflowName, version: u32) -> Option<&CatalogEntry> {
        self.workflows.get(workflow)?.get(&version)
    }

    /// Every version of a workflow, oldest first; also of a deleted one.
    pub fn versions(&self, workflow: &WorkflowName) -> impl Iterator<Item = &CatalogEntry> {
        self.workflows.get(workflow).into_iter().flat_map(BTreeMap::values)
    }

    /// The current version of every workflow, by name.
    pub fn all(&self) -> impl Iterator<Item = &CatalogEntry> {
        self.current.iter().filter_map(|(name, version)| self.version(name, *version))
    }

    /// The workflow that takes requests at a route of its own.
    pub fn by_route(&self, route: &str) -> Option<&CatalogEntry> {
        self.all().find(|entry| entry.definition.accept().route() == Some(route))
    }

    pub(crate) fn latest_version(&self, workflow: &WorkflowName) -> u32 {
        self.workflows.get(workflow).and_then(|versions| versions.keys().next_back()).copied().unwrap_or(0)
    }

    pub(crate) fn insert(&mut self, entry: CatalogEntry) {
        let name = entry.definition.name().clone();
        self.current.insert(name.clone(), entry.version);
        self.workflows.entry(name).or_default().insert(entry.version, entry);
    }

    pub(crate) fn retire(&mut self, workflow: &WorkflowName) {
        self.current.remove(workflow);
    }
}

impl Plans for Catalog {
    fn plan(&self, workflow: &WorkflowName, version: u32) -> Option<Arc<Plan>> {
        self.version(workflow, version).map(|entry| entry.definition.plan().clone())
    }
}

/// The catalog as the whole process shares it.
#[derive(Clone, Default)]
pub struct Catalogs(
    // A lock around a pointer: readers only clone it, the control partition alone replaces it.
    Arc<RwLock<Arc<Catalog>>>,
);

impl Catalogs {
    pub fn load(&self) -> Arc<Catalog> {
        self.0.read().expect("no holder of the lock panics").clone()
    }

    pub(crate) fn store(&self, catalog: Catalog) {
        *self.0.write().expect("no holder of the lock panics") = Arc::new(catalog);
    }
}
