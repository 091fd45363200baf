//! Locating a request: its id, its key, its partition, and whether this instance can accept it.

use types::PartitionId;
use view::PartitionState;

use crate::error::SubmitError;
use crate::identity::{Identity, identify};
use crate::ingest::{Admitted, Ingest};
use crate::limits::{BODY_BYTES_MAX, DRAWS_MAX};
use crate::request::{
    IdentifiedRequest, IncomingRequest, LocatedRequest, Location, RemoteRequest, Sender, WorkflowVersion,
};

/// Where one request can be accepted, without its client.
pub(crate) enum RequestLocation {
    Here(IdentifiedRequest),
    There(RemoteRequest),
}

impl Ingest {
    /// Reads the body of an admitted request, the only time, and says where the request can be accepted. Reserves and
    /// writes nothing.
    pub fn locate<'a>(
        &'a self,
        _: Admitted,
        workflow: WorkflowVersion<'a>,
        incoming: IncomingRequest,
    ) -> Result<Location<'a>, SubmitError> {
        let client = self.ids.count_client();
        Ok(match self.locate_request(workflow, incoming)? {
            RequestLocation::Here(request) => Location::Here(LocatedRequest { workflow, request, client }),
            RequestLocation::There(remote) => Location::There(remote),
        })
    }

    /// The same for a request that this installation makes itself, which is admitted first.
    pub fn admit_and_locate<'a>(
        &'a self,
        workflow: WorkflowVersion<'a>,
        incoming: IncomingRequest,
    ) -> Result<Location<'a>, SubmitError> {
        self.locate(self.admit()?, workflow, incoming)
    }

    pub(crate) fn locate_request(
        &self,
        workflow: WorkflowVersion<'_>,
        incoming: IncomingRequest,
    ) -> Result<RequestLocation, SubmitError> {
        if incoming.body.len() > BODY_BYTES_MAX {
            return Err(SubmitError::TooLarge { bytes: incoming.body.len() });
        }
        let taken = workflow.definition.take(&incoming.body)?;
        let identity = identify(taken, incoming.path_id.as_ref(), incoming.header_id.as_ref())?;
        let (identity, partition, state) = self.place(identity);
        let is_owned = match state {
            PartitionState::Stopped => return Err(SubmitError::Stopped { partition }),
            PartitionState::Held => true,
            // No other request can have an id that was generated here.
            PartitionState::Elsewhere if identity.is_free() => false,
            PartitionState::Elsewhere if incoming.sender == Sender::Internal && !identity.from_body => false,
            PartitionState::Elsewhere => {
                let generated_id = identity.fresh.then_some(identity.id);
                return Ok(RequestLocation::There(RemoteRequest { partition, generated_id, incoming }));
            }
        };
        let IncomingRequest { body, trace, .. } = incoming;
        Ok(RequestLocation::Here(IdentifiedRequest { identity, partition, is_owned, body, trace }))
    }

    /// The partition of a request. An id that is generated here, and is the key as well, is generated again until it
    /// falls into a partition that this instance owns.
    fn place(&self, mut identity: Identity) -> (Identity, PartitionId, PartitionState) {
        let mut draws = 0;
        loop {
            let partition = PartitionId::of(&identity.key, self.partitions);
            let state = self.ids.partition_state(partition);
            if state != PartitionState::Elsewhere || !identity.is_free() || draws == DRAWS_MAX {
                return (identity, partition, state);
            }
            if draws == 0 && !self.ids.holds_any() {
                return (identity, partition, state);
            }
            identity = Identity::fresh();
            draws += 1;
        }
    }
}
