//! Versions as ETags, and what a request expects of them.

use axum::response::Response;
use http::header::{ETAG, IF_MATCH, IF_NONE_MATCH};
use http::{HeaderMap, HeaderValue, Method};
use kernel::job::Expect;

use crate::error::ApiError;

/// The version that `If-Match: "3"` asks for.
pub(crate) fn if_match(headers: &HeaderMap) -> Result<Option<u32>, ApiError> {
    let Some(value) = headers.get(IF_MATCH) else { return Ok(None) };
    let text = value.to_str().unwrap_or("").trim();
    if text == "*" {
        return Ok(None);
    }
    let version = version(text).ok_or_else(|| {
        ApiError::BadRequest("If-Match: write the version as it stands in ETag, like \"3\"".to_owned())
    })?;
    Ok(Some(version))
}

/// The number in `"3"` or `W/"3"`, also without its quotes. Nothing else: a version that was meant for something
/// else must not be taken for one of ours.
fn version(text: &str) -> Option<u32> {
    let text = text.strip_prefix("W/").unwrap_or(text);
    let unquoted = text.strip_prefix('"').map_or(Some(text), |rest| rest.strip_suffix('"'))?;
    // `parse` alone would also take a sign.
    unquoted.bytes().all(|byte| byte.is_ascii_digit()).then(|| unquoted.parse().ok()).flatten()
}

/// What must be there for a change: a version by `If-Match`, nothing by `If-None-Match: *`. Reading expects nothing.
pub(crate) fn expect(method: &Method, headers: &HeaderMap) -> Result<Expect, ApiError> {
    if matches!(*method, Method::GET | Method::HEAD) {
        return Ok(Expect::Anything);
    }
    match headers.get(IF_NONE_MATCH) {
        Some(value) if value == "*" => return Ok(Expect::Nothing),
        // A condition that is passed over is a change that its client did not want.
        Some(_) => return Err(ApiError::BadRequest("If-None-Match: only * is taken here".to_owned())),
        None => {}
    }
    Ok(if_match(headers)?.map_or(Expect::Anything, Expect::Version))
}

pub(crate) fn with_etag(mut response: Response, version: u32) -> Response {
    let value = HeaderValue::try_from(format!("\"{version}\"")).expect("a quoted number is a header value");
    response.headers_mut().insert(ETAG, value);
    response
}

#[cfg(test)]
mod tests {
    use super::version;

    #[test]
    fn only_a_version_is_a_version() {
        for text in ["3", "\"3\"", "W/\"3\"", "W/3"] {
            assert_eq!(version(text), Some(3), "{text}");
        }
        for text in
            ["", "\"", "\"\"", "+3", "-3", "\"3", "3\"", "\"\"3\"\"", "W/W/3", "3, 4", "4294967296", "abc"]
        {
            assert_eq!(version(text), None, "{text}");
        }
    }
}
