//! Opening the journal on real servers: connect, have it proven that they are fit, make the streams or check them.

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
    #[error("{address} is not an address: {why}")]
    Address { address: String, why: String },
    /// One of the two does not trust the other, or does not speak TLS.
    #[error("no TLS with NATS at {servers}: {why}; {fix}")]
    Tls { servers: String, why: String, fix: String },
    #[error("NATS at {servers} does not let in {who}; check user and password, or credentials")]
    Login { servers: String, who: String },
    #[error("{path} cannot be used: {why}")]
    File { path: String, why: String },
    /// A server that would lose what it acknowledged, or refuse what it must take.
    #[error("NATS server {server} has {found}; put `{fix}` into its configuration and restart it")]
    Server { server: String, found: String, fix: String },
    #[error("NATS server {server} is version {found}; install {needed} or newer")]
    Version { server: String, found: String, needed: String },
    #[error(
        "{answered} of NATS's servers with JetStream said how they are configured, {needed} are needed; {fix}"
    )]
    TooFew { answered: usize, needed: usize, fix: String },
    /// Nobody said how to find out whether the servers are fit.
    #[error(
        "whether the NATS servers keep what they acknowledge cannot be seen by this account: give a user of the system \
         account (system_user and system_password), or the monitoring address of each server \
         (monitor = [\"http://host:8222\"]); or set trust_servers = true if you have checked that each has \
         `jetstream {{ sync_interval: always }}` and `max_payload: 8MB`"
    )]
    Unproven,
    /// A stream that is not what the journal needs.
    #[error("stream {stream} has {field} {found}, it must be {asked}; {fix}")]
    Stream { stream: String, field: &'static str, found: String, asked: String, fix: String },
    /// Snapshots are looked for elsewhere than where they are.
    #[error(
        "cluster.snapshots is {asked}, and the snapshots of this installation are in {noted}: set cluster.snapshots to \
         {noted}; or, to move them, stop all instances, copy all there is from {noted} to {asked}, set the metadata {key} \
         of the stream {stream} to {asked}, and start them again"
    )]
    Snapshots { noted: String, asked: String, stream: String, key: String },
    #[error("{stream}: NATS refused to make the stream: {why}")]
    Refused { stream: String, why: String },
    #[error("NATS did not answer: {0}")]
    Unanswered(#[from] JetStreamError),
}

impl OpenError {
    /// Whether trying again helps only after somebody has changed something.
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

/// A number for [`NatsJournal::over`] that no other process has.
pub fn new_process() -> u64 {
    // The time in one half and chance in the other.
    let (high, low) = uuid::Uuid::now_v7().as_u64_pair();
    high ^ low
}
