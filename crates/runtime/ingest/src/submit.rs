//! Accepting one request: check it, reserve its id, make it durable, acknowledge it.

use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use host::Clock;
use journal::{AppendError, DynJournal, Journal};
use kernel::Request;
use types::{BodyHash, Key, PartitionId, RunId, Timestamp};
use view::{IdReservation, Ids, PartitionState, View};
use workflow::{BodyProblem, Definition, SchemaProblem};

use crate::admission::{Admission, Refusal, RefusalReason};
use crate::identity::{Identity, fingerprint, identify};
use crate::limits::{BODY_BYTES_MAX, DRAWS_MAX};
use crate::metrics::{IngestReading, Metrics, Reason};

/// The workflow version that a request is for.
#[derive(Clone, Copy)]
pub struct Target<'a> {
    pub definition: &'a Definition,
    pub version: u32,
}

/// A request as a client sends it.
#[derive(Debug, Clone, Default)]
pub struct Offer {
    pub body: Bytes,
    pub path_id: Option<RunId>,
    /// From the `Idempotency-Key` header.
    pub header_id: Option<RunId>,
    pub trace: Option<String>,
    pub elsewhere: Elsewhere,
}

/// What becomes of a request whose partition another instance owns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Elsewhere {
    /// It is appended to the inbox from here, and the partition drops it when it knows its id: for requests from inside,
    /// which are submitted again until they are durable, and whose ids only the sender assigns. An id that the body
    /// names may have been used by anyone: such a request is refused all the same.
    #[default]
    Append,
    /// It is refused, and goes to the owner: only the owner can say whether its id is taken.
    Refuse,
}

/// A request that is durable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Submitted {
    pub id: RunId,
    pub key: Key,
    pub partition: PartitionId,
    /// When this request was checked; of a repeated one, not when the first was accepted.
    pub at: Timestamp,
    /// False when the same request was accepted before.
    pub new: bool,
}

/// Why a request was not accepted. Nothing of it remains.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SubmitError {
    #[error("a body of {bytes} bytes is larger than {BODY_BYTES_MAX}")]
    TooLarge { bytes: usize },
    #[error("the body is {0}")]
    NotJson(String),
    #[error("the body does not match the workflow's schema")]
    Schema(Vec<SchemaProblem>),
    /// The id or the key cannot be used; says why.
    #[error("{0}")]
    Unfit(String),
    #[error(
        "run {id} exists with another body or workflow; use another id, or send the same bytes to the same workflow"
    )]
    Conflict { id: RunId },
    #[error(transparent)]
    Refused(#[from] Refusal),
    #[error("the request could not be made durable: {0}")]
    Journal(#[from] AppendError),
    #[error("the view cannot be read: {0}")]
    View(String),
    /// No instance would carry it out, and whether its id is taken cannot be checked.
    #[error("partition {partition} is stopped; see /readyz")]
    Stopped { partition: PartitionId },
    /// The partition is held by another instance, which is to be asked; `fresh` is the id that was made for it here.
    #[error("partition {partition} is not owned by this instance")]
    Elsewhere { partition: PartitionId, fresh: Option<RunId> },
}

impl From<BodyProblem> for SubmitError {
    fn from(problem: BodyProblem) -> SubmitError {
        match problem {
            BodyProblem::Json(invalid) => SubmitError::NotJson(invalid.to_string()),
            BodyProblem::Schema(problems) => SubmitError::Schema(problems),
            BodyProblem::Accept(problem) => SubmitError::Unfit(problem.to_string()),
        }
    }
}

/// Proof that there was room when a request arrived, so that it is checked once.
#[derive(Debug, Clone, Copy)]
pub struct Admitted(());

/// Accepts requests: checks them, makes them durable, acknowledges them. Refuses them when there is too much.
pub struct Ingest {
    pub(crate) journal: DynJournal,
    pub(crate) view: View,
    pub(crate) ids: Arc<Ids>,
    pub(crate) clock: Clock,
    pub(crate) partitions: u16,
    pub(crate) admission: Admission,
    pub(crate) metrics: Metrics,
}

/// A request that passed every check and has reserved its id.
pub(crate) struct Ready {
    pub id: RunId,
    pub key: Key,
    pub partition: PartitionId,
    pub at: Timestamp,
    pub body_hash: BodyHash,
    pub record: Bytes,
    pub reservation: Reservation,
}

/// How the id of a request is reserved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reservation {
    /// By this request.
    First,
    /// By an equal request that is being appended to the journal at this moment.
    InFlight,
    /// Not at all: another instance owns the partition, and checks the id when it takes the request.
    Remote,
    /// An equal request is durable, or has ended.
    Exists { partition: PartitionId },
}

/// What checking a request came to.
pub(crate) enum Checked {
    Ready(Ready),
    Exists(Submitted),
}

impl Ingest {
    pub fn new<J: Journal>(
        journal: Arc<J>,
        view: View,
        ids: Arc<Ids>,
        clock: Clock,
        partitions: u16,
        admission: Admission,
        metrics: Metrics,
    ) -> Ingest {
        let journal = DynJournal::new(journal);
        Ingest { journal, view, ids, clock, partitions, admission, metrics }
    }

    /// Accepts one request: when this returns, it is on stable storage.
    pub async fn submit(&self, target: Target<'_>, offer: Offer) -> Result<Submitted, SubmitError> {
        let admitted = self.admit()?;
        self.submit_admitted(admitted, target, offer).await
    }

    /// The same for a request that was admitted before its body was read.
    pub async fn submit_admitted(
        &self,
        _: Admitted,
        target: Target<'_>,
        offer: Offer,
    ) -> Result<Submitted, SubmitError> {
        let _entering = self.ids.count_client();
        let ready = match self.check(target, offer)? {
            Checked::Exists(submitted) => {
                self.metrics.replayed.inc();
                return Ok(submitted);
            }
            Checked::Ready(ready) => ready,
        };
        let began = Instant::now();
        // When the client disconnects here, the record may become durable or not. Its id stays reserved: the engine
        // releases it when the run ends, and a repeat of the request is appended once more.
        let appended = self.journal.inbox_append(ready.partition, vec![ready.record.clone()]).await;
        if let Err(error) = appended {
            self.give_back(&ready);
            return Err(error.into());
        }
        self.metrics.ack_seconds.observe(began.elapsed());
        Ok(self.settle(ready))
    }

    /// What has been accepted and refused, as the metrics count it.
    pub fn reading(&self) -> IngestReading {
        self.metrics.read()
    }

    /// Checks whether there is room for another request. Counts a refusal.
    pub fn admit(&self) -> Result<Admitted, Refusal> {
        let checked = self.admission.check(self.clock.now(), self.ids.len(), self.journal.room());
        checked.map(|()| Admitted(())).inspect_err(|refusal| {
            let reason = match refusal.reason {
                RefusalReason::Backlog => "backlog",
                RefusalReason::Disk => "disk",
                RefusalReason::Memory => "memory",
            };
            self.metrics.shed.get_or_create(&Reason { reason }).inc();
        })
    }

    /// Checks a request without writing it. A ready request has reserved its id.
    pub(crate) fn check(&self, target: Target<'_>, offer: Offer) -> Result<Checked, SubmitError> {
        if offer.body.len() > BODY_BYTES_MAX {
            return Err(SubmitError::TooLarge { bytes: offer.body.len() });
        }
        let taken = target.definition.take(&offer.body)?;
        let identity = identify(taken, offer.path_id, offer.header_id)?;
        let (identity, partition, standing) = self.place(identity);
        let body_hash = fingerprint(target.definition, &offer.body);
        let at = self.clock.now();
        let reservation = match standing {
            PartitionState::Stopped => return Err(SubmitError::Stopped { partition }),
            PartitionState::Held => self.reserve(&identity, body_hash, partition)?,
            // No other request can have an id that was generated here.
            PartitionState::Elsewhere if identity.is_free() => Reservation::Remote,
            PartitionState::Elsewhere if offer.elsewhere == Elsewhere::Append && !identity.from_body => {
                Reservation::Remote
            }
            PartitionState::Elsewhere => {
                let fresh = identity.fresh.then_some(identity.id);
                return Err(SubmitError::Elsewhere { partition, fresh });
            }
        };
        if let Reservation::Exists { partition } = reservation {
            let Identity { id, key, .. } = identity;
            return Ok(Checked::Exists(Submitted { id, key, partition, at, new: false }));
        }
        let request = Request {
            accepted_at: at,
            id: identity.id.clone(),
            workflow: target.definition.name().clone(),
            version: target.version,
            key: identity.key.clone(),
            body: offer.body,
            body_hash,
            trace: offer.trace,
        };
        let record = journal::codec::encode(&request);
        Ok(Checked::Ready(Ready {
            id: identity.id,
            key: identity.key,
            partition,
            at,
            body_hash,
            record,
            reservation,
        }))
    }

    /// The partition of a request. An id that is generated here, and is the key as well, is generated again until it
    /// falls into a partition that this instance owns.
    fn place(&self, mut identity: Identity) -> (Identity, PartitionId, PartitionState) {
        let mut draws = 0;
        loop {
            let partition = PartitionId::of(&identity.key, self.partitions);
            let standing = self.ids.partition_state(partition);
            if standing != PartitionState::Elsewhere || !identity.is_free() || draws == DRAWS_MAX {
                return (identity, partition, standing);
            }
            if draws == 0 && !self.ids.holds_any() {
                return (identity, partition, standing);
            }
            identity = Identity::fresh();
            draws += 1;
        }
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

    pub(crate) fn give_back(&self, ready: &Ready) {
        if ready.reservation == Reservation::First {
            self.ids.release(&ready.id);
        }
    }

    pub(crate) fn settle(&self, ready: Ready) -> Submitted {
        match ready.reservation {
            Reservation::First => {
                self.ids.confirm(&ready.id);
                self.admission.note_accepted(1);
                self.metrics.accepted.inc();
            }
            Reservation::InFlight => {
                // The equal request that came first may have failed meanwhile and released the id.
                self.ids.restore(&ready.id, ready.body_hash, ready.partition);
                self.metrics.replayed.inc();
            }
            Reservation::Remote => _ = self.metrics.accepted.inc(),
            Reservation::Exists { .. } => unreachable!("an existing request is not appended"),
        }
        let new = ready.reservation != Reservation::InFlight;
        Submitted { id: ready.id, key: ready.key, partition: ready.partition, at: ready.at, new }
    }
}
