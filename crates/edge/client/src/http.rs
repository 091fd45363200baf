//! The HTTP client of one server: sends each call once, over connections that are kept open.

use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use http::header::{AUTHORIZATION, HeaderValue};
use http::{Request, Uri};
use http_body_util::{BodyExt, Full, Limited};
use hyper_rustls::HttpsConnector;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};

use crate::call::{Answer, Call};
use crate::error::Error;
use crate::tls::{self, Scheme};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// From the request to the last byte of its response.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(60);
/// The largest responses are pages of runs; this only stops a server of another kind.
const ANSWER_BYTES_MAX: usize = 256 << 20;

/// A client of one server. A clone shares the connections.
#[derive(Clone)]
pub struct Http {
    /// Without a slash at its end.
    url: String,
    authorization: Option<HeaderValue>,
    pool: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
}

impl Http {
    /// A client of the server at `url`; it connects with its first call.
    pub fn new(url: &str) -> Result<Http, Error> {
        let scheme =
            check(url).map_err(|why| Error::Input(format!("{url:?} {why}, like http://127.0.0.1:7070")))?;
        let mut connector = HttpConnector::new();
        connector.set_connect_timeout(Some(CONNECT_TIMEOUT));
        connector.set_nodelay(true);
        let connector = tls::over(connector, scheme)?;
        let pool = Client::builder(TokioExecutor::new()).pool_timer(TokioTimer::new()).build(connector);
        Ok(Http { url: url.trim_end_matches('/').to_owned(), authorization: None, pool })
    }

    /// The same, with this token in every call.
    pub fn with_token(mut self, token: &str) -> Result<Http, Error> {
        let mut value = HeaderValue::from_str(&format!("Bearer {token}"))
            .map_err(|_| Error::Input("the token has characters that a header cannot contain".to_owned()))?;
        value.set_sensitive(true);
        self.authorization = Some(value);
        Ok(self)
    }

    /// The address of the server, as it was given.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Sends a request once and returns its response, whatever its status.
    pub async fn send(&self, call: &Call) -> Result<Answer, Error> {
        let request = self.request(call)?;
        let exchange = async {
            let response = self.pool.request(request).await.map_err(|error| {
                let sent = !error.is_connect();
                self.unreachable(innermost(&error), sent)
            })?;
            let (parts, body) = response.into_parts();
            let body = Limited::new(body, ANSWER_BYTES_MAX).collect().await;
            let body = body.map_err(|error| self.unreachable(error.to_string(), true))?.to_bytes();
            Ok(Answer { status: parts.status, headers: parts.headers, body })
        };
        let patience = ANSWER_TIMEOUT + call.waits;
        let answered = tokio::time::timeout(patience, exchange).await;
        answered.unwrap_or_else(|_| {
            Err(self.unreachable(format!("no response within {} s", patience.as_secs()), true))
        })
    }

    fn request(&self, call: &Call) -> Result<Request<Full<Bytes>>, Error> {
        let mut request =
            Request::builder().method(call.method.clone()).uri(format!("{}{}", self.url, call.path));
        for (name, value) in &call.headers {
            request = request.header(name, value);
        }
        if let Some(authorization) = &self.authorization {
            request = request.header(AUTHORIZATION, authorization);
        }
        let request = request.body(Full::new(call.body.clone()));
        request.map_err(|error| Error::Input(format!("asking for {}: {error}", call.path)))
    }

    fn unreachable(&self, cause: String, sent: bool) -> Error {
        Error::Unreachable { url: self.url.clone(), cause, sent }
    }
}

/// Does not show the token.
impl fmt::Debug for Http {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Http").field("url", &self.url).finish_non_exhaustive()
    }
}

fn check(url: &str) -> Result<Scheme, &'static str> {
    let uri: Uri = url.parse().map_err(|_| "is not a URL; write it with scheme and host")?;
    let scheme = match uri.scheme_str() {
        Some("http") => Scheme::Http,
        Some("https") => Scheme::Https,
        _ => return Err("has no scheme; write it with http:// or https://"),
    };
    uri.authority().map(|_| scheme).ok_or("has no host; write it with one")
}

/// The first cause says more than the last.
fn innermost(error: &hyper_util::client::legacy::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    cause.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bad_url_is_refused_with_the_fix() {
        let refused = |url| Http::new(url).err().map(|error| error.to_string()).unwrap_or_default();
        assert!(refused("127.0.0.1:7070").contains("like http://127.0.0.1:7070"));
        assert!(refused("a b").contains("is not a URL"));
        assert!(refused("ftp://example.com").contains("http:// or https://"));
        assert!(Http::new("http://[::1]:7070/sortie/").is_ok());
        assert!(Http::new("https://example.com/sortie").is_ok());
    }

    #[test]
    fn a_token_is_never_printed() {
        let http = Http::new("http://127.0.0.1:7070").and_then(|http| http.with_token("s3cret")).unwrap();
        assert!(!format!("{http:?}").contains("s3cret"));
        assert!(
            !Http::new("http://a").unwrap().with_token("s3\ncret").unwrap_err().to_string().contains("s3")
        );
    }
}
