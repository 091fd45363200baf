//! Answers to browsers, with the headers that keep foreign text from becoming a program.

use axum::body::Body;
use bytes::Bytes;
use http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use http::{HeaderValue, Response, StatusCode};

use crate::frame;
use crate::page::Page;
use crate::visit::Visit;

/// Scripts, styles and calls of this server alone; no frames, no plugins, no inline anything.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
                      font-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

pub(crate) fn html(visit: &Visit, page: Page) -> Response<Body> {
    html_with(visit, page, StatusCode::OK)
}

pub(crate) fn html_with(visit: &Visit, page: Page, status: StatusCode) -> Response<Body> {
    let mut response = Response::new(Body::from(frame::around(visit, page).into_string()));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    // What is on a page is of this moment, and of who looks.
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    with_security_headers(response)
}

/// What the API answered, for a person to look at.
pub(crate) fn json(body: Bytes) -> Response<Body> {
    let mut response = Response::new(Body::from(body));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    with_security_headers(response)
}

/// Adds what every answer to a browser carries.
pub(crate) fn with_security_headers(mut response: Response<Body>) -> Response<Body> {
    let headers = response.headers_mut();
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("same-origin"));
    response
}
