//! The query of a request to the bus: how long to wait, and what goes beyond Service Bus.

use axum::extract::Query as Pairs;
use engine::limits::RECEIVED_MAX;
use http::Uri;
use types::Span;

use crate::error::ApiError;
use crate::limits::{LOCK_MAX, LOCK_MIN, PATIENCE_DEFAULT, PATIENCE_MAX};

/// What was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Query {
    pub patience: Span,
    pub lock: Option<Span>,
    /// Absent: one message, in the shape of one.
    pub max: Option<usize>,
    pub session: Option<String>,
}

impl Query {
    /// Reads the query of a receive; a name that is not known must not be passed over.
    pub(super) fn receive(uri: &Uri) -> Result<Query, ApiError> {
        let mut query = Query { patience: PATIENCE_DEFAULT, lock: None, max: None, session: None };
        for (name, value) in pairs(uri)? {
            match name.to_ascii_lowercase().as_str() {
                "timeout" => query.patience = timeout(&value)?,
                "lock" => query.lock = Some(lock(&value)?),
                "max" => query.max = Some(max(&value)?),
                "session" => query.session = Some(session(value)?),
                "api-version" => {}
                _ => return Err(unknown(&name, "timeout, lock, max, session and api-version")),
            }
        }
        Ok(query)
    }

    /// Reads the query of anything else, which says nothing: Service Bus's own clients send a timeout.
    pub(super) fn none(uri: &Uri) -> Result<(), ApiError> {
        for (name, _) in pairs(uri)? {
            if !matches!(name.to_ascii_lowercase().as_str(), "timeout" | "api-version") {
                return Err(unknown(&name, "timeout and api-version"));
            }
        }
        Ok(())
    }
}

fn pairs(uri: &Uri) -> Result<Vec<(String, String)>, ApiError> {
    let Pairs(pairs) = Pairs::<Vec<(String, String)>>::try_from_uri(uri)
        .map_err(|error| ApiError::BadRequest(error.body_text()))?;
    Ok(pairs)
}

fn unknown(name: &str, known: &str) -> ApiError {
    ApiError::BadRequest(format!("{name}: not a parameter here; {known} are"))
}

fn timeout(text: &str) -> Result<Span, ApiError> {
    let most = PATIENCE_MAX.as_ms() / 1000;
    let secs = text.trim().parse::<u64>().ok().filter(|secs| *secs <= most);
    let secs = secs.ok_or_else(|| {
        ApiError::BadRequest(format!("timeout: '{text}' is not a number of seconds from 0 to {most}"))
    })?;
    Ok(Span::from_secs(secs))
}

fn lock(text: &str) -> Result<Span, ApiError> {
    let span = text.parse::<Span>().map_err(|error| ApiError::BadRequest(format!("lock: {error}")))?;
    if !(LOCK_MIN..=LOCK_MAX).contains(&span) {
        return Err(ApiError::BadRequest(format!("lock: {span} is not {LOCK_MIN} to {LOCK_MAX}")));
    }
    Ok(span)
}

fn max(text: &str) -> Result<usize, ApiError> {
    let max = text.parse().ok().filter(|max| (1..=RECEIVED_MAX).contains(max));
    max.ok_or_else(|| ApiError::BadRequest(format!("max: '{text}' is not a number from 1 to {RECEIVED_MAX}")))
}

fn session(text: String) -> Result<String, ApiError> {
    if text.is_empty() || text.len() > crate::limits::MESSAGE_ID_BYTES_MAX {
        return Err(ApiError::BadRequest("session: 1 to 128 characters".to_owned()));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(query: &str) -> Result<Query, ApiError> {
        Query::receive(&format!("/q/messages/head?{query}").parse().unwrap())
    }

    #[test]
    fn what_is_not_said_has_a_default_and_what_is_wrong_is_named() {
        let all = read("Timeout=5&lock=30s&max=10&session=a%20b&api-version=2014-05").unwrap();
        let (patience, lock) = (Span::from_secs(5), Some(Span::from_secs(30)));
        assert_eq!(all, Query { patience, lock, max: Some(10), session: Some("a b".to_owned()) });
        assert_eq!(read("").unwrap().patience, Span::from_secs(60));
        for bad in
            ["timeout=301", "timeout=-1", "timeout=x", "lock=1", "lock=2h", "max=0", "max=257", "session="]
        {
            let name = bad.split('=').next().unwrap();
            assert!(read(bad).unwrap_err().to_string().starts_with(&format!("{name}: ")), "{bad}");
        }
        assert!(read("timout=5").unwrap_err().to_string().contains("timout: not a parameter"));
        assert!(Query::none(&"/q/messages?max=1".parse().unwrap()).is_err());
    }
}
