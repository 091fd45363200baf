//! Responses to browsers, with the security headers that every page needs.

use axum::body::Body;
use bytes::Bytes;
use http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use http::{HeaderValue, Response, StatusCode};

use crate::context::PageContext;
use crate::frame;
use crate::page::Page;

/// Allows scripts, styles and requests of this origin only: no frames, no plugins, nothing inline.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
                      font-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

pub(crate) fn html(ctx: &PageContext, page: Page) -> Response<Body> {
    html_with(ctx, page, StatusCode::OK)
}

pub(crate) fn html_with(ctx: &PageContext, page: Page, status: StatusCode) -> Response<Body> {
    let mut response = Response::new(Body::from(frame::around(ctx, page).into_string()));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    // A page shows the state at this moment, with the permissions of this user.
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    with_security_headers(response)
}

/// A response of the API, unchanged.
pub(crate) fn json(body: Bytes) -> Response<Body> {
    let mut response = Response::new(Body::from(body));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    with_security_headers(response)
}

/// Adds the headers that every response to a browser carries.
pub(crate) fn with_security_headers(mut response: Response<Body>) -> Response<Body> {
    let headers = response.headers_mut();
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("same-origin"));
    response
}
