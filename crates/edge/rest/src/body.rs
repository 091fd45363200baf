//! Reading bodies: whole, bounded in size and time.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{Bytes, BytesMut};
use http::Request;
use http::header::CONTENT_LENGTH;
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::{Body, Frame, Incoming, SizeHint};

use crate::error::ApiError;
use crate::limits::BODY_TIMEOUT;

/// The body of a request: still arriving from its client, or read before, because the request might have been another
/// instance's to answer.
pub(crate) enum Payload {
    Arriving(Incoming),
    Whole(Full<Bytes>),
}

impl Payload {
    pub(crate) fn whole(bytes: Bytes) -> Payload {
        Payload::Whole(Full::new(bytes))
    }
}

impl Body for Payload {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        match self.get_mut() {
            Payload::Arriving(body) => Pin::new(body).poll_frame(cx),
            Payload::Whole(body) => Pin::new(body).poll_frame(cx).map_err(|never| match never {}),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Payload::Arriving(body) => body.is_end_stream(),
            Payload::Whole(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Payload::Arriving(body) => body.size_hint(),
            Payload::Whole(body) => body.size_hint(),
        }
    }
}

/// The body of a request. One that says it is too large is refused before it is read.
pub(crate) async fn read<B>(request: Request<B>, bytes_max: usize) -> Result<Bytes, ApiError>
where
    B: Body<Data = Bytes> + Unpin,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let announced =
        request.headers().get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
    if announced.is_some_and(|bytes: usize| bytes > bytes_max) {
        return Err(ApiError::BodyTooLarge { bytes_max });
    }
    let whole = gather(Limited::new(request.into_body(), bytes_max));
    match tokio::time::timeout(BODY_TIMEOUT, whole).await {
        Err(_) => Err(ApiError::BodyTimeout),
        Ok(Ok(body)) => Ok(body),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(ApiError::BodyTooLarge { bytes_max }),
        Ok(Err(error)) => Err(ApiError::BodyBroken(error.to_string())),
    }
}

/// Most bodies come in one piece, and then that piece is the body.
async fn gather<B: Body<Data = Bytes> + Unpin>(mut body: B) -> Result<Bytes, B::Error> {
    let mut whole = Bytes::new();
    let mut rest = BytesMut::new();
    while !body.is_end_stream() {
        let Some(frame) = body.frame().await else { break };
        let Ok(data) = frame?.into_data() else { continue };
        if whole.is_empty() {
            whole = data;
        } else {
            rest.extend_from_slice(&data);
        }
    }
    if rest.is_empty() {
        return Ok(whole);
    }
    Ok([whole, rest.freeze()].concat().into())
}

/// Reads the body of a request that is refused and keeps nothing of it: a connection that is closed while its client
/// still sends would take the answer with it.
pub(crate) async fn discard<B>(request: Request<B>, bytes_max: usize)
where
    B: Body<Data = Bytes> + Unpin,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let mut body = Limited::new(request.into_body(), bytes_max);
    let discarded = async { while let Some(Ok(_)) = body.frame().await {} };
    // A client that takes longer loses its connection, and maybe the answer.
    let _ = tokio::time::timeout(BODY_TIMEOUT, discarded).await;
}
