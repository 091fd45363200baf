//! Versions as ETags, and what a request expects of them.

use axum::response::Response;
use http::header::{ETAG, IF_MATCH, IF_NONE_MATCH};
use http::{HeaderMap, HeaderValue};
use kernel::job::Expect;

use crate::error::ApiError;

/// The version that `If-Match: "3"` asks for.
pub(crate) fn if_match(headers: &HeaderMap) -> Result<Option<u32>, ApiError> {
    let Some(value) = headers.get(IF_MATCH) else { return Ok(None) };
    let text = value.to_str().unwrap_or("").trim().trim_start_matches("W/").trim_matches('"');
    if text == "*" {
        return Ok(None);
    }
    let version = text.parse().map_err(|_| {
        ApiError::BadRequest("If-Match: write the version as it stands in ETag, like \"3\"".to_owned())
    })?;
    Ok(Some(version))
}

/// What must be there: a version by `If-Match`, nothing by `If-None-Match: *`.
pub(crate) fn expect(headers: &HeaderMap) -> Result<Expect, ApiError> {
    if headers.get(IF_NONE_MATCH).is_some_and(|value| value == "*") {
        return Ok(Expect::Nothing);
    }
    Ok(if_match(headers)?.map_or(Expect::Anything, Expect::Version))
}

pub(crate) fn with_etag(mut response: Response, version: u32) -> Response {
    let value = HeaderValue::try_from(format!("\"{version}\"")).expect("a quoted number is a header value");
    response.headers_mut().insert(ETAG, value);
    response
}
