//! Calls and messages as people may see them: what is sent, with secrets masked.

use std::time::Duration;

use action::Destination;
use bytes::Bytes;
use http::HeaderValue;
use types::Message;

use crate::client::OutboundRequest;
use crate::headers::mark_region;
use crate::job::is_credential;
use crate::mask::MASK;

/// What a work sends.
#[derive(Debug, Clone, PartialEq)]
pub enum CallPreview {
    Call(HttpPreview),
    Message(Box<MessagePreview>),
    /// A job that starts a workflow.
    Start {
        workflow: String,
        id: Option<String>,
        body: String,
    },
}

/// A call with its secrets masked.
#[derive(Debug, Clone, PartialEq)]
pub struct HttpPreview {
    pub method: String,
    pub url: String,
    pub headers: Vec<(String, String)>,
    pub body: Option<Bytes>,
    pub timeout: Duration,
    /// Whether it shows a certificate.
    pub certificate: bool,
}

/// A message, and where it goes. It holds no credentials.
#[derive(Debug, Clone, PartialEq)]
pub struct MessagePreview {
    pub to: Destination<String>,
    /// The address of the broker; none for queues and topics of our own.
    pub at: Option<String>,
    pub message: Message,
}

/// Parameters of a query that let their bearer in, besides those whose names say so.
const CREDENTIAL_PARAMETERS: [&str; 4] = ["sig", "code", "key", "signature"];

impl CallPreview {
    pub(crate) fn call(mut request: OutboundRequest, region_epoch: u64, certificate: bool) -> CallPreview {
        mark_region(&mut request.headers, region_epoch);
        let headers = request.headers.iter().map(|(name, value)| {
            let hidden = is_credential(name) || value.is_sensitive();
            (name.to_string(), if hidden { masked(value) } else { text(value) })
        });
        CallPreview::Call(HttpPreview {
            method: request.method.to_string(),
            url: url(&request),
            headers: headers.collect(),
            timeout: request.deadline,
            certificate,
            body: request.body,
        })
    }
}

fn text(value: &HeaderValue) -> String {
    String::from_utf8_lossy(value.as_bytes()).into_owned()
}

/// What kind of credentials they are may be seen.
fn masked(value: &HeaderValue) -> String {
    let text = text(value);
    let scheme = text.split_once(' ').map(|(scheme, _)| scheme);
    match scheme.filter(|scheme| ["basic", "bearer"].contains(&scheme.to_ascii_lowercase().as_str())) {
        Some(scheme) => format!("{scheme} {MASK}"),
        None => MASK.to_owned(),
    }
}

fn url(request: &OutboundRequest) -> String {
    let scheme = if request.url.origin.tls { "https" } else { "http" };
    let host = String::from_utf8_lossy(request.url.host_header.as_bytes());
    let path = request.url.path_and_query.path();
    let query = request.url.path_and_query.query().map(|query| {
        let pairs = query.split('&').map(|pair| match pair.split_once('=') {
            Some((name, _)) if is_secret_parameter(name) => format!("{name}={MASK}"),
            _ => pair.to_owned(),
        });
        format!("?{}", pairs.collect::<Vec<_>>().join("&"))
    });
    format!("{scheme}://{host}{path}{}", query.unwrap_or_default())
}

fn is_secret_parameter(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let credential = http::HeaderName::try_from(&name).is_ok_and(|name| is_credential(&name));
    credential || CREDENTIAL_PARAMETERS.contains(&name.as_str())
}

#[cfg(test)]
mod tests {
    use http::Method;

    use super::*;
    use crate::url::Url;

    fn shown(url: &str, headers: &[(&'static str, &'static str)]) -> HttpPreview {
        let mut request = OutboundRequest::new(Method::POST, Url::parse(url).unwrap());
        for (name, value) in headers {
            request.headers.append(*name, HeaderValue::from_static(value));
        }
        let CallPreview::Call(call) = CallPreview::call(request, 3, false) else {
            unreachable!("a call was given")
        };
        call
    }

    #[test]
    fn what_lets_its_bearer_in_is_masked_and_all_else_is_as_sent() {
        let call = shown(
            "http://svc:8080/a%20b?x=1&sig=abc&access_token=t&flag",
            &[("authorization", "Bearer abc"), ("x-api-key", "abc"), ("idempotency-key", "r/s/do")],
        );
        assert_eq!(call.url, "http://svc:8080/a%20b?x=1&sig=***&access_token=***&flag");
        let lines: Vec<_> = call.headers.iter().map(|(name, value)| format!("{name}: {value}")).collect();
        let expected = [
            "authorization: Bearer ***",
            "x-api-key: ***",
            "idempotency-key: r/s/do",
            "sortie-region-epoch: 3",
        ];
        assert_eq!(lines, expected);
    }
}
