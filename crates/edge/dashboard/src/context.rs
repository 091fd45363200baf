//! The request for a page, and calls of the API on behalf of its user.

use std::borrow::Cow;

use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE, COOKIE, ETAG, HOST, ORIGIN, REFERER};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode, Uri};
use page_api::ApiCall;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::PageError;

/// The cookie that holds the user's token; `HttpOnly`, so scripts cannot read it.
pub(crate) const COOKIE_NAME: &str = "sortie_token";

/// A request for a page, with access to the API.
pub(crate) struct PageContext {
    method: Method,
    path: String,
    query: String,
    headers: HeaderMap,
    body: Bytes,
    api: ApiCall,
}

impl PageContext {
    pub(crate) fn new(request: Request<Bytes>, api: ApiCall) -> PageContext {
        let (head, body) = request.into_parts();
        let query = head.uri.query().unwrap_or_default().to_owned();
        PageContext {
            method: head.method,
            path: head.uri.path().to_owned(),
            query,
            headers: head.headers,
            body,
            api,
        }
    }

    /// The same user at another address; live pages use it to render again.
    pub(crate) fn at(&self, place: &str) -> PageContext {
        let (path, query) = place.split_once('?').unwrap_or((place, ""));
        PageContext {
            method: Method::GET,
            path: path.to_owned(),
            query: query.to_owned(),
            headers: self.headers.clone(),
            body: Bytes::new(),
            api: self.api.clone(),
        }
    }

    /// The same request with another token.
    pub(crate) fn with_token(&self, token: &str) -> PageContext {
        let mut ctx = self.at(&self.path);
        let cookie = HeaderValue::try_from(format!("{COOKIE_NAME}={token}"));
        ctx.headers.remove(AUTHORIZATION);
        // Replaces all cookies: one of them may hold an outdated token.
        ctx.headers.insert(COOKIE, cookie.unwrap_or(HeaderValue::from_static("")));
        ctx
    }

    pub(crate) fn method(&self) -> &Method {
        &self.method
    }

    /// The path with its query.
    pub(crate) fn place(&self) -> String {
        if self.query.is_empty() { self.path.clone() } else { format!("{}?{}", self.path, self.query) }
    }

    /// The address of the page the user is on; for a submitted form, the page with the form.
    pub(crate) fn page(&self) -> String {
        if self.method != Method::POST {
            return self.place();
        }
        let referer = self.header(REFERER).and_then(|referer| referer.parse::<Uri>().ok());
        referer
            .as_ref()
            .and_then(Uri::path_and_query)
            .map_or("/".to_owned(), |place| place.as_str().to_owned())
    }

    /// The segments of the path, still percent-encoded.
    pub(crate) fn path_segments(&self) -> Vec<&str> {
        self.path.split('/').filter(|part| !part.is_empty()).collect()
    }

    /// A query parameter; none if it is absent or empty, because forms send empty fields.
    pub(crate) fn query_value(&self, name: &str) -> Option<String> {
        first_value(self.query.as_bytes(), name).filter(|value| !value.is_empty())
    }

    /// Every value of a query parameter that may repeat.
    pub(crate) fn query_values(&self, name: &str) -> Vec<String> {
        let pairs = form_urlencoded::parse(self.query.as_bytes());
        pairs.filter(|(key, _)| key == name).map(|(_, value)| value.into_owned()).collect()
    }

    /// A field of the submitted form; none if it is absent or empty.
    pub(crate) fn field(&self, name: &str) -> Option<String> {
        first_value(&self.body, name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty())
    }

    /// A field as typed, with line breaks normalized: browsers send CRLF.
    pub(crate) fn raw_field(&self, name: &str) -> String {
        first_value(&self.body, name).unwrap_or_default().replace("\r\n", "\n")
    }

    /// All fields of the submitted form, in order.
    pub(crate) fn all_fields(&self) -> Vec<(String, String)> {
        let pairs = form_urlencoded::parse(&self.body);
        pairs.map(|(name, value)| (name.into_owned(), value.replace("\r\n", "\n"))).collect()
    }

    /// A required field.
    pub(crate) fn required_field(&self, name: &str) -> Result<String, PageError> {
        self.field(name).ok_or_else(|| PageError::Form(format!("{name}: this field is required")))
    }

    /// Every value of a field that may repeat, such as a checkbox.
    pub(crate) fn fields(&self, name: &str) -> Vec<String> {
        let pairs = form_urlencoded::parse(&self.body);
        pairs.filter(|(key, _)| key == name).map(|(_, value)| value.into_owned()).collect()
    }

    pub(crate) fn header(&self, name: http::HeaderName) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// The token of a signed-in browser.
    pub(crate) fn token(&self) -> Option<&str> {
        token(&self.headers)
    }

    /// Refuses forms of other sites (CSRF): a browser states where a form was submitted from.
    pub(crate) fn refuse_cross_site(&self) -> Result<(), PageError> {
        let site = self.headers.get("sec-fetch-site").and_then(|value| value.to_str().ok());
        let host = self.header(HOST).unwrap_or_default();
        let origin =
            self.header(ORIGIN).map(|origin| origin.split_once("://").map_or(origin, |(_, host)| host));
        // `Sec-Fetch-Site` takes precedence: a proxy may have rewritten the host.
        let own = match site {
            Some(site) => matches!(site, "same-origin" | "none"),
            None => origin.is_none_or(|origin| origin == host),
        };
        if own { Ok(()) } else { Err(PageError::CrossSite) }
    }

    /// Fetches a document from the API.
    pub(crate) async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, PageError> {
        decode(&self.call(Method::GET, path, Bytes::new(), "").await?)
    }

    /// The same; none on 404.
    pub(crate) async fn find<T: DeserializeOwned>(&self, path: &str) -> Result<Option<T>, PageError> {
        match self.get(path).await {
            Ok(found) => Ok(Some(found)),
            Err(PageError::Problem(problem)) if problem.status == StatusCode::NOT_FOUND => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Sends JSON to the API and returns its response; `null` if the response is empty.
    pub(crate) async fn send<T: Serialize>(
        &self,
        method: Method,
        path: &str,
        body: &T,
    ) -> Result<serde_json::Value, PageError> {
        self.send_with(method, path, body, &[]).await
    }

    /// The same with extra headers, mostly preconditions.
    pub(crate) async fn send_with<T: Serialize>(
        &self,
        method: Method,
        path: &str,
        body: &T,
        headers: &[(HeaderName, String)],
    ) -> Result<serde_json::Value, PageError> {
        let body = serde_json::to_vec(body).expect("a form in memory can always be encoded");
        let answer = self.request(method, path, body.into(), "application/json", headers).await?.into_body();
        if answer.is_empty() { Ok(serde_json::Value::Null) } else { decode(&answer) }
    }

    /// Fetches a document and its version, for updates that must not overwrite a concurrent change.
    pub(crate) async fn versioned<T: DeserializeOwned>(&self, path: &str) -> Result<(T, String), PageError> {
        let answer = self.request(Method::GET, path, Bytes::new(), "", &[]).await?;
        let version = answer.headers().get(ETAG).and_then(|value| value.to_str().ok()).unwrap_or_default();
        Ok((decode(answer.body())?, version.to_owned()))
    }

    /// Calls the API with the permissions of this user.
    pub(crate) async fn call(
        &self,
        method: Method,
        path: &str,
        body: Bytes,
        kind: &'static str,
    ) -> Result<Bytes, PageError> {
        Ok(self.request(method, path, body, kind, &[]).await?.into_body())
    }

    /// The same with request headers, and returns the whole response.
    pub(crate) async fn request(
        &self,
        method: Method,
        path: &str,
        body: Bytes,
        kind: &'static str,
        headers: &[(HeaderName, String)],
    ) -> Result<Response<Bytes>, PageError> {
        let mut request = Request::new(body);
        *request.method_mut() = method;
        // The caller has already encoded the names in the path.
        *request.uri_mut() = path.parse().map_err(|_| PageError::NotFound)?;
        for name in [HOST, ORIGIN, AUTHORIZATION] {
            if let Some(value) = self.headers.get(&name) {
                request.headers_mut().insert(name, value.clone());
            }
        }
        if let Some(authorization) = authorization(&self.headers) {
            request.headers_mut().insert(AUTHORIZATION, authorization);
        }
        if !kind.is_empty() {
            request.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
        }
        for (name, value) in headers {
            let value = HeaderValue::try_from(value)
                .map_err(|_| PageError::Form(format!("{name}: cannot be sent as a header")))?;
            request.headers_mut().insert(name, value);
        }
        let answer = (self.api)(request).await;
        if answer.status().is_success() {
            return Ok(answer);
        }
        Err(PageError::of(answer.status(), answer.body()))
    }
}

/// The token in a browser's cookie.
fn token(headers: &HeaderMap) -> Option<&str> {
    let cookies = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs = cookies.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(name, _)| *name == COOKIE_NAME).map(|(_, value)| value).filter(|value| !value.is_empty())
}

/// The `Authorization` header that the cookie stands for.
pub(crate) fn authorization(headers: &HeaderMap) -> Option<HeaderValue> {
    HeaderValue::try_from(format!("Bearer {}", token(headers)?)).ok()
}

fn first_value(pairs: &[u8], name: &str) -> Option<String> {
    form_urlencoded::parse(pairs).find(|(key, _)| key == name).map(|(_, value)| value.into_owned())
}

fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, PageError> {
    serde_json::from_slice(bytes).map_err(|error| PageError::Unreadable(error.to_string()))
}

/// Characters that must be escaped in a path. Some routes of the API match the raw path, so unreserved characters
/// must not be escaped.
const ESCAPED: &percent_encoding::AsciiSet =
    &percent_encoding::NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// A name as a path segment.
pub(crate) fn encoded(name: &str) -> Cow<'_, str> {
    percent_encoding::utf8_percent_encode(name, ESCAPED).into()
}

/// The name that a path segment stands for.
pub(crate) fn decoded(part: &str) -> Result<String, PageError> {
    let decoded = percent_encoding::percent_decode_str(part).decode_utf8();
    decoded.map(Cow::into_owned).map_err(|_| PageError::NotFound)
}

/// A path with a query of those pairs that have a value.
pub(crate) fn place<'a>(path: &str, pairs: impl IntoIterator<Item = (&'a str, Option<String>)>) -> String {
    let mut query = form_urlencoded::Serializer::new(String::new());
    for (name, value) in pairs {
        if let Some(value) = value {
            query.append_pair(name, &value);
        }
    }
    let query = query.finish();
    if query.is_empty() { path.to_owned() } else { format!("{path}?{query}") }
}
