//! Opening the journal on real servers: connect, have it proven that they are fit, make the streams or check them.

use async_nats::jetstream::ErrorCode;
use async_nats::jetstream::context::{CreateStreamError, CreateStreamErrorKind};

use crate::client::{CREATE_MAX, Client};
use crate::nats_journal::{Installation, NatsJournal};
use crate::settings::Settings;
use crate::snapshots::Snapshots;
use crate::wire::WireError;
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
    Unanswered(#[from] WireError),
}

impl OpenError {
    /// Why a bucket could not be made: JetStream said no, or may yet say yes.
    pub fn of_making(stream: &str, error: &CreateStreamError) -> OpenError {
        match error.kind() {
            // While servers start there is no leader, or too few of them; and others may have made it meanwhile.
            CreateStreamErrorKind::JetStream(said)
                if said.code() != 503
                    && said.kind() != ErrorCode::STREAM_NAME_EXIST
                    && said.kind() != ErrorCode::CLUSTER_NO_PEERS =>
            {
                OpenError::Refused { stream: stream.to_owned(), why: said.to_string() }
            }
            _ => OpenError::Unanswered(WireError(format!("making {stream}: {error}"))),
        }
    }

    /// What somebody made, or a refusal for good; else somebody may make it yet. Of several who make the same at once, one
    /// is answered.
    pub async fn made<T, E>(
        stream: &str,
        making: impl Future<Output = Result<T, E>>,
        refused: impl FnOnce(&E) -> OpenError,
    ) -> Result<Result<T, OpenError>, OpenError> {
        match tokio::time::timeout(CREATE_MAX, making).await {
            Err(_) => Err(OpenError::Unanswered(WireError(format!("making {stream}: no answer")))),
            Ok(Ok(made)) => Ok(Ok(made)),
            Ok(Err(error)) => match refused(&error) {
                unanswered @ OpenError::Unanswered(_) => Err(unanswered),
                refused => Ok(Err(refused)),
            },
        }
    }

    /// Whether trying again helps only after somebody has changed something.
    pub fn is_of_settings(&self) -> bool {
        !matches!(self, OpenError::Unreachable { .. } | OpenError::Unanswered(_) | OpenError::TooFew { .. })
    }
}

impl<S: Snapshots> NatsJournal<Client, S> {
    /// Opens the journal; makes its streams when they are missing. In a region that may not be the active one, connect,
    /// look, and use [`NatsJournal::on`]: a stream that was made cannot become a mirror.
    pub async fn open(settings: &Settings, snapshots: S) -> Result<NatsJournal<Client, S>, OpenError> {
        let client = Client::connect(settings).await?;
        preflight::check(settings, &client).await?;
        layout::ensure(&client, &settings.installation, settings.replicas).await?;
        Ok(NatsJournal::on(client, &settings.installation, snapshots).await?)
    }

    /// The journal of streams that exist, on servers that were found fit.
    pub async fn on(
        client: Client,
        installation: &Installation,
        snapshots: S,
    ) -> Result<NatsJournal<Client, S>, WireError> {
        NatsJournal::over(client, installation, snapshots, new_process()).await
    }
}

/// A number for [`NatsJournal::over`] that no other process has.
pub fn new_process() -> u64 {
    // The time in one half and chance in the other.
    let (high, low) = uuid::Uuid::now_v7().as_u64_pair();
    high ^ low
}
