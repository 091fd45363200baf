//! Workflows and their versions.

use std::sync::Arc;

use engine::{Applied, ApplyError, Catalog, CatalogEntry, Control, DeleteError};
use kernel::Run;
use kernel::job;
use types::{StepName, WorkflowName};

use crate::error::ApiError;

/// The workflows of the installation. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Workflows {
    pub control: Control,
}

impl Workflows {
    pub(crate) fn catalog(&self) -> Arc<Catalog> {
        self.control.catalogs().load()
    }

    /// The current version of a workflow, or an error that names the nearest one.
    pub(crate) fn current(&self, name: &str) -> Result<CatalogEntry, ApiError> {
        let catalog = self.catalog();
        let found = WorkflowName::new(name).ok().and_then(|name| catalog.current(&name).cloned());
        found.ok_or_else(|| {
            let known = catalog.all().map(|entry| entry.definition.name().as_str());
            let hint = workflow::did_you_mean(name, known);
            ApiError::UnknownWorkflow(format!("no workflow '{name}'{hint}"))
        })
    }

    /// Makes a definition the current version. `if_version` must be the current one, if given.
    pub(crate) async fn apply(
        &self,
        source: &str,
        by: &str,
        if_version: Option<u32>,
    ) -> Result<Applied, ApplyError> {
        self.control.apply(source, by, if_version).await
    }

    pub(crate) async fn delete(&self, name: &WorkflowName, by: &str) -> Result<(), DeleteError> {
        self.control.delete(name, by).await
    }

    /// The names of a run's steps; an archived run no longer has its plan.
    pub(crate) fn step_names(&self, run: &Run) -> Vec<StepName> {
        if run.is_occurrence() {
            return vec![StepName::new(job::STEP).expect("a constant name is valid")];
        }
        let catalog = self.catalog();
        let entry = catalog.version(&run.request.workflow, run.request.version);
        entry.expect("a run's workflow version is never removed").definition.step_names().to_vec()
    }
}
