//! Why an operation on regions failed.

use journal_nats::jetstream::JetStreamError;
use snapshots::store::StoreError;

/// Why an operation on regions failed.
#[derive(Debug, thiserror::Error)]
pub enum RegionError {
    #[error("this region: {0}")]
    Here(#[source] JetStreamError),
    #[error("the pair {pair}: {source}")]
    Pair { pair: String, source: JetStreamError },
    /// A planned promotion needs the pair.
    #[error("the pair {pair} cannot be reached ({cause}); promote with --force to continue without it")]
    PairUnreachable { pair: String, cause: String },
    #[error("another operation on {region} is running: {by}")]
    Busy { region: String, by: String },
    #[error("{region} cannot be promoted: {reason}")]
    NotPromotable { region: String, reason: String },
    #[error(
        "{region} is incomplete: its mirrors have never caught up, or it was overtaken; only --force with --incomplete \
         promotes it with what it has"
    )]
    Incomplete { region: String },
    #[error("mirrors have not caught up: {0}; run the promotion again to continue waiting")]
    Lagging(String),
    #[error("the region record was changed meanwhile; look at the status and decide again")]
    Changed,
    /// While it was being fenced, the region was promoted.
    #[error("{region} was promoted meanwhile; look at the status and decide again")]
    Overruled { region: String },
    /// The leaf link forwards subjects that must stay in their region.
    #[error(
        "messages on {subject} in this region are also stored in {pair}: add the subject to deny_imports and deny_exports \
         of the leaf node remotes"
    )]
    LinkCarries { subject: String, pair: String },
    #[error("the witness: {0}")]
    Witness(#[source] JetStreamError),
    #[error("the witness refuses the lease: {0}")]
    WitnessRefuses(String),
    #[error("writing the divergent tail: {0}")]
    Keep(#[from] std::io::Error),
    #[error("storing the divergent tail in NATS: {0}")]
    Store(#[from] StoreError),
}
