//! RabbitMQ by AMQP 0-9-1, with publisher confirms.

mod convert;
mod kit;
mod receive;

use std::sync::{Arc, Mutex, PoisonError};

use lapin::options::{BasicPublishOptions, ConfirmSelectOptions};
use lapin::protocol::{AMQPError, AMQPErrorKind, AMQPHardError, AMQPSoftError};
use lapin::uri::{AMQPAuthority, AMQPQueryString, AMQPScheme, AMQPUri, AMQPUserInfo, SASLMechanism};
use lapin::{Channel, Confirmation, ConnectionProperties, ErrorKind};
use percent_encoding::percent_decode_str;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::{Instant, timeout_at};
use types::Message;

pub(crate) use receive::{RabbitReceiver, RabbitTicket};

use crate::address::{AMQP, Address};
use crate::dial::Dialer;
use crate::pool::{ConnectionKey, PooledConnection};
use crate::protocol::BrokerPools;
use crate::sender::{before, unconfirmed};
use crate::{Login, SendError, limits};

/// Where at the broker a message goes.
#[derive(Clone, Copy)]
pub(crate) struct RabbitTarget<'a> {
    pub exchange: &'a str,
    pub routing_key: &'a str,
}

/// A connection, and channels that each carry one unconfirmed message at a time. So a message that comes back is
/// known to be the one that was sent: 0-9-1 does not say which one it was. And a channel that the broker closes
/// because of one message takes no other with it.
pub(crate) struct RabbitConnection {
    connection: lapin::Connection,
    free: Mutex<Vec<Channel>>,
    places: Semaphore,
}

/// A channel for one message. Given back only when the broker has answered.
struct LeasedChannel<'a> {
    channel: Channel,
    _place: SemaphorePermit<'a>,
}

impl PooledConnection for RabbitConnection {
    fn alive(&self) -> bool {
        self.connection.status().connected()
    }
}

pub(crate) async fn send(
    inner: &BrokerPools,
    url: &str,
    place: RabbitTarget<'_>,
    login: Option<&Login>,
    message: &Message,
    deadline: Instant,
) -> Result<(), SendError> {
    let address = Address::parse(url, &AMQP).map_err(SendError::Refused)?;
    let properties = convert::properties(message)?;
    let exchange = convert::short("the name of the exchange", place.exchange)?;
    let routing_key = convert::short("the routing key", place.routing_key)?;
    let key: ConnectionKey = (url.to_owned(), login.cloned());
    let what = format!("connecting to RabbitMQ at {address}");
    let connect =
        inner.rabbit.get(&key, async || RabbitConnection::open(&inner.dialer, &address, login).await);
    let connection = before(deadline, &what, connect).await?;
    let lent = before(deadline, "opening a channel at RabbitMQ", connection.lend()).await?;
    if connection.connection.status().blocked() {
        return Err(SendError::NotSent(
            "RabbitMQ takes nothing for now: memory or disk are short there".to_owned(),
        ));
    }
    // A broker's queue is the only thing that a message is sent to: without one it comes back.
    let options = BasicPublishOptions { mandatory: true, ..BasicPublishOptions::default() };
    let publish = async {
        let sent =
            lent.channel.basic_publish(exchange, routing_key, options, &message.body, properties).await;
        Ok::<_, SendError>(sent.map_err(|error| lost(&error, SendProgress::Perhaps))?.await)
    };
    let Ok(answer) = timeout_at(deadline, publish).await else {
        inner.rabbit.retire(&key, &connection);
        return Err(unconfirmed());
    };
    let confirmation = answer?.map_err(|error| lost(&error, SendProgress::Yes))?;
    connection.give_back(lent);
    match confirmation {
        Confirmation::Ack(None) => Ok(()),
        Confirmation::Ack(Some(_)) | Confirmation::Nack(Some(_)) => {
            Err(SendError::Refused(unroutable(place)))
        }
        Confirmation::Nack(None) => {
            Err(SendError::NotSent("RabbitMQ could not store the message".to_owned()))
        }
        Confirmation::NotRequested => unreachable!("every channel is opened with confirms"),
    }
}

impl RabbitConnection {
    pub(crate) async fn open(
        dialer: &Arc<Dialer>,
        address: &Address,
        login: Option<&Login>,
    ) -> Result<RabbitConnection, SendError> {
        Ok(RabbitConnection {
            connection: connect(dialer, address, login).await?,
            free: Mutex::default(),
            places: Semaphore::new(limits::CHANNELS_MAX),
        })
    }

    async fn lend(&self) -> Result<LeasedChannel<'_>, SendError> {
        let place = self.places.acquire().await.expect("the semaphore is never closed");
        let free = self.lock().pop();
        let channel = match free.filter(|channel| channel.status().connected()) {
            Some(channel) => channel,
            None => self.new_channel().await.map_err(|error| lost(&error, SendProgress::No))?,
        };
        Ok(LeasedChannel { channel, _place: place })
    }

    async fn new_channel(&self) -> lapin::Result<Channel> {
        let channel = self.connection.create_channel().await?;
        channel.confirm_select(ConfirmSelectOptions::default()).await?;
        Ok(channel)
    }

    fn give_back(&self, lent: LeasedChannel<'_>) {
        self.lock().push(lent.channel);
    }

    // A lock of our own: a list of at most `CHANNELS_MAX`, never held across a wait.
    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Channel>> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn connect(
    dialer: &Arc<Dialer>,
    address: &Address,
    login: Option<&Login>,
) -> Result<lapin::Connection, SendError> {
    // Dialled first, so that what the guard says is reported as it is.
    let wire = dialer.dial(address).await?;
    let connected = kit::connect(wire, uri(address, login)?, ConnectionProperties::default()).await;
    connected.map_err(|error| match error.kind() {
        ErrorKind::ProtocolError(told) => unconnected(address, told),
        _ => SendError::NotSent(format!("connecting to RabbitMQ at {address}: {error}")),
    })
}

/// A connection that RabbitMQ refuses: for good when its user, its virtual host or what it asks for is the reason. A
/// broker that stops, fails or has as many connections as it takes may think otherwise later.
fn unconnected(address: &Address, told: &AMQPError) -> SendError {
    let text = format!("RabbitMQ at {address} refused the connection: {}", told.get_message());
    let for_good = match told.kind() {
        AMQPErrorKind::Soft(soft) => *soft == AMQPSoftError::ACCESSREFUSED,
        // Too many connections are not allowed either, and only the text tells them apart.
        AMQPErrorKind::Hard(AMQPHardError::NOTALLOWED) => !told.get_message().as_str().contains("limit"),
        AMQPErrorKind::Hard(hard) => {
            matches!(hard, AMQPHardError::INVALIDPATH | AMQPHardError::NOTIMPLEMENTED)
        }
    };
    if for_good { SendError::Refused(text) } else { SendError::NotSent(text) }
}

fn uri(address: &Address, login: Option<&Login>) -> Result<AMQPUri, SendError> {
    // As RabbitMQ has it: no path is the host `/`, and an empty one is the host without a name.
    let vhost = match &address.path {
        None => "/".to_owned(),
        Some(path) => percent_decode_str(path)
            .decode_utf8()
            .map_err(|_| SendError::Refused("the virtual host in the url must be UTF-8".to_owned()))?
            .into_owned(),
    };
    let userinfo = match login {
        Some(login) => AMQPUserInfo { username: login.username.clone(), password: login.password.clone() },
        None => AMQPUserInfo { username: "guest".to_owned(), password: "guest".to_owned() },
    };
    let heartbeat = u16::try_from(limits::SILENCE.as_secs() / 2).expect("a limit that fits");
    Ok(AMQPUri {
        // TLS is made before the client sees the stream.
        scheme: AMQPScheme::AMQP,
        authority: AMQPAuthority { userinfo, host: address.host.clone(), port: address.port },
        vhost,
        query: AMQPQueryString {
            heartbeat: Some(heartbeat),
            auth_mechanism: Some(SASLMechanism::Plain),
            ..AMQPQueryString::default()
        },
    })
}

/// Whether a message had left when something failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SendProgress {
    No,
    Perhaps,
    Yes,
}

fn lost(error: &lapin::Error, left: SendProgress) -> SendError {
    match (error.kind(), left) {
        (ErrorKind::ProtocolError(told), _) if error.is_amqp_soft_error() => {
            SendError::Refused(format!("RabbitMQ refused: {}", told.get_message()))
        }
        (ErrorKind::SerialisationError(_), _) => {
            SendError::Refused(format!("the message cannot be written for RabbitMQ: {error}"))
        }
        // The client refuses by itself, before it writes anything.
        (
            ErrorKind::InvalidChannelState(..) | ErrorKind::InvalidConnectionState(_),
            SendProgress::No | SendProgress::Perhaps,
        )
        | (_, SendProgress::No) => SendError::NotSent(format!("the connection to RabbitMQ is lost: {error}")),
        _ => SendError::Unknown(format!(
            "the connection to RabbitMQ was lost before it confirmed the message, which may have arrived: {error}"
        )),
    }
}

fn unroutable(place: RabbitTarget<'_>) -> String {
    let RabbitTarget { exchange, routing_key } = place;
    if exchange.is_empty() {
        format!("RabbitMQ has no queue {routing_key:?}")
    } else {
        format!("no queue is bound to the exchange {exchange:?} for the routing key {routing_key:?}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(id: u16, message: &str) -> SendError {
        let address = Address::parse("amqp://mq.test", &AMQP).unwrap();
        unconnected(&address, &AMQPError::from_id(id, message.into()).unwrap())
    }

    #[test]
    fn a_connection_is_refused_for_good_only_by_what_a_person_has_to_change() {
        for (id, message) in [
            (403, "ACCESS_REFUSED - Login was refused using authentication mechanism PLAIN"),
            (530, "NOT_ALLOWED - vhost nowhere not found"),
            (530, "NOT_ALLOWED - access to vhost '/' refused for user 'guest'"),
        ] {
            let told = refused(id, message);
            assert!(matches!(told, SendError::Refused(_)), "{told:?}");
        }
        for (id, message) in [
            (320, "CONNECTION_FORCED - broker forced connection closure with reason 'shutdown'"),
            (530, "NOT_ALLOWED - access to vhost '/' refused for user 'a': connection limit (9) is reached"),
            (541, "INTERNAL_ERROR - access to vhost '/' refused for user 'a': vhost '/' is down"),
            (506, "RESOURCE_ERROR"),
        ] {
            let told = refused(id, message);
            assert!(matches!(told, SendError::NotSent(_)), "{told:?}");
        }
    }
}
