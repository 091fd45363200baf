//! AMQP 1.0: Service Bus, and every other broker that speaks it.

mod convert;
mod receive;

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use fe2o3_amqp::connection::{ConnectionHandle, OpenError};
use fe2o3_amqp::link::{LinkStateError, SendError as LinkError, SenderAttachError, SessionStopReason};
use fe2o3_amqp::sasl_profile::SaslProfile;
use fe2o3_amqp::session::SessionHandle;
use fe2o3_amqp::types::definitions::{
    self, AmqpError, ErrorCondition, LinkError as LinkCondition, SenderSettleMode,
};
use fe2o3_amqp::types::messaging::Outcome;
use fe2o3_amqp::{Sendable, Sender, Session};
use tokio::time::{Instant, timeout, timeout_at};
use types::Message;

pub(crate) use receive::{AmqpReceiver, AmqpTicket};

use crate::address::{AMQP, Address};
use crate::dial::{Dialer, WireGuard};
use crate::pool::{ConnectionKey, PooledConnection};
use crate::protocol::BrokerPools;
use crate::sender::{before, unconfirmed};
use crate::{Login, SendError, limits};

/// A connection, with a link per address that carries many unconfirmed messages.
pub(crate) struct AmqpConnection {
    links: Mutex<HashMap<String, Arc<Link>>>,
    connection: tokio::sync::Mutex<Open>,
}

/// A connection that is over when this is dropped. Its handle alone only asks for the end, and a broker that does not
/// answer would keep the connection, with every message that it has handed out over it.
struct Open {
    handle: ConnectionHandle<()>,
    _line: WireGuard,
}

impl Open {
    /// Lets what was said last arrive before the end.
    async fn close(mut self) {
        // Answered or not, the line is cut.
        let _ = timeout(limits::GOODBYE, self.handle.close()).await;
    }
}

/// Held while a message is handed over, never while its confirmation is waited for.
type Link = tokio::sync::Mutex<Option<Attached>>;

/// A link in a session of its own: a broker may end the session of a link that it refuses.
struct Attached {
    sender: Sender,
    _session: SessionHandle<()>,
}

impl PooledConnection for AmqpConnection {
    fn alive(&self) -> bool {
        // Whoever holds it makes use of it.
        self.connection.try_lock().map_or(true, |connection| !connection.handle.is_closed())
    }
}

pub(crate) async fn send(
    inner: &BrokerPools,
    url: &str,
    address: &str,
    login: Option<&Login>,
    message: &Message,
    deadline: Instant,
) -> Result<(), SendError> {
    let at = Address::parse(url, &AMQP).map_err(SendError::Refused)?;
    let key: ConnectionKey = (url.to_owned(), login.cloned());
    let what = format!("connecting to {at} by AMQP 1.0");
    let connect = inner.amqp.get(&key, async || AmqpConnection::open(&inner.dialer, &at, login).await);
    let connection = before(deadline, &what, connect).await?;
    let handing = connection.hand_over(address, message);
    let what = format!("handing the message to {at} by AMQP 1.0");
    let confirmation = before(deadline, &what, handing).await?;
    match timeout_at(deadline, confirmation).await {
        Ok(Ok(outcome)) => judge(outcome),
        Ok(Err(error)) => Err(unanswered(&error)),
        Err(_) => {
            inner.amqp.retire(&key, &connection);
            Err(unconfirmed())
        }
    }
}

fn judge(outcome: Outcome) -> Result<(), SendError> {
    match outcome {
        Outcome::Accepted(_) => Ok(()),
        Outcome::Rejected(rejected) => {
            let told = rejected.error.as_ref().map_or_else(|| "it says no more".to_owned(), describe);
            let text = format!("the broker rejected the message: {told}");
            // Without a word it is most often a queue that is full.
            let for_good = rejected.error.is_some_and(|error| is_for_good(&error.condition));
            Err(if for_good { SendError::Refused(text) } else { SendError::NotSent(text) })
        }
        Outcome::Released(_) => {
            Err(SendError::NotSent("the broker released the message: nobody takes it for now".to_owned()))
        }
        Outcome::Modified(_) => Err(SendError::NotSent("the broker gave the message back".to_owned())),
    }
}

impl AmqpConnection {
    pub(crate) async fn open(
        dialer: &Dialer,
        address: &Address,
        login: Option<&Login>,
    ) -> Result<AmqpConnection, SendError> {
        let connection = connect(dialer, address, login).await?;
        Ok(AmqpConnection { links: Mutex::default(), connection: tokio::sync::Mutex::new(connection) })
    }

    /// Hands the message to the session, and gives what its outcome will come by.
    ///
    /// Given up in the middle, the message counts as not sent: what has left of it is not whole, and the link goes
    /// with it.
    async fn hand_over(
        &self,
        address: &str,
        message: &Message,
    ) -> Result<impl Future<Output = Result<Outcome, LinkError>> + use<>, SendError> {
        let link = self.link(address)?;
        let mut held = link.lock().await;
        // A broker may have detached a link that was idle: the second is new.
        let mut taken = held.take();
        loop {
            let (mut attached, fresh) = match taken.take() {
                Some(attached) => (attached, false),
                None => (self.attach(address).await?, true),
            };
            match attached.sender.send_batchable(Sendable::from(convert::outgoing(message))).await {
                Ok(confirmation) => {
                    *held = Some(attached);
                    return Ok(confirmation);
                }
                Err(LinkError::MessageSizeExceeded(told)) => {
                    *held = Some(attached);
                    return Err(SendError::Refused(format!(
                        "the broker takes no message of this size: {told}"
                    )));
                }
                Err(LinkError::MessageEncodeError) => {
                    return Err(SendError::Refused("the message cannot be written for AMQP 1.0".to_owned()));
                }
                Err(error) if fresh => {
                    return Err(SendError::NotSent(format!("the link to {address:?} is lost: {error}")));
                }
                Err(_) => {}
            }
        }
    }

    async fn attach(&self, address: &str) -> Result<Attached, SendError> {
        let mut session = begin(&mut self.connection.lock().await.handle).await?;
        let attached = Sender::builder()
            .name(unique("sender"))
            .target(address)
            .sender_settle_mode(SenderSettleMode::Unsettled)
            .attach(&mut session)
            .await;
        let sender = attached.map_err(|error| match &error {
            SenderAttachError::RemoteClosedWithError(told)
            | SenderAttachError::SessionStopped(SessionStopReason::RemoteEndedWithError(told)) => {
                refusal(address, told)
            }
            _ => SendError::NotSent(format!("opening a link to {address:?}: {error}")),
        })?;
        Ok(Attached { sender, _session: session })
    }

    // A lock of our own: a small map, never held across a wait.
    fn link(&self, address: &str) -> Result<Arc<Link>, SendError> {
        let mut links = self.links.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(link) = links.get(address) {
            return Ok(link.clone());
        }
        if links.len() >= limits::LINKS_MAX {
            links.retain(|_, link| Arc::strong_count(link) > 1);
        }
        if links.len() >= limits::LINKS_MAX {
            let most = limits::LINKS_MAX;
            return Err(SendError::NotSent(format!(
                "{most} addresses of one broker are in use, which is the most"
            )));
        }
        Ok(links.entry(address.to_owned()).or_default().clone())
    }
}

async fn connect(dialer: &Dialer, address: &Address, login: Option<&Login>) -> Result<Open, SendError> {
    let wire = dialer.dial(address).await?;
    let line =
        wire.line().map_err(|error| SendError::NotSent(format!("connecting to {address}: {error}")))?;
    let profile = match login {
        Some(login) => {
            SaslProfile::Plain { username: login.username.clone(), password: login.password.clone() }
        }
        None => SaslProfile::Anonymous,
    };
    let silence = u32::try_from(limits::SILENCE.as_millis()).expect("a limit that fits");
    let failed = |error: &OpenError| {
        let told = format!("connecting to {address} by AMQP 1.0: {error}");
        match error {
            OpenError::SaslError { .. } => SendError::Refused(format!("{address} refused the login")),
            OpenError::RemoteClosedWithError(told) if is_for_good(&told.condition) => {
                SendError::Refused(format!("{address} refused the connection: {}", describe(told)))
            }
            _ => SendError::NotSent(told),
        }
    };
    let opened = fe2o3_amqp::Connection::builder()
        .container_id(unique("sortie"))
        .hostname(address.host.as_str())
        .sasl_hostname(address.host.as_str())
        .idle_time_out(silence)
        .sasl_profile(profile)
        .open_with_stream(wire)
        .await;
    let handle = opened.map_err(|error| failed(&error))?;
    Ok(Open { handle, _line: line })
}

async fn begin(connection: &mut ConnectionHandle<()>) -> Result<SessionHandle<()>, SendError> {
    let session = Session::begin(connection).await;
    session.map_err(|error| SendError::NotSent(format!("opening a session: {error}")))
}

/// A name that no other link or container of this process has, nor, with luck, one of another.
fn unique(kind: &str) -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    format!("{kind}-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

/// A link that is refused for good, or for now.
fn refusal(address: &str, told: &definitions::Error) -> SendError {
    let text = format!("the broker refused a link to {address:?}: {}", describe(told));
    if is_for_good(&told.condition) { SendError::Refused(text) } else { SendError::NotSent(text) }
}

/// Whether the same again would be refused again. What is not known to be for good is tried again: a broker that is busy,
/// full, failing over or stopping says so in words of its own.
fn is_for_good(condition: &ErrorCondition) -> bool {
    match condition {
        ErrorCondition::AmqpError(condition) => matches!(
            condition,
            AmqpError::NotFound
                | AmqpError::UnauthorizedAccess
                | AmqpError::DecodeError
                | AmqpError::NotAllowed
                | AmqpError::InvalidField
                | AmqpError::NotImplemented
                | AmqpError::PreconditionFailed
        ),
        ErrorCondition::LinkError(condition) => *condition == LinkCondition::MessageSizeExceeded,
        // In the words of Service Bus.
        ErrorCondition::Custom(condition) => {
            matches!(
                condition.as_str(),
                "com.microsoft:argument-error" | "com.microsoft:argument-out-of-range"
            )
        }
        _ => false,
    }
}

/// The message has left, and its link or more has gone before the outcome came.
fn unanswered(error: &LinkError) -> SendError {
    if let LinkError::LinkStateError(LinkStateError::RemoteClosedWithError(told)) = error
        && told.condition == ErrorCondition::LinkError(LinkCondition::MessageSizeExceeded)
    {
        return SendError::Refused(format!("the broker takes no message of this size: {}", describe(told)));
    }
    SendError::Unknown(format!(
        "the link was lost before the broker confirmed the message, which may have arrived: {error}"
    ))
}

fn describe(told: &definitions::Error) -> String {
    let condition = match &told.condition {
        ErrorCondition::AmqpError(condition) => format!("{condition:?}"),
        ErrorCondition::LinkError(condition) => format!("{condition:?}"),
        ErrorCondition::SessionError(condition) => format!("{condition:?}"),
        ErrorCondition::ConnectionError(condition) => format!("{condition:?}"),
        other => format!("{other:?}"),
    };
    match &told.description {
        Some(description) => format!("{condition}: {description}"),
        None => condition,
    }
}

#[cfg(test)]
mod tests {
    use fe2o3_amqp::types::definitions::ConnectionError as ConnectionCondition;
    use fe2o3_amqp::types::messaging::{Accepted, Modified, Rejected, Released};

    use super::*;

    #[test]
    fn only_what_is_accepted_is_done() {
        assert_eq!(judge(Outcome::Accepted(Accepted {})), Ok(()));
        let error = definitions::Error::new(AmqpError::PreconditionFailed, "too old".to_owned(), None);
        let rejected = Outcome::Rejected(Rejected { error: Some(error) });
        let told = "the broker rejected the message: PreconditionFailed: too old";
        assert_eq!(judge(rejected), Err(SendError::Refused(told.to_owned())));
        let wordless = Outcome::Rejected(Rejected { error: None });
        assert!(matches!(judge(wordless), Err(SendError::NotSent(_))));
        let modified =
            Modified { delivery_failed: None, undeliverable_here: None, message_annotations: None };
        for outcome in [Outcome::Released(Released {}), Outcome::Modified(modified)] {
            assert!(matches!(judge(outcome), Err(SendError::NotSent(_))));
        }
    }

    #[test]
    fn a_broker_that_is_busy_full_or_stopping_is_tried_again() {
        let custom = |text: &str| ErrorCondition::Custom(text.into());
        let for_now: [ErrorCondition; 9] = [
            AmqpError::InternalError.into(),
            AmqpError::ResourceLimitExceeded.into(),
            AmqpError::ResourceLocked.into(),
            AmqpError::ResourceDeleted.into(),
            ConnectionCondition::ConnectionForced.into(),
            LinkCondition::DetachForced.into(),
            custom("com.microsoft:server-busy"),
            custom("com.microsoft:timeout"),
            custom("com.microsoft:entity-disabled"),
        ];
        for condition in for_now {
            let error = definitions::Error::new(condition, None, None);
            assert!(matches!(refusal("q", &error), SendError::NotSent(_)), "{error:?}");
            let rejected = Outcome::Rejected(Rejected { error: Some(error) });
            assert!(matches!(judge(rejected.clone()), Err(SendError::NotSent(_))), "{rejected:?}");
        }
        let for_good: [ErrorCondition; 4] = [
            AmqpError::UnauthorizedAccess.into(),
            AmqpError::NotFound.into(),
            LinkCondition::MessageSizeExceeded.into(),
            custom("com.microsoft:argument-error"),
        ];
        for condition in for_good {
            let rejected =
                Outcome::Rejected(Rejected { error: Some(definitions::Error::new(condition, None, None)) });
            assert!(matches!(judge(rejected.clone()), Err(SendError::Refused(_))), "{rejected:?}");
        }
    }
}
