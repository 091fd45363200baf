//! A small HTTP client for the API: one connection, opened when it is needed.

use std::time::Duration;

use anyhow::Context;
use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::client::conn::http1::{self, SendRequest};
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HOST, HeaderMap, HeaderName, HeaderValue};
use hyper::{Method, Request, StatusCode, Uri};
use hyper_util::rt::TokioIo;
use serde::de::DeserializeOwned;
use tokio::net::TcpStream;
use wire::Problem;

use crate::failure::Failure;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// From the request to the last byte of its answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(60);
/// The largest answers are pages of runs; this only stops a server that is none of ours.
const ANSWER_BYTES_MAX: usize = 256 << 20;

/// A client of one server.
pub struct Client {
    url: String,
    authority: String,
    host: String,
    port: u16,
    /// The path under which the API lives, without a slash at its end.
    prefix: String,
    authorization: Option<HeaderValue>,
    connection: Option<SendRequest<Full<Bytes>>>,
}

/// One request, still to be sent.
pub struct Call {
    method: Method,
    path: String,
    body: Bytes,
    headers: Vec<(HeaderName, HeaderValue)>,
    /// How long the server itself may wait before it answers.
    waits: Duration,
}

/// An answer, whatever its status.
#[derive(Debug)]
pub struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl Client {
    /// A client of the server at `url`; nothing is connected yet.
    pub fn new(url: &str, token: Option<&str>) -> Result<Client, Failure> {
        let invalid = |why: &str| Failure::Usage(format!("--url {url:?} {why}, like http://127.0.0.1:7070"));
        let uri: Uri = url.parse().map_err(|_| invalid("is no URL; write it with scheme and host"))?;
        match uri.scheme_str() {
            Some("http") => {}
            Some("https") => return Err(invalid("is https, which this client does not speak; give it http")),
            _ => return Err(invalid("has no scheme; write it with http://")),
        }
        let authority = uri.authority().ok_or_else(|| invalid("has no host; write it with one"))?;
        let authorization = token.map(|token| {
            let mut value = HeaderValue::from_str(&format!("Bearer {token}"))
                .map_err(|_| Failure::Usage("the token has characters that no token has".to_owned()))?;
            value.set_sensitive(true);
            Ok(value)
        });
        Ok(Client {
            url: url.trim_end_matches('/').to_owned(),
            authority: authority.as_str().to_owned(),
            host: authority.host().trim_matches(['[', ']']).to_owned(),
            port: authority.port_u16().unwrap_or(80),
            prefix: uri.path().trim_end_matches('/').to_owned(),
            authorization: authorization.transpose()?,
            connection: None,
        })
    }

    /// The address of the server, as it was given.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// What stands at `path`, as a value.
    pub async fn get<T: DeserializeOwned>(&mut self, path: &str) -> anyhow::Result<T> {
        self.send(Call::get(path)).await?.value()
    }

    /// Sends a request and gives its answer if it is a success, else the problem that it tells.
    pub async fn send(&mut self, call: Call) -> anyhow::Result<Answer> {
        self.try_send(call).await?.success()
    }

    /// Sends a request and gives its answer, whatever its status.
    pub async fn try_send(&mut self, call: Call) -> anyhow::Result<Answer> {
        let patience = ANSWER_TIMEOUT + call.waits;
        let exchange = async {
            let request = self.request(&call)?;
            let response = self.connected().await?.send_request(request).await?;
            let (parts, body) = response.into_parts();
            let body = Limited::new(body, ANSWER_BYTES_MAX).collect().await;
            let body = body.map_err(|error| anyhow::anyhow!(error))?.to_bytes();
            Ok(Answer { status: parts.status, headers: parts.headers, body })
        };
        let answered = tokio::time::timeout(patience, exchange).await;
        let answered: anyhow::Result<Answer> = answered
            .unwrap_or_else(|_| Err(self.unreachable(format!("no answer within {} s", patience.as_secs()))));
        answered.map_err(|error| {
            self.connection = None;
            match error.downcast_ref::<hyper::Error>() {
                Some(cause) => self.unreachable(format!("{cause}")),
                None => error,
            }
        })
    }

    fn request(&self, call: &Call) -> anyhow::Result<Request<Full<Bytes>>> {
        let mut request = Request::builder()
            .method(call.method.clone())
            .uri(format!("{}{}", self.prefix, call.path))
            .header(HOST, self.authority.as_str());
        for (name, value) in &call.headers {
            request = request.header(name, value);
        }
        if let Some(authorization) = &self.authorization {
            request = request.header(AUTHORIZATION, authorization);
        }
        request.body(Full::new(call.body.clone())).with_context(|| format!("asking for {}", call.path))
    }

    async fn connected(&mut self) -> anyhow::Result<&mut SendRequest<Full<Bytes>>> {
        let open = match self.connection.take() {
            Some(mut connection) => connection.ready().await.is_ok().then_some(connection),
            None => None,
        };
        let connection = match open {
            Some(connection) => connection,
            None => self.connect().await?,
        };
        Ok(self.connection.insert(connection))
    }

    async fn connect(&self) -> anyhow::Result<SendRequest<Full<Bytes>>> {
        let connecting = TcpStream::connect((self.host.as_str(), self.port));
        let stream = match tokio::time::timeout(CONNECT_TIMEOUT, connecting).await {
            Ok(Ok(stream)) => stream,
            Ok(Err(error)) => return Err(self.unreachable(error.to_string())),
            Err(_) => {
                return Err(self.unreachable(format!("not connected within {} s", CONNECT_TIMEOUT.as_secs())));
            }
        };
        let (sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
        // Its errors come out at the request that they end.
        tokio::spawn(connection);
        Ok(sender)
    }

    fn unreachable(&self, cause: String) -> anyhow::Error {
        Failure::Unreachable { url: self.url.clone(), cause }.into()
    }
}

impl Call {
    pub fn get(path: impl Into<String>) -> Call {
        Call::new(Method::GET, path, Bytes::new())
    }

    pub fn delete(path: impl Into<String>) -> Call {
        Call::new(Method::DELETE, path, Bytes::new())
    }

    /// A POST without a body.
    pub fn post_nothing(path: impl Into<String>) -> Call {
        Call::new(Method::POST, path, Bytes::new())
    }

    pub fn post(path: impl Into<String>, content_type: &'static str, body: impl Into<Bytes>) -> Call {
        Call::new(Method::POST, path, body.into())
            .header(CONTENT_TYPE, HeaderValue::from_static(content_type))
    }

    /// A POST of a body that says itself what it is, if anybody does.
    pub fn post_bytes(path: impl Into<String>, body: impl Into<Bytes>) -> Call {
        Call::new(Method::POST, path, body.into())
    }

    /// A PUT without a body.
    pub fn put_nothing(path: impl Into<String>) -> Call {
        Call::new(Method::PUT, path, Bytes::new())
    }

    pub fn put(path: impl Into<String>, content_type: &'static str, body: impl Into<Bytes>) -> Call {
        Call::new(Method::PUT, path, body.into()).header(CONTENT_TYPE, HeaderValue::from_static(content_type))
    }

    pub fn patch(path: impl Into<String>, content_type: &'static str, body: impl Into<Bytes>) -> Call {
        Call::new(Method::PATCH, path, body.into())
            .header(CONTENT_TYPE, HeaderValue::from_static(content_type))
    }

    #[must_use]
    pub fn header(mut self, name: HeaderName, value: HeaderValue) -> Call {
        self.headers.push((name, value));
        self
    }

    /// The same for a server that is asked to wait this long.
    #[must_use]
    pub fn waiting(mut self, waits: Duration) -> Call {
        self.waits = waits;
        self
    }

    fn new(method: Method, path: impl Into<String>, body: Bytes) -> Call {
        Call { method, path: path.into(), body, headers: Vec::new(), waits: Duration::ZERO }
    }
}

impl Answer {
    /// This answer if it is a success, else the problem that it tells.
    pub fn success(self) -> anyhow::Result<Answer> {
        if self.status.is_success() {
            return Ok(self);
        }
        let problem = serde_json::from_slice(&self.body).unwrap_or_else(|_| self.problem_of_another());
        Err(Failure::Refused(Box::new(problem)).into())
    }

    /// The body as a value.
    pub fn value<T: DeserializeOwned>(&self) -> anyhow::Result<T> {
        serde_json::from_slice(&self.body)
            .context("the server's answer is not what this version of sortie understands")
    }

    /// The body as text with an end of line.
    pub fn text(&self) -> String {
        let mut text = String::from_utf8_lossy(&self.body).into_owned();
        if !text.ends_with('\n') {
            text.push('\n');
        }
        text
    }

    /// What an answer means that is no problem document, as one from a proxy.
    fn problem_of_another(&self) -> Problem {
        let body = String::from_utf8_lossy(&self.body);
        let start: String = body.chars().take(200).collect();
        let space = if start.is_empty() { "" } else { ": " };
        Problem {
            kind: "about:blank".to_owned(),
            title: self.status.canonical_reason().unwrap_or("Unknown").to_owned(),
            status: self.status.as_u16(),
            code: "unknown".to_owned(),
            detail: format!("the server answered {}{space}{start}", self.status),
            errors: Vec::new(),
        }
    }
}

/// A path like `/v1/runs/{}` with each `{}` filled by the next name, encoded.
pub fn path(template: &str, names: &[&str]) -> String {
    let mut parts = template.split("{}");
    let mut path = parts.next().unwrap_or_default().to_owned();
    for (part, name) in parts.zip(names) {
        path.push_str(&encode(name));
        path.push_str(part);
    }
    path
}

/// A path with the parameters that are given.
pub fn query(path: &str, parameters: &[(&str, Option<String>)]) -> String {
    let mut out = path.to_owned();
    for (name, value) in parameters.iter().filter_map(|(name, value)| Some((name, value.as_ref()?))) {
        out.push(if out.contains('?') { '&' } else { '?' });
        out.push_str(&format!("{name}={}", encode(value)));
    }
    out
}

fn encode(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b':' => {
                out.push(char::from(byte))
            }
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_leave_their_place_in_a_path() {
        assert_eq!(path("/v1/runs/{}/cancel", &["a/../b?c"]), "/v1/runs/a%2F..%2Fb%3Fc/cancel");
        let parameters = [("key", Some("a&b=c d".to_owned())), ("to", None), ("limit", Some("2".to_owned()))];
        assert_eq!(query("/v1/runs", &parameters), "/v1/runs?key=a%26b%3Dc%20d&limit=2");
    }

    #[test]
    fn a_bad_url_is_refused_with_the_fix() {
        let refused = |url| Client::new(url, None).err().map(|error| error.to_string()).unwrap_or_default();
        assert!(refused("https://example.com").contains("https"));
        assert!(refused("127.0.0.1:7070").contains("like http://127.0.0.1:7070"));
        assert!(refused("a b").contains("is no URL"));
        assert!(Client::new("http://[::1]:7070/sortie/", Some("t")).is_ok());
    }
}
