//! NATS: subjects, and streams of JetStream that confirm.

mod convert;
mod receive;
mod violations;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use async_nats::connection::State;
use async_nats::jetstream::context::{ContextBuilder, PublishErrorKind};
use async_nats::jetstream::message::PublishMessage;
use async_nats::jetstream::{self, Context};
use async_nats::{
    Client, ConnectErrorKind, ConnectOptions, HeaderMap, Request, RequestErrorKind, ServerAddr,
};
use tokio::time::{Instant, timeout_at};
use types::Message;

pub(crate) use receive::{ConsumerSpec, NatsReceiver, NatsTicket};

use self::violations::Violations;
use crate::address::{Address, Schemes};
use crate::dial::Dialer;
use crate::pool::{ConnectionKey, PooledConnection};
use crate::protocol::BrokerPools;
use crate::sender::{before, unconfirmed};
use crate::{Login, SendError, limits};

/// Where at the broker a message goes.
#[derive(Clone, Copy)]
pub(crate) struct NatsTarget<'a> {
    pub subject: &'a str,
    pub stream: bool,
}

pub(crate) struct NatsConnection {
    client: Client,
    streams: Context,
    violations: Arc<Violations>,
}

impl PooledConnection for NatsConnection {
    fn alive(&self) -> bool {
        self.client.connection_state() == State::Connected
    }
}

const SCHEMES: Schemes = Schemes { plain: "nats://", plain_port: 4222, tls: "tls://", tls_port: 4222 };

/// Longer than any patience: time is kept by those who ask.
const NEVER: Duration = Duration::from_secs(24 * 3600);

pub(crate) async fn send(
    inner: &BrokerPools,
    url: &str,
    place: NatsTarget<'_>,
    login: Option<&Login>,
    message: &Message,
    deadline: Instant,
) -> Result<(), SendError> {
    check_subject(place.subject)?;
    let servers = servers(url)?;
    let headers = convert::headers(message)?;
    let key: ConnectionKey = (url.to_owned(), login.cloned());
    let connect = inner.nats.get(&key, async || NatsConnection::open(&inner.dialer, &servers, login).await);
    let connection = before(deadline, "connecting to NATS", connect).await?;
    let sent = async {
        tokio::select! {
            biased;
            // What the server forbids is reported before its other answers.
            forbidden = connection.violations.of(place.subject) => Err(SendError::Refused(forbidden)),
            done = connection.send(place, headers, message) => done,
        }
    };
    match timeout_at(deadline, sent).await {
        Ok(result) => result,
        Err(_) => {
            inner.nats.retire(&key, &connection);
            Err(unconfirmed())
        }
    }
}

impl NatsConnection {
    pub(crate) async fn open(
        dialer: &Dialer,
        servers: &[Address],
        login: Option<&Login>,
    ) -> Result<NatsConnection, SendError> {
        let (options, addresses, violations) = prepare(dialer, servers, login).await?;
        let connected = options.connect(addresses).await;
        let client = connected.map_err(|error| {
            let told = format!("connecting to NATS at {}: {error}", listed(servers));
            match error.kind() {
                ConnectErrorKind::AuthorizationViolation | ConnectErrorKind::Authentication => {
                    SendError::Refused(told)
                }
                _ => SendError::NotSent(told),
            }
        })?;
        let streams = ContextBuilder::new().timeout(NEVER).ack_timeout(NEVER).build(client.clone());
        Ok(NatsConnection { client, streams, violations })
    }

    async fn send(
        &self,
        place: NatsTarget<'_>,
        headers: HeaderMap,
        message: &Message,
    ) -> Result<(), SendError> {
        if place.stream {
            self.send_to_stream(place.subject, headers, message).await
        } else {
            self.send_to_server(place.subject, headers, message).await
        }
    }

    async fn send_to_stream(
        &self,
        subject: &str,
        headers: HeaderMap,
        message: &Message,
    ) -> Result<(), SendError> {
        let publish = PublishMessage::build().payload(message.body.clone()).headers(headers);
        let sent = self.streams.send_publish(subject.to_owned(), publish).await;
        let confirmed = match sent {
            Ok(confirmation) => confirmation.await,
            Err(error) => Err(error),
        };
        let Err(error) = confirmed else { return Ok(()) };
        let told = with_source(&error);
        Err(match error.kind() {
            PublishErrorKind::StreamNotFound => {
                SendError::NotSent(format!("no stream of JetStream takes the subject {subject:?}"))
            }
            PublishErrorKind::MaxPayloadExceeded => SendError::Refused(format!("NATS: {told}")),
            PublishErrorKind::TimedOut | PublishErrorKind::BrokenPipe => SendError::Unknown(format!(
                "the connection to NATS was lost, the message may have arrived: {told}"
            )),
            PublishErrorKind::Other
            | PublishErrorKind::MaxAckPending
            | PublishErrorKind::WrongLastMessageId
            | PublishErrorKind::WrongLastSequence => {
                SendError::NotSent(format!("JetStream did not take it: {told}"))
            }
        })
    }

    /// The server handles what a connection sends in order. So when it has answered a question that was asked
    /// after the message, it has taken the message.
    async fn send_to_server(
        &self,
        subject: &str,
        headers: HeaderMap,
        message: &Message,
    ) -> Result<(), SendError> {
        let lost = |error: &dyn std::fmt::Display| {
            SendError::Unknown(format!(
                "the connection to NATS was lost, the message may have arrived: {error}"
            ))
        };
        let size = message.body.len();
        if size > self.client.max_payload() {
            let most = self.client.max_payload();
            return Err(SendError::Refused(format!(
                "the message has {size} bytes, NATS takes at most {most}"
            )));
        }
        let body = message.body.clone();
        let connected = self.connects();
        let sent = self.client.publish_with_headers(subject.to_owned(), headers, body).await;
        sent.map_err(|error| SendError::Refused(format!("NATS: {}", with_source(&error))))?;
        self.client.flush().await.map_err(|error| lost(&error))?;
        let question = self.client.new_inbox();
        let asked = self.client.send_request(question.clone(), Request::new().timeout(Some(NEVER)));
        tokio::select! {
            // A user without the permission gets an error, which is an answer too.
            _ = self.violations.of(&question) => {}
            answer = asked => match answer {
                Ok(_) => {}
                Err(error) if error.kind() == RequestErrorKind::NoResponders => {}
                Err(error) => return Err(lost(&error)),
            }
        }
        // What the server forbids it says first, so that it is known by now.
        if let Some(forbidden) = self.violations.take(subject) {
            return Err(SendError::Refused(forbidden));
        }
        // The client connects again by itself. An answer over another connection says nothing of the message.
        if self.connects() != connected {
            return Err(lost(&"it was created again in between"));
        }
        Ok(())
    }

    /// How often the client has connected so far.
    fn connects(&self) -> u64 {
        self.client.statistics().connects.load(Ordering::Relaxed)
    }
}

pub(super) fn servers(url: &str) -> Result<Vec<Address>, SendError> {
    url.split(',').map(|one| Address::parse(one.trim(), &SCHEMES).map_err(SendError::Refused)).collect()
}

fn check_subject(subject: &str) -> Result<(), SendError> {
    let whole = subject.split('.').all(|token| !token.is_empty() && token != "*" && token != ">");
    if whole && !subject.contains(char::is_whitespace) {
        return Ok(());
    }
    Err(SendError::Refused(format!(
        "{subject:?} is not a subject that a message can be sent to: no wildcards, no blanks"
    )))
}

/// The client gets addresses that the guard has let pass, and looks for no others.
async fn prepare(
    dialer: &Dialer,
    servers: &[Address],
    login: Option<&Login>,
) -> Result<(ConnectOptions, Vec<ServerAddr>, Arc<Violations>), SendError> {
    let mut addresses = Vec::new();
    for server in servers {
        let scheme = if server.tls { "tls" } else { "nats" };
        for socket in dialer.addresses(server).await? {
            let address = format!("{scheme}://{socket}").parse();
            addresses.push(address.map_err(|error| SendError::Refused(format!("{server}: {error}")))?);
        }
    }
    let violations = Arc::new(Violations::default());
    let heard = violations.clone();
    let mut options = ConnectOptions::new()
        .tls_client_config(dialer.tls_for(servers)?)
        .ignore_discovered_servers()
        .retain_servers_order()
        // Once each: whoever sends next connects again.
        .max_reconnects(addresses.len())
        .connection_timeout(limits::CONNECT)
        .ping_interval(limits::SILENCE / 2)
        .event_callback(move |event| {
            heard.hear(&event);
            std::future::ready(())
        });
    if let Some(login) = login {
        options = options.user_and_password(login.username.clone(), login.password.clone());
    }
    Ok((options, addresses, violations))
}

fn listed(servers: &[Address]) -> String {
    servers.iter().map(Address::to_string).collect::<Vec<_>>().join(", ")
}

/// What is said of an error, with what is said of its cause where that is not said already.
fn with_source(error: &dyn std::error::Error) -> String {
    let told = error.to_string();
    match error.source().map(ToString::to_string) {
        Some(cause) if !told.contains(&cause) => format!("{told}: {cause}"),
        _ => told,
    }
}

/// A context whose questions to the server have an end.
fn asking(client: Client) -> Context {
    let mut context = jetstream::new(client);
    context.set_timeout(limits::SETTLE);
    context
}
