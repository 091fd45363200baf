//! Reading bodies: whole, bounded in size and time.

use bytes::Bytes;
use http::Request;
use http::header::CONTENT_LENGTH;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::Body;

use crate::error::ApiError;
use crate::limits::BODY_TIMEOUT;

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
    let collected = Limited::new(request.into_body(), bytes_max).collect();
    match tokio::time::timeout(BODY_TIMEOUT, collected).await {
        Err(_) => Err(ApiError::BodyTimeout),
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(ApiError::BodyTooLarge { bytes_max }),
        Ok(Err(error)) => Err(ApiError::BodyBroken(error.to_string())),
    }
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
