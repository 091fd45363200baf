//! Workflows: apply, see, delete.

use api_types::{AppliedView, WorkflowList, WorkflowView};

use crate::call::{Call, path};
use crate::error::Error;
use crate::sortie::Sortie;

impl Sortie {
    /// Applies a definition, YAML or JSON. One that is active already changes nothing.
    pub async fn apply(&self, definition: &str) -> Result<AppliedView, Error> {
        let call = Call::post("/v1/workflows", "application/yaml", definition.to_owned());
        self.send(call.repeatable()).await?.value()
    }

    /// All active workflows, without their sources.
    pub async fn workflows(&self) -> Result<Vec<WorkflowView>, Error> {
        Ok(self.get::<WorkflowList>("/v1/workflows").await?.items)
    }

    /// A workflow with its source.
    pub async fn workflow(&self, name: &str) -> Result<WorkflowView, Error> {
        self.get(&path("/v1/workflows/{}", &[name])).await
    }

    /// Takes no more requests for a workflow; its runs go on.
    pub async fn delete_workflow(&self, name: &str) -> Result<(), Error> {
        self.send(Call::delete(path("/v1/workflows/{}", &[name]))).await.map(drop)
    }
}
