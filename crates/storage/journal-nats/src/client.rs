//! The wire to real servers: plain requests of JetStream's API, each with a short patience of its own.

mod api;
mod follow;
mod range;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_nats::{
    ConnectError, ConnectErrorKind, ConnectOptions, HeaderMap, Message, Request, RequestErrorKind, ServerAddr,
};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio::time::timeout;

use crate::names;
use crate::open::OpenError;
use crate::preflight::Survey;
use crate::settings::{Login, Servers, Settings, Tls};
use crate::wire::{Bounds, Outgoing, PublishError, Source, Storage, Wire, WireError};

pub(crate) use api::{Answer, ApiError, PREFIX};

/// A server that has not answered by then may be gone: a commit takes milliseconds.
const ANSWER_MAX: Duration = Duration::from_secs(2);
/// Creating a stream elects its leader first. When several create one at once, the server answers only the last.
pub(crate) const CREATE_MAX: Duration = Duration::from_secs(2);
/// Two pings without an answer end a connection, so a frozen server holds nobody for longer than some seconds.
const PING_EVERY: Duration = Duration::from_secs(1);
const CONNECT_MAX: Duration = Duration::from_secs(5);
const RECONNECT_MAX: Duration = Duration::from_secs(1);

/// A connection to the servers of one region.
#[derive(Clone)]
pub struct Client {
    nats: async_nats::Client,
    installation: String,
    /// `$JS.<domain>.API` of the pair.
    pair: Option<String>,
    followers: Arc<Followers>,
    /// What the servers say of themselves; nothing, when nobody may ask them.
    surveys: Arc<watch::Sender<Survey>>,
}

/// Tasks that end with the last client.
#[derive(Default)]
struct Followers(Mutex<Vec<AbortHandle>>);

impl Drop for Followers {
    fn drop(&mut self) {
        for follower in self.0.lock().expect("no holder of the lock panics").drain(..) {
            follower.abort();
        }
    }
}

impl Client {
    /// Connects to one of the servers; later to another one, whenever that is lost.
    pub async fn connect(settings: &Settings) -> Result<Client, OpenError> {
        let nats = connect(&settings.servers, &settings.login, &settings.tls).await?;
        Ok(Client::over(nats, settings))
    }

    /// Connects to one of the servers, now or whenever one is there. What it is asked before finds nobody.
    pub async fn connect_whenever(settings: &Settings) -> Result<Client, OpenError> {
        match Client::connect(settings).await {
            Err(OpenError::Unreachable { servers, why }) => {
                tracing::warn!(servers, why, "connecting as soon as one of them is there");
                let Settings { servers, login, tls, .. } = settings;
                let options = options(servers, login, tls).await?.retry_on_initial_connect();
                let nats = options.connect(servers.addresses()?).await;
                let nats = nats.map_err(|error| unconnected(servers, login, tls, &error))?;
                Ok(Client::over(nats, settings))
            }
            connected => connected,
        }
    }

    fn over(nats: async_nats::Client, settings: &Settings) -> Client {
        Client {
            nats,
            installation: settings.installation.name.clone(),
            pair: settings.pair_domain.as_ref().map(|domain| format!("$JS.{domain}.API")),
            followers: Arc::default(),
            surveys: Arc::default(),
        }
    }

    /// The connection, for what is kept beside the journal.
    pub fn nats(&self) -> &async_nats::Client {
        &self.nats
    }

    /// Follows what the servers say of themselves, once they were found fit.
    pub fn survey(&self) -> watch::Receiver<Survey> {
        self.surveys.subscribe()
    }

    /// Keeps somebody at it who tells what the servers say, until the last client is gone.
    pub(crate) fn watch_servers<F>(&self, watch: impl FnOnce(Arc<watch::Sender<Survey>>) -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let task = host::spawn("NATS servers", watch(Arc::clone(&self.surveys)));
        self.followers.0.lock().expect("no holder of the lock panics").push(task.abort_handle());
    }

    async fn request(
        &self,
        subject: String,
        request: Request,
        patience: Duration,
    ) -> Result<Message, Unanswered> {
        let request = request.timeout(None);
        // Around everything: while there is no connection, even handing over the request waits.
        match timeout(patience, self.nats.send_request(subject, request)).await {
            Err(_) => Err(Unanswered::Silence),
            Ok(Ok(message)) => Ok(message),
            Ok(Err(error)) => match error.kind() {
                RequestErrorKind::NoResponders => Err(Unanswered::NoResponders),
                RequestErrorKind::MaxPayloadExceeded => Err(Unanswered::TooLarge),
                _ => Err(Unanswered::Failed(error.to_string())),
            },
        }
    }

    /// Asks the API of JetStream, `STREAM.INFO.name` for example.
    pub(crate) async fn ask<A: DeserializeOwned>(
        &self,
        prefix: &str,
        what: &str,
        question: &impl Serialize,
        patience: Duration,
    ) -> Result<Answer<A>, WireError> {
        let payload = serde_json::to_vec(question).expect("a question can always be written");
        let request = Request::new().payload(payload.into());
        let subject = format!("{prefix}.{what}");
        let message = self.request(subject, request, patience).await;
        let message = message.map_err(|why| WireError(format!("{what}: {why}")))?;
        let answer = serde_json::from_slice(&message.payload);
        answer.map_err(|error| WireError(format!("{what}: the answer makes no sense: {error}")))
    }

    async fn get_from(&self, prefix: &str, stream: &str, sequence: u64) -> Result<Option<Bytes>, WireError> {
        let question = api::Get { seq: sequence };
        let what = format!("STREAM.MSG.GET.{stream}");
        let answer: Answer<api::Got> = self.ask(prefix, &what, &question, ANSWER_MAX).await?;
        match answer {
            Answer::Done(got) => {
                let bytes = STANDARD.decode(got.message.data);
                let bytes = bytes
                    .map_err(|error| WireError(format!("{what}: the answer makes no sense: {error}")))?;
                Ok((got.message.seq == sequence).then(|| bytes.into()))
            }
            Answer::Refused { error } if error.err_code == api::NO_MESSAGE => Ok(None),
            Answer::Refused { error } => Err(refused(&what, &error)),
        }
    }

    /// Whether the pair's stream mirrors ours, so that what it has is ours.
    async fn is_mirrored(&self, prefix: &str, stream: &str) -> Result<bool, WireError> {
        let what = format!("STREAM.INFO.{stream}");
        match self.ask::<api::Mirrored>(prefix, &what, &(), ANSWER_MAX).await? {
            Answer::Refused { error } => Err(refused(&what, &error)),
            Answer::Done(there) => Ok(there.mirrors(stream, self.nats.server_info().domain.as_deref())),
        }
    }

    async fn get_directly(&self, stream: &str, sequence: u64) -> Result<Option<Bytes>, WireError> {
        let what = format!("DIRECT.GET.{stream}");
        let payload =
            serde_json::to_vec(&api::Get { seq: sequence }).expect("a question can always be written");
        let request = Request::new().payload(payload.into());
        let message = self.request(format!("{}.{what}", api::PREFIX), request, ANSWER_MAX).await;
        let message = message.map_err(|why| WireError(format!("{what}: {why}")))?;
        match message.status.map(|status| status.as_u16()) {
            None => Ok((range::sequence_of(&message) == Some(sequence)).then_some(message.payload)),
            Some(404) => Ok(None),
            Some(status) => Err(WireError(format!("{what}: status {status}"))),
        }
    }
}

pub(crate) async fn connect(
    servers: &Servers,
    login: &Login,
    tls: &Tls,
) -> Result<async_nats::Client, OpenError> {
    let options = options(servers, login, tls).await?;
    let connected = options.connect(servers.addresses()?).await;
    connected.map_err(|error| unconnected(servers, login, tls, &error))
}

async fn options(servers: &Servers, login: &Login, tls: &Tls) -> Result<ConnectOptions, OpenError> {
    let addresses = servers.addresses()?;
    // Servers that are learnt later have no scheme: what was asked of one is asked of all.
    let required = tls.required || addresses.iter().any(ServerAddr::tls_required);
    let options = ConnectOptions::new()
        .name("sortie")
        .ping_interval(PING_EVERY)
        .connection_timeout(CONNECT_MAX)
        .require_tls(required)
        .tls_client_config(crate::tls::config(tls)?)
        .reconnect_delay_callback(|attempts| {
            RECONNECT_MAX.min(Duration::from_millis(50) * u32::try_from(attempts).unwrap_or(u32::MAX).min(20))
        });
    match login {
        Login::Nobody => Ok(options),
        Login::Password { user, password } => Ok(options.user_and_password(user.clone(), password.clone())),
        Login::Credentials(file) => {
            let read = options.credentials_file(file).await;
            read.map_err(|error| OpenError::File { path: file.display().to_string(), why: error.to_string() })
        }
    }
}

fn unconnected(servers: &Servers, login: &Login, tls: &Tls, error: &ConnectError) -> OpenError {
    match error.kind() {
        ConnectErrorKind::AuthorizationViolation | ConnectErrorKind::Authentication => {
            OpenError::Login { servers: servers.to_string(), who: login.to_string() }
        }
        _ => crate::tls::disagreement(servers, tls, error).unwrap_or_else(|| OpenError::Unreachable {
            servers: servers.to_string(),
            why: error.to_string(),
        }),
    }
}

fn refused(what: &str, error: &ApiError) -> WireError {
    WireError(format!("{what}: {} ({})", error.description, error.err_code))
}

/// Why there is no answer.
enum Unanswered {
    Silence,
    NoResponders,
    TooLarge,
    Failed(String),
}

impl std::fmt::Display for Unanswered {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Unanswered::Silence => f.write_str("no answer"),
            Unanswered::NoResponders => f.write_str("nobody answers there"),
            Unanswered::TooLarge => f.write_str("larger than the server takes"),
            Unanswered::Failed(why) => f.write_str(why),
        }
    }
}

impl Wire for Client {
    async fn publish(&self, message: Outgoing) -> Result<u64, PublishError> {
        let mut headers = HeaderMap::new();
        headers.insert("Nats-Expected-Stream", message.stream.as_str());
        if let Some(last) = message.expected_last {
            headers.insert("Nats-Expected-Last-Sequence", last.to_string());
        }
        if let Some(id) = &message.message_id {
            headers.insert("Nats-Msg-Id", id.as_str());
        }
        let request = Request::new().headers(headers).payload(message.payload);
        let answer = self.request(message.subject, request, ANSWER_MAX).await.map_err(|why| match why {
            Unanswered::TooLarge => PublishError::TooLarge,
            why => PublishError::Unknown(why.to_string()),
        })?;
        let answer: Answer<api::Stored> = serde_json::from_slice(&answer.payload)
            .map_err(|error| PublishError::Unknown(format!("the answer makes no sense: {error}")))?;
        let stored = match answer {
            Answer::Done(stored) => stored.here(self.nats.server_info().domain.as_deref())?,
            Answer::Refused { error } => return Err(api::publish_error(&error)),
        };
        if message.expected_last.is_none() {
            self.hint_end(&message.stream, stored).await;
        }
        Ok(stored)
    }

    async fn bounds(&self, stream: &str) -> Result<Bounds, WireError> {
        let what = format!("STREAM.INFO.{stream}");
        match self.ask::<api::Info>(api::PREFIX, &what, &(), ANSWER_MAX).await? {
            Answer::Refused { error } => Err(refused(&what, &error)),
            Answer::Done(info) => {
                let subject = names::subject_of(&self.installation, stream);
                Ok(info.bounds(&subject.unwrap_or_default()))
            }
        }
    }

    async fn storage(&self) -> Result<Storage, WireError> {
        match self.ask::<api::Account>(api::PREFIX, "INFO", &(), ANSWER_MAX).await? {
            Answer::Refused { error } => Err(refused("INFO", &error)),
            Answer::Done(account) => {
                let bytes_max = u64::try_from(account.limits.max_storage).ok().filter(|max| *max > 0);
                let account = Storage { used_bytes: account.storage, bytes_max };
                let servers = self.surveys.borrow().storage;
                Ok(servers.map_or(account, |servers| account.tighter(servers)))
            }
        }
    }

    async fn get(&self, stream: &str, sequence: u64, source: Source) -> Result<Option<Bytes>, WireError> {
        match (source, &self.pair) {
            (Source::Leader, _) => self.get_from(api::PREFIX, stream, sequence).await,
            (Source::AnyReplica, _) => self.get_directly(stream, sequence).await,
            (Source::Pair, Some(prefix)) => {
                let found = self.get_from(prefix, stream, sequence).await?;
                // Asked afterwards: a mirror may have become a stream of its own, and never the other way round.
                Ok(if self.is_mirrored(prefix, stream).await? { found } else { None })
            }
            (Source::Pair, None) => Ok(None),
        }
    }

    async fn range(
        &self,
        stream: &str,
        from: u64,
        through: u64,
        bytes_max: usize,
    ) -> Result<Vec<(u64, Bytes)>, WireError> {
        range::read(&self.nats, stream, from, through, bytes_max).await
    }

    async fn purge(&self, stream: &str, first: u64) -> Result<(), WireError> {
        let what = format!("STREAM.PURGE.{stream}");
        // It removes what lies below `seq`; 0 would remove everything.
        let question = api::Purge { seq: first.max(1) };
        match self.ask::<api::Purged>(api::PREFIX, &what, &question, ANSWER_MAX).await? {
            Answer::Refused { error } => Err(refused(&what, &error)),
            Answer::Done(_) => Ok(()),
        }
    }

    fn follow(&self, stream: &str) -> watch::Receiver<u64> {
        self.start_following(stream)
    }
}
