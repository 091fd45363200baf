//! Submitting a located request: reserve its id, make it durable, acknowledge it.

use std::time::Instant;

use journal::Journal;
use kernel::Request;
use types::{BodyHash, PartitionId};
use view::IdReservation;

use crate::error::SubmitError;
use crate::identity::{Identity, fingerprint};
use crate::ingest::Ingest;
use crate::request::{
    DurableRequest, IdentifiedRequest, LocatedRequest, Reservation, ReservedRequest, WorkflowVersion,
};

/// What became of the reservation of an id.
pub(crate) enum Reserved {
    /// The request is to be appended to the journal.
    Append(ReservedRequest),
    /// An equal request was accepted before.
    Exists(DurableRequest),
}

impl Ingest {
    /// Accepts a located request: when this returns, it is on stable storage.
    pub async fn submit(&self, located: LocatedRequest<'_>) -> Result<DurableRequest, SubmitError> {
        // The client waits until this function returns.
        let LocatedRequest { workflow, request, client: _client } = located;
        let reserved = match self.reserve_request(workflow, request)? {
            Reserved::Exists(durable) => {
                self.metrics.replayed.inc();
                return Ok(durable);
            }
            Reserved::Append(reserved) => reserved,
        };
        let began = Instant::now();
        // When the client disconnects here, the record may become durable or not. Its id stays reserved: the engine
        // releases it when the run ends, and a repeat of the request is appended once more.
        let appended = self.journal.inbox_append(reserved.partition, vec![reserved.record.clone()]).await;
        if let Err(error) = appended {
            self.give_back(&reserved);
            return Err(error.into());
        }
        self.metrics.ack_seconds.observe(began.elapsed());
        Ok(self.settle(reserved))
    }

    /// Reserves the id of a request and encodes its record. Writes nothing.
    pub(crate) fn reserve_request(
        &self,
        workflow: WorkflowVersion<'_>,
        identified: IdentifiedRequest,
    ) -> Result<Reserved, SubmitError> {
        let IdentifiedRequest { identity, partition, is_owned, body, trace } = identified;
        let body_hash = fingerprint(workflow.definition, &body);
        let at = self.clock.now();
        let reservation = match is_owned {
            true => self.reserve(&identity, body_hash, partition)?,
            false => Reservation::Remote,
        };
        let Identity { id, key, .. } = identity;
        if let Reservation::Exists { partition } = reservation {
            return Ok(Reserved::Exists(DurableRequest { id, key, partition, at, new: false }));
        }
        let request = Request {
            accepted_at: at,
            id: id.clone(),
            workflow: workflow.definition.name().clone(),
            version: workflow.version,
            key: key.clone(),
            body,
            body_hash,
            trace,
        };
        let record = journal::codec::encode(&request);
        Ok(Reserved::Append(ReservedRequest { id, key, partition, at, body_hash, record, reservation }))
    }

    fn reserve(
        &self,
        identity: &Identity,
        body_hash: BodyHash,
        partition: PartitionId,
    ) -> Result<Reservation, SubmitError> {
        let id = &identity.id;
        match self.ids.reserve(id, body_hash, partition) {
            IdReservation::New if identity.fresh => Ok(Reservation::First),
            IdReservation::New => self.check_ended(identity, body_hash, partition),
            IdReservation::Same { durable: true, partition } => Ok(Reservation::Exists { partition }),
            // Not yet durable, so it cannot be acknowledged: it is appended again, and the partition takes one.
            IdReservation::Same { durable: false, .. } => Ok(Reservation::InFlight),
            IdReservation::Conflict { .. } => Err(SubmitError::Conflict { id: id.clone() }),
        }
    }

    fn check_ended(
        &self,
        identity: &Identity,
        body_hash: BodyHash,
        partition: PartitionId,
    ) -> Result<Reservation, SubmitError> {
        let id = &identity.id;
        // A key of its own may have put an earlier run with this id into another partition.
        let own_key = identity.key.as_str() != id.as_str();
        let seen =
            if own_key { self.view.seen(id, Some(partition)) } else { self.view.seen_in(partition, id) };
        match seen {
            Ok(None) => Ok(Reservation::First),
            Ok(Some(ended)) => {
                self.ids.release(id);
                if ended == body_hash {
                    Ok(Reservation::Exists { partition })
                } else {
                    Err(SubmitError::Conflict { id: id.clone() })
                }
            }
            Err(error) => {
                self.ids.release(id);
                Err(SubmitError::View(error.to_string()))
            }
        }
    }

    pub(crate) fn give_back(&self, reserved: &ReservedRequest) {
        if reserved.reservation == Reservation::First {
            self.ids.release(&reserved.id);
        }
    }

    pub(crate) fn settle(&self, reserved: ReservedRequest) -> DurableRequest {
        let ReservedRequest { id, key, partition, at, body_hash, reservation, .. } = reserved;
        match reservation {
            Reservation::First => {
                self.ids.confirm(&id);
                self.admission.note_accepted(1);
                self.metrics.accepted.inc();
            }
            Reservation::InFlight => {
                // The equal request that came first may have failed meanwhile and released the id.
                self.ids.restore(&id, body_hash, partition);
                self.metrics.replayed.inc();
            }
            Reservation::Remote => _ = self.metrics.accepted.inc(),
            Reservation::Exists { .. } => unreachable!("an existing request is not appended"),
        }
        DurableRequest { id, key, partition, at, new: reservation != Reservation::InFlight }
    }
}
