//! Tokens of Azure Active Directory: asked for with an application's own secret, and kept until shortly before their end.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use host::Clock;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderValue, Method};
use serde_json::Value;
use sha2::{Digest, Sha256};
use tokio::time::{Instant, timeout_at};
use types::{Span, Timestamp};
use vault::Secret;

use crate::client::{Client, OutboundRequest, ServiceResponse};
use crate::fault::Fault;
use crate::job::status;
use crate::limits::{REASON_CHARS_MAX, TOKEN_MARGIN, TOKENS_MAX};
use crate::mask::form_encoded;
use crate::sort::retry_after;
use crate::url::Url;

/// The tokens in use.
pub(super) struct Tokens {
    client: Client,
    authority: String,
    clock: Clock,
    // A lock, not messages: held for a look-up.
    entries: Mutex<HashMap<TokenKey, Arc<CachedToken>>>,
}

/// What a token is asked for with.
pub(super) struct Credentials<'a> {
    pub(super) tenant: &'a str,
    pub(super) audience: &'a str,
    pub(super) client_id: &'a str,
    pub(super) secret: &'a Secret,
}

/// A token, and where it is kept.
#[derive(Clone)]
pub(super) struct Token {
    pub(super) text: Secret,
    key: TokenKey,
    fresh_until: Timestamp,
}

/// Why there is no token. The reason may quote the endpoint, and so whatever was sent to it: mask it.
#[derive(Debug, thiserror::Error)]
#[error("{reason}")]
pub(super) struct NoToken {
    pub(super) reason: String,
    pub(super) retry_after: Option<Span>,
}

/// The hash of everything that a token depends on, the secret included.
type TokenKey = [u8; 32];

#[derive(Default)]
struct CachedToken {
    /// Held while a token is asked for, so that those who need the same one wait for it instead of asking too.
    asking: tokio::sync::Mutex<()>,
    token: Mutex<Option<Token>>,
}

impl Tokens {
    pub(super) fn new(client: Client, authority: &str, clock: Clock) -> Tokens {
        let authority = authority.trim_end_matches('/').to_owned();
        Tokens { client, authority, clock, entries: Mutex::default() }
    }

    /// A token that is good for a while, from the cache or from the authority.
    pub(super) async fn token(&self, wanted: &Credentials<'_>, deadline: Instant) -> Result<Token, NoToken> {
        let key = self.key_of(wanted);
        let entry = self.entry(key);
        if let Some(token) = entry.fresh(self.clock.now()) {
            return Ok(token);
        }
        let turn = timeout_at(deadline, entry.asking.lock()).await;
        let _turn = turn.map_err(|_| no_token("no token by the deadline".to_owned()))?;
        // Whoever held the turn before may have brought it.
        if let Some(token) = entry.fresh(self.clock.now()) {
            return Ok(token);
        }
        let token = self.ask(wanted, key, deadline).await?;
        *entry.lock() = Some(token.clone());
        Ok(token)
    }

    /// Drops a token that its target did not accept; a newer one stays.
    pub(super) fn forget(&self, token: &Token) {
        let entry = self.lock().get(&token.key).cloned();
        let Some(entry) = entry else { return };
        let mut kept = entry.lock();
        if kept.as_ref().is_some_and(|kept| kept.text == token.text) {
            *kept = None;
        }
    }

    async fn ask(
        &self,
        wanted: &Credentials<'_>,
        key: TokenKey,
        deadline: Instant,
    ) -> Result<Token, NoToken> {
        let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.' | b'_');
        if wanted.tenant.is_empty() || !wanted.tenant.bytes().all(plain) {
            return Err(no_token("the tenant is neither a domain nor an id".to_owned()));
        }
        let url = Url::parse(&format!("{}/{}/oauth2/token", self.authority, wanted.tenant));
        let url = url.map_err(|fault| no_token(format!("no token: {fault}")))?;
        let host = url.origin.host.to_string();
        let mut request = OutboundRequest::new(Method::POST, url);
        request.headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/x-www-form-urlencoded"));
        request.headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        request.body = Some(form(wanted).into());
        request.deadline = deadline.saturating_duration_since(Instant::now());
        let result = self.client.send(request).await;
        self.read(&host, result, key)
    }

    fn read(
        &self,
        host: &str,
        result: Result<ServiceResponse, Fault>,
        key: TokenKey,
    ) -> Result<Token, NoToken> {
        let answer = match result {
            Ok(answer) => answer,
            Err(fault) => return Err(no_token(format!("no token from '{host}': {fault}"))),
        };
        let now = self.clock.now();
        let body: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
        if answer.status != 200 {
            let said = ["error", "error_description"].map(|name| body[name].as_str().unwrap_or_default());
            let said: String = said.join(": ").chars().take(2 * REASON_CHARS_MAX).collect();
            let status = status::name_of(answer.status);
            let reason =
                format!("no token from '{host}': '{status}' {said}").trim_end_matches([' ', ':']).to_owned();
            return Err(NoToken { reason, retry_after: retry_after(&answer.headers, now) });
        }
        let text = body["access_token"].as_str().filter(|text| is_token(text));
        let text = text.ok_or_else(|| no_token(format!("no token from '{host}': none in its answer")))?;
        let fresh_until = fresh_until(now, lifetime(&body["expires_in"]));
        Ok(Token { text: Secret::new(text.to_owned()), key, fresh_until })
    }

    fn entry(&self, key: TokenKey) -> Arc<CachedToken> {
        let mut entries = self.lock();
        if let Some(entry) = entries.get(&key) {
            return entry.clone();
        }
        if entries.len() >= TOKENS_MAX {
            let now = self.clock.now();
            // Those in use have a second owner.
            entries.retain(|_, entry| Arc::strong_count(entry) > 1 || entry.fresh(now).is_some());
        }
        if entries.len() >= TOKENS_MAX {
            entries.retain(|_, entry| Arc::strong_count(entry) > 1);
        }
        entries.entry(key).or_default().clone()
    }

    fn key_of(&self, wanted: &Credentials<'_>) -> TokenKey {
        let mut hash = Sha256::new();
        for part in
            [&self.authority, wanted.tenant, wanted.client_id, wanted.audience, wanted.secret.expose()]
        {
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part);
        }
        hash.finalize().into()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<TokenKey, Arc<CachedToken>>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CachedToken {
    fn fresh(&self, now: Timestamp) -> Option<Token> {
        self.lock().clone().filter(|token| now < token.fresh_until)
    }

    fn lock(&self) -> MutexGuard<'_, Option<Token>> {
        self.token.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn form(wanted: &Credentials<'_>) -> String {
    let fields = [
        ("grant_type", "client_credentials"),
        ("client_id", wanted.client_id),
        ("client_secret", wanted.secret.expose()),
        ("resource", wanted.audience),
    ];
    fields.map(|(name, value)| format!("{name}={}", form_encoded(value))).join("&")
}

/// What can follow `Bearer` (RFC 6750).
fn is_token(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_graphic())
}

/// Seconds, as a number or, in the older answers of the authority, as text; five minutes when it does not say.
fn lifetime(expires_in: &Value) -> Duration {
    let secs = expires_in.as_u64().or_else(|| expires_in.as_str()?.parse().ok());
    Duration::from_secs(secs.unwrap_or(300).min(86_400))
}

/// Leaves a margin before the end, but uses at least half of a short life.
fn fresh_until(now: Timestamp, lifetime: Duration) -> Timestamp {
    let used = lifetime - TOKEN_MARGIN.min(lifetime / 2);
    now + Span::from_ms(used.as_millis() as u64)
}

fn no_token(reason: String) -> NoToken {
    NoToken { reason, retry_after: None }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_token_is_given_up_before_its_end() {
        let until = |secs| fresh_until(Timestamp(0), Duration::from_secs(secs)).0 / 1000;
        assert_eq!([until(3600), until(600), until(300), until(10), until(0)], [3300, 300, 150, 5, 0]);
    }

    #[test]
    fn a_lifetime_is_a_number_or_text() {
        for (value, secs) in [
            (json!(3599), 3599),
            (json!("3599"), 3599),
            (Value::Null, 300),
            (json!("soon"), 300),
            (json!(-5), 300),
            (json!(u64::MAX), 86_400),
        ] {
            assert_eq!(lifetime(&value), Duration::from_secs(secs), "{value}");
        }
    }
}
