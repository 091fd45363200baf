//! Jobs that start a run of a workflow: their requests go through ingest like any other.

use std::sync::Arc;

use engine::Catalogs;
use ingest::{IncomingRequest, Ingest, Location, Sender, SubmitError, WorkflowVersion};
use outbound::{StartError, StartRequest, Starter, Starting};
use sources::{ForwardedRequest, PartitionOwners};
use types::{RunId, Span, WorkflowName};

use crate::remote_owners::RemoteOwners;

pub(crate) struct WorkflowStarter {
    pub ingest: Arc<Ingest>,
    pub catalogs: Catalogs,
    pub remote_owners: Option<RemoteOwners>,
}

impl Starter for WorkflowStarter {
    fn start(&self, request: StartRequest) -> Starting<'_> {
        Box::pin(self.submit(request))
    }
}

impl WorkflowStarter {
    async fn submit(&self, request: StartRequest) -> Result<String, StartError> {
        let failed = |reason: String| StartError { reason, retry_after: None };
        let catalog = self.catalogs.load();
        let name = WorkflowName::new(&request.workflow).map_err(|error| failed(error.to_string()))?;
        let entry = catalog.current(&name).ok_or_else(|| failed("no workflow has this name".to_owned()))?;
        let id = RunId::new(&request.id).map_err(|error| failed(error.to_string()))?;
        let workflow = WorkflowVersion { definition: &entry.definition, version: entry.version };
        let (body, header_id, sender) = (request.body, Some(id), Sender::Internal);
        let incoming = IncomingRequest { body, header_id, sender, ..IncomingRequest::default() };
        let submitted = match self.ingest.admit_and_locate(workflow, incoming) {
            Ok(Location::Here(located)) => self.ingest.submit(located).await,
            // The body names the run: only the owner of its partition knows whether that id is in use.
            Ok(Location::There(remote)) => {
                let partition = remote.partition;
                let unowned = || failed(format!("partition {partition} is not owned by this instance"));
                let owners = self.remote_owners.as_ref().ok_or_else(unowned)?;
                let IncomingRequest { header_id: id, body, .. } = remote.incoming;
                let request = ForwardedRequest { workflow: name, version: entry.version, id, body };
                return owners.hand_in(partition, request).await.map_err(|error| failed(error.to_string()));
            }
            Err(error) => Err(error),
        };
        match submitted {
            Ok(durable) => Ok(durable.id.to_string()),
            Err(SubmitError::Refused(refusal)) => {
                let retry_after = Some(Span::from_secs(refusal.retry_after_secs));
                Err(StartError { reason: refusal.to_string(), retry_after })
            }
            Err(error) => Err(failed(error.to_string())),
        }
    }
}
