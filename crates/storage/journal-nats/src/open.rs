//! Opening the journal on real servers: connect, check the servers, create or check the streams.

use crate::jetstream::{JetStream, JetStreamError};
use crate::nats_journal::{Installation, NatsJournal};
use crate::nats_wire::NatsWire;
use crate::settings::Settings;
use crate::snapshots::Snapshots;
use crate::{layout, preflight};

/// Why the journal on NATS could not be opened, and what to do.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error("NATS cannot be reached at {servers}: {why}")]
    Unreachable { servers: String, why: String },
    #[error("{address} is not a valid address: {why}")]
    Address { address: String, why: String },
    /// One side does not trust the certificate of the other, or does not use TLS.
    #[error("the TLS handshake with NATS at {servers} failed: {why}; {fix}")]
    Tls { servers: String, why: String, fix: String },
    #[error("NATS at {servers} rejects {who}; check user and password, or credentials")]
    Login { servers: String, who: String },
    #[error("{path} cannot be used: {why}")]
    File { path: String, why: String },
    /// A server that would lose acknowledged messages, or refuse large ones.
    #[error("NATS server {server} has {found}; put `{fix}` into its configuration and restart it")]
    Server { server: String, found: String, fix: String },
    #[error("NATS server {server} is version {found}; install {needed} or newer")]
    Version { server: String, found: String, needed: String },
    #[error(
        "{answered} NATS servers with JetStream have reported their configuration, {needed} are needed; {fix}"
    )]
    TooFew { answered: usize, needed: usize, fix: String },
    /// There is no way to find out whether the servers sync messages.
    #[error(
        "this account cannot see whether the NATS servers sync what they acknowledge: give a user of the system \
         account (system_user and system_password), or the monitoring address of each server \
         (monitor = [\"http://host:8222\"]); or set trust_servers = true if you have checked that each has \
         `jetstream {{ sync_interval: always }}` and `max_payload: 8MB`"
    )]
    Unproven,
    /// A stream with another configuration than the journal needs.
    #[error("stream {stream} has {field} {found}, it must be {asked}; {fix}")]
    Stream { stream: String, field: &'static str, found: String, asked: String, fix: String },
    /// The configured snapshot store is not the one that has the snapshots.
    #[error(
        "cluster.snapshots is {asked}, and the snapshots of this installation are in {noted}: set cluster.snapshots to \
         {noted}; or, to move them, stop all instances, copy all there is from {noted} to {asked}, set the metadata {key} \
         of the stream {stream} to {asked}, and start them again"
    )]
    Snapshots { noted: String, asked: String, stream: String, key: String },
    #[error("NATS refused to create the stream {stream}: {why}")]
    Refused { stream: String, why: String },
    #[error("NATS did not respond: {0}")]
    Unanswered(#[from] JetStreamError),
}

impl OpenError {
    /// Whether another attempt can succeed only after an operator has changed something.
    pub fn is_of_settings(&self) -> bool {
        !matches!(self, OpenError::Unreachable { .. } | OpenError::Unanswered(_) | OpenError::TooFew { .. })
    }
}

impl<S: Snapshots> NatsJournal<NatsWire, S> {
    /// Opens the journal; creates its streams if they do not exist. An instance of a region that may not be active must not
    /// use this, because an ordinary stream cannot become a mirror: it connects, checks, and uses [`NatsJournal::on`].
    pub async fn open(settings: &Settings, snapshots: S) -> Result<NatsJournal<NatsWire, S>, OpenError> {
        let jetstream = JetStream::connect(settings).await?;
        let servers = preflight::check(settings, &jetstream).await?;
        layout::ensure(&jetstream, &settings.installation, settings.replicas).await?;
        let wire = NatsWire::new(jetstream, settings, servers);
        Ok(NatsJournal::on(wire, &settings.installation, snapshots).await?)
    }

    /// The journal of streams that exist, on servers that have passed the preflight.
    pub async fn on(
        wire: NatsWire,
        installation: &Installation,
        snapshots: S,
    ) -> Result<NatsJournal<NatsWire, S>, JetStreamError> {
        NatsJournal::over(wire, installation, snapshots, new_process()).await
    }
}

/// A number for [`NatsJournal::over`] that is unique to this process.
pub fn new_process() -> u64 {
    // One half is the time, the other one is random.
    let (high, low) = uuid::Uuid::now_v7().as_u64_pair();
    high ^ low
}
