//! One request of a person, and what can be asked of the API on their behalf.

use std::borrow::Cow;

use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE, COOKIE, ETAG, HOST, ORIGIN, REFERER};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode, Uri};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::Ask;
use crate::trouble::PageError;

/// The cookie that a signed-in browser shows; the token itself, and never readable by scripts.
pub(crate) const COOKIE_NAME: &str = "sortie_token";

/// A request of a person.
pub(crate) struct Visit {
    method: Method,
    path: String,
    query: String,
    headers: HeaderMap,
    body: Bytes,
    ask: Ask,
}

impl Visit {
    pub(crate) fn new(request: Request<Bytes>, ask: Ask) -> Visit {
        let (head, body) = request.into_parts();
        let query = head.uri.query().unwrap_or_default().to_owned();
        Visit {
            method: head.method,
            path: head.uri.path().to_owned(),
            query,
            headers: head.headers,
            body,
            ask,
        }
    }

    /// The same person at another page: what a live page looks at again and again.
    pub(crate) fn at(&self, place: &str) -> Visit {
        let (path, query) = place.split_once('?').unwrap_or((place, ""));
        Visit {
            method: Method::GET,
            path: path.to_owned(),
            query: query.to_owned(),
            headers: self.headers.clone(),
            body: Bytes::new(),
            ask: self.ask.clone(),
        }
    }

    /// The same person with another token.
    pub(crate) fn with_token(&self, token: &str) -> Visit {
        let mut visit = self.at(&self.path);
        let cookie = HeaderValue::try_from(format!("{COOKIE_NAME}={token}"));
        visit.headers.remove(AUTHORIZATION);
        // In the place of all that the browser shows: one of them may be a token of yesterday.
        visit.headers.insert(COOKIE, cookie.unwrap_or(HeaderValue::from_static("")));
        visit
    }

    pub(crate) fn method(&self) -> &Method {
        &self.method
    }

    /// The path with its query: where this page is.
    pub(crate) fn place(&self) -> String {
        if self.query.is_empty() { self.path.clone() } else { format!("{}?{}", self.path, self.query) }
    }

    /// The page that this person is at: of a form, the page that it is on.
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

    /// The parts of the path, as they are written there.
    pub(crate) fn path_segments(&self) -> Vec<&str> {
        self.path.split('/').filter(|part| !part.is_empty()).collect()
    }

    /// A parameter of the query; none when it is absent or empty, as forms send it.
    pub(crate) fn query_value(&self, name: &str) -> Option<String> {
        first_value(self.query.as_bytes(), name).filter(|value| !value.is_empty())
    }

    /// Every value of a parameter that can be there several times.
    pub(crate) fn query_values(&self, name: &str) -> Vec<String> {
        let pairs = form_urlencoded::parse(self.query.as_bytes());
        pairs.filter(|(key, _)| key == name).map(|(_, value)| value.into_owned()).collect()
    }

    /// A field of the form that was sent; none when it is absent or empty.
    pub(crate) fn field(&self, name: &str) -> Option<String> {
        first_value(&self.body, name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty())
    }

    /// A field as it was typed, but for the line breaks, which browsers send in a way of their own.
    pub(crate) fn raw_field(&self, name: &str) -> String {
        first_value(&self.body, name).unwrap_or_default().replace("\r\n", "\n")
    }

    /// Everything that was filled in, in its order.
    pub(crate) fn all_fields(&self) -> Vec<(String, String)> {
        let pairs = form_urlencoded::parse(&self.body);
        pairs.map(|(name, value)| (name.into_owned(), value.replace("\r\n", "\n"))).collect()
    }

    /// A field that must be there.
    pub(crate) fn required_field(&self, name: &str) -> Result<String, PageError> {
        self.field(name).ok_or_else(|| PageError::Form(format!("{name}: fill this in")))
    }

    /// Every value of a field that can be there several times: checkboxes.
    pub(crate) fn fields(&self, name: &str) -> Vec<String> {
        let pairs = form_urlencoded::parse(&self.body);
        pairs.filter(|(key, _)| key == name).map(|(_, value)| value.into_owned()).collect()
    }

    pub(crate) fn header(&self, name: http::HeaderName) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// The token of a browser that is signed in.
    pub(crate) fn token(&self) -> Option<&str> {
        token(&self.headers)
    }

    /// What changes something must come from a page of ours: a browser says where its form was.
    pub(crate) fn refuse_cross_site(&self) -> Result<(), PageError> {
        let site = self.headers.get("sec-fetch-site").and_then(|value| value.to_str().ok());
        let host = self.header(HOST).unwrap_or_default();
        let origin =
            self.header(ORIGIN).map(|origin| origin.split_once("://").map_or(origin, |(_, host)| host));
        // A browser that says it knows best: a proxy may have given the request another host.
        let own = match site {
            Some(site) => matches!(site, "same-origin" | "none"),
            None => origin.is_none_or(|origin| origin == host),
        };
        if own { Ok(()) } else { Err(PageError::CrossSite) }
    }

    /// Asks the API for something.
    pub(crate) async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, PageError> {
        decode(&self.call(Method::GET, path, Bytes::new(), "").await?)
    }

    /// The same, where there may be nothing.
    pub(crate) async fn find<T: DeserializeOwned>(&self, path: &str) -> Result<Option<T>, PageError> {
        match self.get(path).await {
            Ok(found) => Ok(Some(found)),
            Err(PageError::Problem(problem)) if problem.status == StatusCode::NOT_FOUND => Ok(None),
            Err(trouble) => Err(trouble),
        }
    }

    /// Sends JSON to the API, and returns what it answers; `null` when it answers nothing.
    pub(crate) async fn send<T: Serialize>(
        &self,
        method: Method,
        path: &str,
        body: &T,
    ) -> Result<serde_json::Value, PageError> {
        self.send_with(method, path, body, &[]).await
    }

    /// The same with headers: conditions, for the most part.
    pub(crate) async fn send_with<T: Serialize>(
        &self,
        method: Method,
        path: &str,
        body: &T,
        headers: &[(HeaderName, String)],
    ) -> Result<serde_json::Value, PageError> {
        let body = serde_json::to_vec(body).expect("a form in memory can always be encoded");
        let answer = self.ask(method, path, body.into(), "application/json", headers).await?.into_body();
        if answer.is_empty() { Ok(serde_json::Value::Null) } else { decode(&answer) }
    }

    /// Something and its version, for a change that must not go over somebody else's.
    pub(crate) async fn versioned<T: DeserializeOwned>(&self, path: &str) -> Result<(T, String), PageError> {
        let answer = self.ask(Method::GET, path, Bytes::new(), "", &[]).await?;
        let version = answer.headers().get(ETAG).and_then(|value| value.to_str().ok()).unwrap_or_default();
        Ok((decode(answer.body())?, version.to_owned()))
    }

    /// Calls the API with the rights of this person.
    pub(crate) async fn call(
        &self,
        method: Method,
        path: &str,
        body: Bytes,
        kind: &'static str,
    ) -> Result<Bytes, PageError> {
        Ok(self.ask(method, path, body, kind, &[]).await?.into_body())
    }

    /// The same with headers, and with those of the answer.
    pub(crate) async fn ask(
        &self,
        method: Method,
        path: &str,
        body: Bytes,
        kind: &'static str,
        headers: &[(HeaderName, String)],
    ) -> Result<Response<Bytes>, PageError> {
        let mut request = Request::new(body);
        *request.method_mut() = method;
        // Names in a path are encoded by whoever writes the path.
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
        let answer = (self.ask)(request).await;
        if answer.status().is_success() {
            return Ok(answer);
        }
        Err(PageError::of(answer.status(), answer.body()))
    }
}

/// The token in the cookie of a browser.
fn token(headers: &HeaderMap) -> Option<&str> {
    let cookies = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs = cookies.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(name, _)| *name == COOKIE_NAME).map(|(_, value)| value).filter(|value| !value.is_empty())
}

/// What a browser that is signed in would say to the API.
pub(crate) fn authorization(headers: &HeaderMap) -> Option<HeaderValue> {
    HeaderValue::try_from(format!("Bearer {}", token(headers)?)).ok()
}

fn first_value(pairs: &[u8], name: &str) -> Option<String> {
    form_urlencoded::parse(pairs).find(|(key, _)| key == name).map(|(_, value)| value.into_owned())
}

fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, PageError> {
    serde_json::from_slice(bytes).map_err(|error| PageError::Unreadable(error.to_string()))
}

/// What stands for itself in a path. Some doors of the API are matched as they are written: a name without strange
/// characters must be written plainly.
const ESCAPED: &percent_encoding::AsciiSet =
    &percent_encoding::NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// A name as one part of a path.
pub(crate) fn encoded(name: &str) -> Cow<'_, str> {
    percent_encoding::utf8_percent_encode(name, ESCAPED).into()
}

/// The name that a part of a path stands for.
pub(crate) fn decoded(part: &str) -> Result<String, PageError> {
    let decoded = percent_encoding::percent_decode_str(part).decode_utf8();
    decoded.map(Cow::into_owned).map_err(|_| PageError::NotFound)
}

/// A path with a query made of those pairs that have a value.
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
