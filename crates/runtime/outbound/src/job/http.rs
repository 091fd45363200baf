//! The http action: sign in, call, and put what came into words.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use host::Clock;
use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderName, HeaderValue};
use serde_json::json;
use tokio::time::Instant;
use types::{Outcome, Span, Ticks, Timestamp};
use vault::{UnsealError, Vault};

use crate::client::{Client, ClientIdentity, OutboundRequest, ServiceResponse};
use crate::fault::Fault;
use crate::headers::{InvalidKey, TraceParent, call_headers};
use crate::job::action::{Authentication, HttpAction};
use crate::job::certificate::{CertificateError, Certificates};
use crate::job::oauth::{Credentials, NoToken, Token, Tokens};
use crate::job::turn::Turns;
use crate::job::{JobCall, JobSettings, failed, message};
use crate::mask::{MASK, Mask};
use crate::shown::CallPreview;
use crate::sort::{Sorted, sort};
use crate::url::Url;

/// Carries out http actions.
pub(super) struct HttpCaller {
    client: Client,
    vault: Arc<Vault>,
    tokens: Tokens,
    certificates: Certificates,
    turns: Turns,
    clock: Clock,
    settings: JobSettings,
}

/// A call that is ready to leave.
struct Ready {
    request: OutboundRequest,
    token: Option<Token>,
}

/// How the call signs in.
#[derive(Default)]
struct SignIn {
    authorization: Option<HeaderValue>,
    token: Option<Token>,
    identity: Option<ClientIdentity>,
}

/// Why a call could not leave.
#[derive(Debug, thiserror::Error)]
enum HttpNotSent {
    #[error("{member} cannot be unsealed: {source}")]
    Sealed { member: &'static str, source: UnsealError },
    #[error("{0}")]
    Certificate(#[from] CertificateError),
    #[error("{0}")]
    Token(#[from] NoToken),
    #[error("{0}")]
    Key(#[from] InvalidKey),
    #[error("{0} cannot be sent as a header")]
    Fact(&'static str),
}

impl HttpCaller {
    pub(super) fn new(client: Client, vault: Arc<Vault>, clock: Clock, settings: JobSettings) -> HttpCaller {
        HttpCaller {
            tokens: Tokens::new(client.clone(), &settings.authority, clock.clone()),
            certificates: Certificates::new(vault.clone()),
            turns: Turns::new(settings.calls_per_origin),
            client,
            vault,
            clock,
            settings,
        }
    }

    /// `None` when the call was stopped before it left.
    pub(super) async fn call(&self, action: &HttpAction, call: &JobCall<'_>) -> Option<Outcome> {
        let url = match Url::parse(&action.uri) {
            Ok(url) => url,
            Err(fault) => return Some(failed(message::failed_without_host(&fault.to_string()))),
        };
        let host = url.origin.host.to_string();
        let mut mask = Mask::default();
        let getting_ready = async {
            let turn = self.turns.take(&url.origin.to_string()).await;
            let deadline = Instant::now() + self.settings.timeout;
            (turn, deadline, self.prepare(url, action, call, deadline, &mut mask).await)
        };
        let (_turn, deadline, ready) = tokio::select! {
            // The call first: one that may go when it is stopped is as good as on its way.
            biased;
            ready = getting_ready => ready,
            () = call.stop.raised() => return None,
        };
        let Ready { mut request, token } = match ready {
            Ok(ready) => ready,
            Err(unready) => return Some(unready.outcome(&host, &mask)),
        };
        request.deadline = deadline.saturating_duration_since(Instant::now());
        let result = self.client.send(request).await;
        if let (Some(token), Ok(ServiceResponse { status: 401, .. })) = (&token, &result) {
            self.tokens.forget(token);
        }
        Some(outcome(&host, &result, self.clock.now(), self.settings.body_chars_max, &mask))
    }

    async fn prepare(
        &self,
        url: Url,
        action: &HttpAction,
        call: &JobCall<'_>,
        deadline: Instant,
        mask: &mut Mask,
    ) -> Result<Ready, HttpNotSent> {
        for (_, value) in action.headers.iter().filter(|(name, _)| message::is_credential(name)) {
            mask.hide(&String::from_utf8_lossy(value.as_bytes()));
        }
        let SignIn { authorization, token, identity } =
            self.sign_in(&action.authentication, deadline, mask).await?;
        let mut headers = headers(action, call)?;
        if let Some(authorization) = authorization {
            headers.insert(AUTHORIZATION, authorization);
        }
        let request = OutboundRequest {
            headers,
            body: action.body.clone(),
            identity,
            ..OutboundRequest::new(action.method.clone(), url)
        };
        Ok(Ready { request, token })
    }

    async fn sign_in(
        &self,
        authentication: &Authentication,
        deadline: Instant,
        mask: &mut Mask,
    ) -> Result<SignIn, HttpNotSent> {
        let open = |sealed: &str, member| {
            self.vault.open(sealed).map_err(|source| HttpNotSent::Sealed { member, source })
        };
        match authentication {
            Authentication::None => Ok(SignIn::default()),
            Authentication::Basic { username, sealed_password } => {
                let password = open(sealed_password, "the password")?;
                let credentials = STANDARD.encode(format!("{username}:{}", password.expose()));
                mask.hide(password.expose());
                mask.hide(&credentials);
                Ok(SignIn { authorization: Some(authorization("Basic", &credentials)), ..SignIn::default() })
            }
            Authentication::ClientCertificate { sealed_pfx, sealed_password } => {
                let now = self.clock.now();
                let identity = self.certificates.identity(sealed_pfx, sealed_password.as_deref(), now);
                Ok(SignIn { identity: Some(Box::pin(identity).await?), ..SignIn::default() })
            }
            Authentication::ActiveDirectoryOAuth { tenant, audience, client_id, sealed_secret } => {
                let secret = open(sealed_secret, "the secret")?;
                mask.hide(secret.expose());
                let credentials = Credentials { tenant, audience, client_id, secret: &secret };
                // Boxed, like the certificate's: most calls sign in without waiting for anybody.
                let token = Box::pin(self.tokens.token(&credentials, deadline)).await?;
                mask.hide(token.text.expose());
                let authorization = Some(authorization("Bearer", token.text.expose()));
                Ok(SignIn { authorization, token: Some(token), ..SignIn::default() })
            }
        }
    }

    /// The call as people may see it: nothing is unsealed for them.
    pub(super) fn show(&self, action: &HttpAction, call: &JobCall<'_>) -> Result<CallPreview, String> {
        let url = Url::parse(&action.uri).map_err(|fault| fault.to_string())?;
        let mut headers = headers(action, call).map_err(|unready| unready.to_string())?;
        let (scheme, certificate) = match action.authentication {
            Authentication::None => (None, false),
            Authentication::Basic { .. } => (Some("Basic"), false),
            Authentication::ClientCertificate { .. } => (None, true),
            Authentication::ActiveDirectoryOAuth { .. } => (Some("Bearer"), false),
        };
        headers.extend(scheme.map(|scheme| (AUTHORIZATION, authorization(scheme, MASK))));
        // Another one in each attempt.
        headers.remove("x-ms-client-request-id");
        let (method, body) = (action.method.clone(), action.body.clone());
        let deadline = self.settings.timeout;
        let request = OutboundRequest { headers, body, deadline, ..OutboundRequest::new(method, url) };
        Ok(CallPreview::call(request, self.client.region_epoch(), certificate))
    }
}

/// What the answer to a job's call means for its occurrence.
pub(super) fn outcome(
    host: &str,
    result: &Result<ServiceResponse, Fault>,
    now: Timestamp,
    body_chars_max: usize,
    mask: &Mask,
) -> Outcome {
    // Of a large answer only the beginning is reported, so its beginning is enough.
    let answer = match result {
        Ok(answer) => answer,
        Err(Fault::TooLarge { answer: Some(answer) }) => answer,
        Err(fault) => {
            let reason = message::failed(host, &fault.to_string(), mask);
            return match sort(result, now) {
                Sorted::Unknown { .. } => Outcome::Unknown { reason },
                Sorted::Done { .. } | Sorted::Refused { .. } | Sorted::Transient { .. } => failed(reason),
            };
        }
    };
    let status = answer.status;
    let message = message::answered(host, answer, body_chars_max, mask);
    if (200..300).contains(&status) {
        let output = json!({ "status": status, "message": message }).to_string().into();
        return Outcome::Done { status, output };
    }
    let retry_after = match sort(result, now) {
        Sorted::Transient { retry_after, .. } => retry_after,
        Sorted::Done { .. } | Sorted::Refused { .. } | Sorted::Unknown { .. } => None,
    };
    Outcome::Transient { status: Some(status), reason: message, retry_after }
}

impl HttpNotSent {
    fn outcome(&self, host: &str, mask: &Mask) -> Outcome {
        let retry_after: Option<Span> = match self {
            HttpNotSent::Token(no_token) => no_token.retry_after,
            HttpNotSent::Sealed { .. }
            | HttpNotSent::Certificate(_)
            | HttpNotSent::Key(_)
            | HttpNotSent::Fact(_) => None,
        };
        let reason = message::failed(host, &self.to_string(), mask);
        Outcome::Transient { status: None, reason, retry_after }
    }
}

/// The headers of a call, without those by which it signs in.
fn headers(action: &HttpAction, call: &JobCall<'_>) -> Result<HeaderMap, HttpNotSent> {
    let trace = TraceParent::root(call.execution_tag);
    let span_seed = format!("{}/{}", call.idempotency_key, call.attempt);
    let mut headers = call_headers(action.headers.clone(), call.idempotency_key, trace, &span_seed)?;
    add_facts(&mut headers, call)?;
    Ok(headers)
}

fn authorization(scheme: &str, credentials: &str) -> HeaderValue {
    let mut value = HeaderValue::try_from(format!("{scheme} {credentials}"))
        .expect("base64 and checked tokens are visible ASCII");
    value.set_sensitive(true);
    value
}

/// What the scheduler says of the occurrence. The target relies on it: an action's own header of the same name does
/// not replace it.
fn add_facts(headers: &mut HeaderMap, call: &JobCall<'_>) -> Result<(), HttpNotSent> {
    let request_id = uuid::Uuid::now_v7().to_string();
    let expected_at = expected_text(call.expected_at).ok_or(HttpNotSent::Fact("the expected time"))?;
    for (name, value, fact) in [
        ("x-ms-execution-tag", call.execution_tag, "the execution tag"),
        ("x-ms-client-request-id", &request_id, "the request's id"),
        ("x-ms-scheduler-expected-execution-time", &expected_at, "the expected time"),
        ("x-ms-scheduler-jobid", call.job, "the job's name"),
        ("x-ms-scheduler-jobcollection", call.collection, "the collection's name"),
        ("x-ms-scheduler-execution-region", call.region, "the region's name"),
    ] {
        let value = HeaderValue::from_bytes(value.as_bytes()).map_err(|_| HttpNotSent::Fact(fact))?;
        headers.insert(HeaderName::from_static(name), value);
    }
    Ok(())
}

/// `yyyy-MM-ddTHH:mm:ss` in UTC.
fn expected_text(time: Ticks) -> Option<String> {
    let time = jiff::Timestamp::from_second(time.0.div_euclid(Ticks::PER_SECOND)).ok()?;
    Some(time.strftime("%Y-%m-%dT%H:%M:%S").to_string())
}
