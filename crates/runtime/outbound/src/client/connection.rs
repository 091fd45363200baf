//! One HTTP/1.1 connection, driven by the call that is on it: no task of its own, no wake-up between the two.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http_body_util::{BodyExt, Full};
use hyper::body::{Body, Incoming};
use hyper::client::conn::{TrySendError, http1};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::task::unconstrained;
use tokio::time::Instant;
use tokio_rustls::client::TlsStream;

use crate::client::ServiceResponse;
use crate::client::pool::OpenSlot;
use crate::fault::{Fault, Stage, with_causes};
use crate::limits;

type HttpMessage = http::Request<Full<Bytes>>;

/// An open connection.
pub(super) struct Live {
    sender: http1::SendRequest<Full<Bytes>>,
    /// None once it has closed; dropping it answers what still waits on `sender`.
    connection: Option<http1::Connection<TokioIo<Tally>, Full<Bytes>>>,
    written: Arc<AtomicBool>,
    /// When the last call on it ended; none while it has served none.
    idle_since: Option<Instant>,
    _slot: OpenSlot,
}

/// Why an exchange has no answer.
pub(super) enum Broken {
    /// Nothing of the message was taken; here it is again.
    Untouched(Box<HttpMessage>),
    Fault(Fault),
}

/// The bytes beneath HTTP.
pub(super) enum Wire {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

/// Notes whether anything was written, so that "not sent" is a fact and not a guess.
struct Tally {
    wire: Wire,
    written: Arc<AtomicBool>,
}

impl Live {
    pub(super) async fn start(wire: Wire, slot: OpenSlot) -> Result<Box<Live>, Fault> {
        let written = Arc::new(AtomicBool::new(false));
        let io = TokioIo::new(Tally { wire, written: written.clone() });
        let mut builder = http1::Builder::new();
        // Most messages are small: one buffer is cheaper to send than two.
        builder.max_header_size(limits::HEAD_BYTES_MAX).max_buf_size(limits::BUFFER_BYTES_MAX).writev(false);
        let (sender, connection) = builder
            .handshake(io)
            .await
            .map_err(|error| Fault::Connect { stage: Stage::Tcp, reason: with_causes(&error) })?;
        Ok(Box::new(Live { sender, connection: Some(connection), written, idle_since: None, _slot: slot }))
    }

    /// Whether the next message can go out on this connection, as far as is known now.
    pub(super) fn is_usable(&mut self) -> bool {
        // Nobody waits for an idle connection: it is looked at when it is taken and by the sweep.
        drive(&mut self.connection, &mut Context::from_waker(Waker::noop()));
        self.connection.is_some() && self.sender.is_ready()
    }

    pub(super) fn mark_idle(&mut self) {
        self.idle_since = Some(Instant::now());
    }

    pub(super) fn idle_for(&self) -> Duration {
        self.idle_since.map_or(Duration::ZERO, |since| since.elapsed())
    }

    /// Whether it has been idle before: then its server may have closed it unnoticed.
    pub(super) fn was_kept(&self) -> bool {
        self.idle_since.is_some()
    }

    /// Whether any byte of the current message has gone out.
    pub(super) fn has_written(&self) -> bool {
        self.written.load(Ordering::Relaxed)
    }

    /// Sends one message and reads its whole answer.
    pub(super) async fn exchange(
        &mut self,
        message: HttpMessage,
        bytes_max: usize,
    ) -> Result<ServiceResponse, Broken> {
        self.written.store(false, Ordering::Relaxed);
        // All that the talk waits for comes through the connection, and it is polled right after the connection: it
        // needs no waker, and waking the task it already runs in would cost a useless second poll. Unconstrained,
        // because a used-up budget would wake that waker.
        let mut talk = pin!(unconstrained(talk(self.sender.try_send_request(message), bytes_max)));
        let connection = &mut self.connection;
        let talked = poll_fn(|cx| {
            drive(connection, cx);
            talk.as_mut().poll(&mut Context::from_waker(Waker::noop()))
        });
        talked.await.map_err(|error| match error {
            TalkError::Untouched(message) => Broken::Untouched(message),
            TalkError::Broke(error) if !self.written.load(Ordering::Relaxed) => {
                Broken::Fault(Fault::Unsent { reason: with_causes(&error) })
            }
            TalkError::Broke(error) => Broken::Fault(fault_after_sending(&error)),
            TalkError::TooLarge(answer) => Broken::Fault(Fault::TooLarge { answer: Some(answer) }),
        })
    }
}

fn drive(connection: &mut Option<http1::Connection<TokioIo<Tally>, Full<Bytes>>>, cx: &mut Context<'_>) {
    // The connection's own error adds nothing: it is reported to whoever waits for an answer.
    if connection.as_mut().is_some_and(|connection| Pin::new(connection).poll(cx).is_ready()) {
        *connection = None;
    }
}

enum TalkError {
    Untouched(Box<HttpMessage>),
    Broke(hyper::Error),
    TooLarge(Box<ServiceResponse>),
}

async fn talk(
    answered: impl Future<Output = Result<http::Response<Incoming>, TrySendError<HttpMessage>>>,
    bytes_max: usize,
) -> Result<ServiceResponse, TalkError> {
    let response = answered.await.map_err(|mut error| match error.take_message() {
        Some(message) => TalkError::Untouched(Box::new(message)),
        None => TalkError::Broke(error.into_error()),
    })?;
    let (head, mut incoming) = response.into_parts();
    let (body, whole) = read_body(&mut incoming, bytes_max).await.map_err(TalkError::Broke)?;
    let answer = ServiceResponse { status: head.status.as_u16(), headers: head.headers, body };
    if whole { Ok(answer) } else { Err(TalkError::TooLarge(Box::new(answer))) }
}

/// The body up to `bytes_max`, and whether that is all of it.
async fn read_body(incoming: &mut Incoming, bytes_max: usize) -> Result<(Bytes, bool), hyper::Error> {
    let mut first = Bytes::new();
    let mut rest = BytesMut::new();
    while !incoming.is_end_stream() {
        let Some(frame) = incoming.frame().await else { break };
        let Ok(mut data) = frame?.into_data() else { continue };
        let room = bytes_max - first.len().max(rest.len());
        let whole = data.len() <= room;
        data.truncate(room);
        if first.is_empty() && rest.is_empty() {
            first = data;
        } else {
            if rest.is_empty() {
                rest.extend_from_slice(&first);
            }
            rest.extend_from_slice(&data);
        }
        if !whole {
            return Ok((if rest.is_empty() { first } else { rest.freeze() }, false));
        }
    }
    Ok((if rest.is_empty() { first } else { rest.freeze() }, true))
}

fn fault_after_sending(error: &hyper::Error) -> Fault {
    if error.is_parse_too_large() {
        Fault::TooLarge { answer: None }
    } else if error.is_parse() {
        Fault::BadAnswer { reason: with_causes(error) }
    } else {
        Fault::Lost { reason: with_causes(error) }
    }
}

impl AsyncRead for Tally {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        match &mut self.wire {
            Wire::Plain(stream) => Pin::new(stream).poll_read(cx, buffer),
            Wire::Tls(stream) => Pin::new(stream).poll_read(cx, buffer),
        }
    }
}

impl Tally {
    /// Counts before TLS: what rustls has taken may go out at any later moment.
    fn note(&self, written: Poll<std::io::Result<usize>>) -> Poll<std::io::Result<usize>> {
        if matches!(written, Poll::Ready(Ok(bytes)) if bytes > 0) {
            self.written.store(true, Ordering::Relaxed);
        }
        written
    }
}

impl AsyncWrite for Tally {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<std::io::Result<usize>> {
        let written = match &mut self.wire {
            Wire::Plain(stream) => Pin::new(stream).poll_write(cx, bytes),
            Wire::Tls(stream) => Pin::new(stream).poll_write(cx, bytes),
        };
        self.note(written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[std::io::IoSlice<'_>],
    ) -> Poll<std::io::Result<usize>> {
        let written = match &mut self.wire {
            Wire::Plain(stream) => Pin::new(stream).poll_write_vectored(cx, slices),
            Wire::Tls(stream) => Pin::new(stream).poll_write_vectored(cx, slices),
        };
        self.note(written)
    }

    fn is_write_vectored(&self) -> bool {
        match &self.wire {
            Wire::Plain(stream) => stream.is_write_vectored(),
            Wire::Tls(stream) => stream.is_write_vectored(),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        match &mut self.wire {
            Wire::Plain(stream) => Pin::new(stream).poll_flush(cx),
            Wire::Tls(stream) => Pin::new(stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        match &mut self.wire {
            Wire::Plain(stream) => Pin::new(stream).poll_shutdown(cx),
            Wire::Tls(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }
}
