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
