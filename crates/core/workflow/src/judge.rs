//! What an answer means: done, with an output for later steps, or refused.

use std::borrow::Cow;

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Method};

use crate::context::Frame;
use crate::expression::{Expression, Input};
use crate::json::{self, Segment};
use crate::limits::{DEFAULT_OUTPUT_BYTES_MAX, OUTPUT_BYTES_MAX};
use crate::render::RenderedAction;
use types::problem::quote;

const JSON: &str = "application/json";

/// What a 2xx answer means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ResponseVerdict {
    /// The step is done; `output` is JSON.
    Done { output: Bytes },
    /// A business answer: no, or one that cannot be read as yes.
    Refused { reason: String },
}

pub(crate) fn judge(
    accept_if: Option<&Expression>,
    output: Option<&Expression>,
    frame: &Frame<'_>,
    body: &Bytes,
    is_json: bool,
) -> ResponseVerdict {
    let refused = |name: &str, expression: &Expression, why: String| {
        let source = quote(expression.source());
        ResponseVerdict::Refused { reason: format!("{name} {source} {why}") }
    };
    if let Some(expression) = accept_if {
        match expression.evaluate(frame, OUTPUT_BYTES_MAX) {
            Ok(Some(value)) if &*value != "false" && &*value != "null" => {}
            Ok(Some(value)) => return refused("accept_if", expression, format!("is {value}")),
            Ok(None) => return refused("accept_if", expression, "gives nothing".to_owned()),
            Err(message) => return refused("accept_if", expression, format!("fails: {message}")),
        }
    }
    let Some(expression) = output else {
        let keep = is_json && body.len() <= DEFAULT_OUTPUT_BYTES_MAX;
        let output = if keep { body.clone() } else { Bytes::from_static(b"null") };
        return ResponseVerdict::Done { output };
    };
    match expression.evaluate(frame, OUTPUT_BYTES_MAX) {
        Ok(Some(Cow::Borrowed(text))) => {
            ResponseVerdict::Done { output: Bytes::copy_from_slice(text.as_bytes()) }
        }
        Ok(Some(Cow::Owned(text))) => ResponseVerdict::Done { output: text.into() },
        Ok(None) => ResponseVerdict::Done { output: Bytes::from_static(b"null") },
        Err(message) => refused("output", expression, format!("fails: {message}")),
    }
}

/// An answer's body as JSON text: itself, or its text as a JSON string when it is not JSON. Says which.
pub(crate) fn body_text(body: &Bytes) -> (Cow<'_, str>, bool) {
    match json::check(body) {
        Ok(text) => (Cow::Borrowed(text), true),
        Err(_) => {
            let mut out = Vec::with_capacity(body.len() + 2);
            json::write_text(&mut out, &String::from_utf8_lossy(body));
            let text = String::from_utf8(out).expect("a JSON string of valid text is valid text");
            (Cow::Owned(text), false)
        }
    }
}

/// A notice that says nothing of its body tells what happened to which run.
pub(crate) fn add_notice_body(rendered: &mut RenderedAction, frame: &Frame<'_>) {
    match rendered {
        RenderedAction::Call(request) => {
            let bodiless = matches!(request.method, Method::GET | Method::HEAD | Method::DELETE);
            if bodiless || request.body.is_some() {
                return;
            }
            request.body = Some(notice_body(frame));
            if !request.headers.iter().any(|(name, _)| *name == CONTENT_TYPE) {
                request.headers.push((CONTENT_TYPE, HeaderValue::from_static(JSON)));
            }
        }
        RenderedAction::Send(sending) => {
            let message = &mut sending.message;
            message.body = notice_body(frame);
            message.content_type.get_or_insert_with(|| JSON.to_owned());
        }
    }
}

fn notice_body(frame: &Frame<'_>) -> Bytes {
    let field = |name: &str| frame.find(&[Segment::Field(name.into())]).unwrap_or(Cow::Borrowed("null"));
    let (run, done, undone) = (field("run"), field("steps_done"), field("steps_undone"));
    format!(r#"{{"run":{run},"steps_done":{done},"steps_undone":{undone}}}"#).into()
}
