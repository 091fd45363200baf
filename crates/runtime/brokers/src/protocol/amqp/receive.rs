//! Taking messages from an address.

use fe2o3_amqp::Receiver as Link;
use fe2o3_amqp::link::delivery::DeliveryInfo;
use fe2o3_amqp::link::receiver::CreditMode;
use fe2o3_amqp::link::{ReceiverAttachError, RecvError, SessionStopReason};
use fe2o3_amqp::types::messaging::Body;
use fe2o3_amqp::types::primitives::Value;
use tokio::sync::{mpsc, oneshot};
use types::Message;

use super::{begin, connect, convert, refusal, unique};
use crate::address::{AMQP, Address};
use crate::dial::Dialer;
use crate::receiver::Disposition;
use crate::{Login, ReceiveError, SendError};

/// The end of a task that owns the link: it hands deliveries out and settlements back. When the task ends, both
/// channels close, and everybody who waits learns of it.
pub(crate) struct AmqpReceiver {
    deliveries: mpsc::Receiver<Result<(Message, AmqpTicket), ReceiveError>>,
}

/// Settles one message.
pub(crate) struct AmqpTicket {
    info: DeliveryInfo,
    settlements: mpsc::Sender<Settlement>,
}

struct Settlement {
    info: DeliveryInfo,
    verdict: Disposition,
    done: oneshot::Sender<Result<(), ReceiveError>>,
}

impl AmqpReceiver {
    pub(crate) async fn open(
        dialer: &Dialer,
        url: &str,
        address: &str,
        login: Option<&Login>,
        credit: u32,
    ) -> Result<AmqpReceiver, SendError> {
        let at = Address::parse(url, &AMQP).map_err(SendError::Refused)?;
        let mut connection = connect(dialer, &at, login).await?;
        let mut session = begin(&mut connection.handle).await?;
        let attached = Link::builder()
            .name(unique("receiver"))
            .source(address)
            .credit_mode(CreditMode::Auto(credit))
            .attach(&mut session)
            .await;
        let link = attached.map_err(|error| match &error {
            ReceiverAttachError::RemoteClosedWithError(told)
            | ReceiverAttachError::SessionStopped(SessionStopReason::RemoteEndedWithError(told)) => {
                refusal(address, told)
            }
            _ => SendError::NotSent(format!("opening a link from {address:?}: {error}")),
        })?;
        // One waits in the channel, the others with the link: the credit bounds them all.
        let (handed_out, deliveries) = mpsc::channel(1);
        tokio::spawn(async move {
            carry(link, handed_out).await;
            drop(session);
            connection.close().await;
        });
        Ok(AmqpReceiver { deliveries })
    }

    pub(crate) async fn next(&mut self) -> Result<(Message, AmqpTicket), ReceiveError> {
        let next = self.deliveries.recv().await;
        next.unwrap_or_else(|| Err(ReceiveError::Lost("the link is lost".to_owned())))
    }
}

/// Until the link is lost, or nobody is there to receive or to settle.
async fn carry(mut link: Link, handed_out: mpsc::Sender<Result<(Message, AmqpTicket), ReceiveError>>) {
    let (settlements, mut asked) = mpsc::channel::<Settlement>(64);
    let mut settlements = Some(settlements);
    loop {
        let receiving = settlements.is_some();
        tokio::select! {
            biased;
            // Settlements first: they make room for what comes.
            settlement = asked.recv() => match settlement {
                Some(settlement) => settle(&link, settlement).await,
                None => return,
            },
            () = handed_out.closed(), if receiving => settlements = None,
            next = receive(&mut link, &handed_out), if receiving => {
                let Some(settlements) = settlements.clone() else { return };
                let (place, received) = next;
                let Some(place) = place else { continue };
                match received {
                    Ok((info, message)) => place.send(Ok((message, AmqpTicket { info, settlements }))),
                    Err(error) => {
                        place.send(Err(ReceiveError::Lost(format!("the link is lost: {error}"))));
                        return;
                    }
                };
            }
        }
    }
}

type HandoverPermit<'a> = mpsc::Permit<'a, Result<(Message, AmqpTicket), ReceiveError>>;

/// The next delivery, taken from the link only when there is a place for it: given up before, nothing is lost.
async fn receive<'a>(
    link: &mut Link,
    handed_out: &'a mpsc::Sender<Result<(Message, AmqpTicket), ReceiveError>>,
) -> (Option<HandoverPermit<'a>>, Result<(DeliveryInfo, Message), RecvError>) {
    let place = handed_out.reserve().await.ok();
    let received = link.recv::<Body<Value>>().await;
    let taken = received.map(|delivery| {
        let (info, message) = delivery.into_parts();
        (info, convert::incoming(message))
    });
    (place, taken)
}

async fn settle(link: &Link, settlement: Settlement) {
    let Settlement { info, verdict, done } = settlement;
    let settled = match verdict {
        Disposition::Accept => link.accept(info).await,
        Disposition::Release => link.release(info).await,
        Disposition::Reject => link.reject(info, None).await,
    };
    let settled = settled.map_err(|error| ReceiveError::Lost(format!("the link is lost: {error}")));
    // Nobody waits for it any more: that is their affair.
    let _ = done.send(settled);
}

impl AmqpTicket {
    pub(crate) async fn settle(self, verdict: Disposition) -> Result<(), ReceiveError> {
        let lost = || ReceiveError::Lost("the link of the delivery is lost".to_owned());
        let (done, answer) = oneshot::channel();
        let settlement = Settlement { info: self.info, verdict, done };
        self.settlements.send(settlement).await.map_err(|_| lost())?;
        answer.await.map_err(|_| lost())?
    }
}
