//! Makes the request of a call out of its templates.

use std::borrow::Cow;
use std::fmt;

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderName, HeaderValue, Method};
use types::{ServiceName, Span};

use crate::action::{HeaderTemplate, HttpAction};
use crate::context::Frame;
use crate::expression::Expression;
use crate::json;
use crate::limits::{BODY_BYTES_MAX, URL_BYTES_MAX};
use crate::message::RenderedMessage;
use crate::template::{Body, Chunk, Template, TemplatePart};
use types::problem::quote;

/// What a work comes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RenderedAction {
    Call(RenderedCall),
    Send(Box<RenderedMessage>),
}

/// A request, ready to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RenderedCall {
    /// The service whose limits apply; actions with a URL of their own have none.
    pub service: Option<ServiceName>,
    pub method: Method,
    /// Absolute, `http` or `https`.
    pub url: String,
    pub headers: Vec<(HeaderName, HeaderValue)>,
    pub body: Option<Bytes>,
    pub timeout: Span,
}

/// Why a call cannot be made of its definition and this run. Trying again gives the same.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{part}: {message}")]
pub struct RenderError {
    /// The part of the call: `path`, `query.q`, `headers.x-a`, `body`.
    pub part: String,
    pub message: String,
}

impl RenderError {
    pub(crate) fn new(part: impl Into<String>, message: impl Into<String>) -> RenderError {
        RenderError { part: part.into(), message: message.into() }
    }
}

pub(crate) fn render(action: &HttpAction, frame: &Frame<'_>) -> Result<RenderedCall, RenderError> {
    let url = render_url(action, frame)?;
    let mut headers = Vec::with_capacity(action.headers.len() + 1);
    for (name, value) in &action.headers {
        headers.push((name.clone(), render_header(name, value, frame)?));
    }
    let body = match &action.body {
        None => None,
        Some(body) => {
            let (bytes, content_type) = render_body(body, frame)?;
            if !headers.iter().any(|(name, _)| *name == CONTENT_TYPE) {
                headers.push((CONTENT_TYPE, HeaderValue::from_static(content_type)));
            }
            Some(bytes)
        }
    };
    let (service, method) = (action.service.clone(), action.method.clone());
    Ok(RenderedCall { service, method, url, headers, body, timeout: action.timeout })
}

fn render_url(action: &HttpAction, frame: &Frame<'_>) -> Result<String, RenderError> {
    let mut url = String::with_capacity(action.base.len() + 64);
    url.push_str(&action.base);
    for part in &action.path.parts {
        match part {
            TemplatePart::Text(text) => url.push_str(text),
            TemplatePart::Value(expression) => {
                let fail = |message| RenderError::new("path", message);
                let json = value_of(expression, frame, URL_BYTES_MAX).map_err(fail)?;
                let text = scalar(expression, &json).map_err(fail)?;
                if text.is_empty() {
                    return Err(fail(format!("expression {} is empty", quote(expression.source()))));
                }
                percent_encode(&text, &mut url);
            }
        }
    }
    if action.path.as_literal().is_none() {
        refuse_dot_segments(&url[action.base.len()..])?;
    }
    for (n, (name, value)) in action.query.iter().enumerate() {
        url.push(if n == 0 { '?' } else { '&' });
        url.push_str(name);
        url.push('=');
        let fail = |message| RenderError::new(format!("query.{name}"), message);
        render_text(value, frame, URL_BYTES_MAX, &mut url, percent_encode).map_err(fail)?;
    }
    if url.len() > URL_BYTES_MAX {
        return Err(RenderError::new("path", format!("the URL is longer than {URL_BYTES_MAX} bytes")));
    }
    Ok(url)
}

/// `.` and `..` mean another resource, and encoding them does not help: servers decode before they resolve.
fn refuse_dot_segments(path: &str) -> Result<(), RenderError> {
    if !path.contains('.') {
        return Ok(());
    }
    let path = path.split(['?', '#']).next().unwrap_or(path);
    match path.split('/').find(|segment| matches!(*segment, "." | "..")) {
        Some(segment) => Err(RenderError::new("path", format!("'{segment}' would change the path"))),
        None => Ok(()),
    }
}

fn render_header(
    name: &HeaderName,
    value: &HeaderTemplate,
    frame: &Frame<'_>,
) -> Result<HeaderValue, RenderError> {
    let template = match value {
        HeaderTemplate::Fixed(value) => return Ok(value.clone()),
        HeaderTemplate::Rendered(template) => template,
    };
    let fail = |message| RenderError::new(format!("headers.{name}"), message);
    let mut text = String::new();
    let append = |value: &str, out: &mut String| out.push_str(value);
    render_text(template, frame, URL_BYTES_MAX, &mut text, append).map_err(fail)?;
    HeaderValue::from_bytes(text.as_bytes())
        .map_err(|_| fail("the value has characters that a header must not have".to_owned()))
}

/// The body and its content type.
pub(crate) fn render_body(body: &Body, frame: &Frame<'_>) -> Result<(Bytes, &'static str), RenderError> {
    const JSON: &str = "application/json";
    const TEXT: &str = "text/plain; charset=utf-8";
    let fail = |message| RenderError::new("body", message);
    match body {
        Body::Text(template) => {
            let mut text = String::new();
            let append = |value: &str, out: &mut String| out.push_str(value);
            render_text(template, frame, BODY_BYTES_MAX, &mut text, append).map_err(fail)?;
            Ok((text.into(), TEXT))
        }
        Body::Value(expression) => {
            let json = value_of(expression, frame, BODY_BYTES_MAX).map_err(fail)?;
            match json::text_of(&json) {
                Some(text) => Ok((Bytes::from(text.into_owned()), TEXT)),
                None => Ok((shared(&json, frame), JSON)),
            }
        }
        Body::Json(chunks) => Ok((render_json(chunks, frame).map_err(fail)?.into(), JSON)),
    }
}

/// The bytes of `json`, without a copy when it is a piece of the request.
fn shared(json: &str, frame: &Frame<'_>) -> Bytes {
    let request = frame.context.request;
    if !json.is_empty() && request.as_ptr_range().contains(&json.as_ptr()) {
        return request.slice_ref(json.as_bytes());
    }
    Bytes::copy_from_slice(json.as_bytes())
}

fn render_json(chunks: &[Chunk], frame: &Frame<'_>) -> Result<Vec<u8>, String> {
    let mut out = Vec::with_capacity(256);
    for chunk in chunks {
        match chunk {
            Chunk::Json(json) => out.extend_from_slice(json),
            Chunk::Value(expression) => {
                out.extend_from_slice(value_of(expression, frame, BODY_BYTES_MAX)?.as_bytes());
            }
            Chunk::Text(template) => {
                let mut text = String::new();
                let append = |value: &str, out: &mut String| out.push_str(value);
                render_text(template, frame, BODY_BYTES_MAX, &mut text, append)?;
                json::write_text(&mut out, &text);
            }
        }
        if out.len() > BODY_BYTES_MAX {
            return Err(format!("the body is larger than {BODY_BYTES_MAX} bytes"));
        }
    }
    Ok(out)
}

/// Appends a template; `append` puts the text of each part in place.
pub(crate) fn render_text(
    template: &Template,
    frame: &Frame<'_>,
    bytes_max: usize,
    out: &mut String,
    append: impl Fn(&str, &mut String),
) -> Result<(), String> {
    for part in &template.parts {
        match part {
            TemplatePart::Text(text) => append(text, out),
            TemplatePart::Value(expression) => {
                let json = value_of(expression, frame, bytes_max)?;
                append(&scalar(expression, &json)?, out);
            }
        }
        if out.len() > bytes_max {
            return Err(format!("the text is longer than {bytes_max} bytes"));
        }
    }
    Ok(())
}

/// The JSON text of an expression's first result; no result counts as null, as in jq's own output.
pub(crate) fn value_of<'f>(
    expression: &Expression,
    frame: &'f Frame<'_>,
    bytes_max: usize,
) -> Result<Cow<'f, str>, String> {
    let named = |message: &dyn fmt::Display| format!("expression {}: {message}", quote(expression.source()));
    let value = expression.evaluate(frame, bytes_max).map_err(|message| named(&message))?;
    Ok(value.unwrap_or(Cow::Borrowed("null")))
}

/// A value as part of a text.
pub(crate) fn scalar<'j>(expression: &Expression, json: &'j str) -> Result<Cow<'j, str>, String> {
    match json.as_bytes().first() {
        Some(b'"') => json::text_of(json).ok_or_else(|| "the value is not JSON".to_owned()),
        Some(b'n' | b'{' | b'[') | None => {
            let (source, kind) = (quote(expression.source()), json::kind(json));
            Err(format!("expression {source} is {kind}; only text, numbers and booleans can stand here"))
        }
        _ => Ok(Cow::Borrowed(json)),
    }
}

/// Appends `text` with all but unreserved characters encoded, so that it stays within one segment.
pub(crate) fn percent_encode(text: &str, out: &mut String) {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    let is_unreserved =
        |byte| matches!(byte, b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~');
    // Most ids are like this, and are copied at once.
    if text.bytes().all(is_unreserved) {
        return out.push_str(text);
    }
    for byte in text.bytes() {
        if is_unreserved(byte) {
            out.push(char::from(byte));
        } else {
            out.push('%');
            out.push(char::from(HEX[usize::from(byte >> 4)]));
            out.push(char::from(HEX[usize::from(byte & 15)]));
        }
    }
}
