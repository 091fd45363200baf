//! What expressions see: the request, the run, the outputs of steps, the answer.

use std::borrow::Cow;
use std::cell::OnceCell;

use bytes::Bytes;
use http::HeaderMap;
use types::{Key, RunId, RunStatus, StepName, WorkflowName};

use crate::expression::Input;
use crate::json::{self, JsonDocument, Segment, Tree};

/// What the expressions of a call can use of its run.
#[derive(Debug, Clone, Copy)]
pub struct ExpressionContext<'a> {
    pub run: &'a RunId,
    pub key: &'a Key,
    /// The accepted body: valid JSON.
    pub request: &'a Bytes,
    /// The output of each done step, JSON, in the order of the plan. Steps beyond the end count as not done.
    pub outputs: &'a [Option<Bytes>],
    /// How the run ended, for notices.
    pub ending: Option<Ending<'a>>,
}

/// How a run ended, or why it is parked.
#[derive(Debug, Clone, Copy)]
pub struct Ending<'a> {
    pub status: RunStatus,
    pub reason: Option<&'a str>,
    pub steps_done: &'a [StepName],
    pub steps_undone: &'a [StepName],
}

/// The fields that a call's expressions see.
pub(crate) const CALL: &[&str] = &["request", "run", "steps"];
/// The fields that `accept_if` and `output` see.
pub(crate) const ANSWER: &[&str] = &["request", "run", "steps", "response"];
/// The fields that notices see.
pub(crate) const NOTICE: &[&str] = &["request", "run", "steps", "steps_done", "steps_undone"];
/// The fields of `.run`; the last two exist for notices only.
pub(crate) const RUN: &[&str] = &["id", "workflow", "key", "status", "reason"];
/// The fields of `.response`.
pub(crate) const RESPONSE: &[&str] = &["status", "headers", "body"];

/// A set of steps by number; there are at most 64.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct StepSet(pub u64);

impl StepSet {
    pub(crate) const ALL: StepSet = StepSet(u64::MAX);

    pub(crate) fn contains(self, step: usize) -> bool {
        u32::try_from(step).is_ok_and(|step| self.0.checked_shr(step).is_some_and(|bits| bits & 1 == 1))
    }

    #[must_use]
    pub(crate) fn with(self, step: usize) -> StepSet {
        StepSet(self.0 | 1u64.checked_shl(step as u32).unwrap_or(0))
    }
}

/// The answer to a call.
pub(crate) struct ResponseInput<'a> {
    pub status: u16,
    pub headers: &'a HeaderMap,
    pub body: JsonDocument<'a>,
}

/// A context while one call is rendered or judged: the input of its expressions.
pub(crate) struct Frame<'a> {
    pub context: &'a ExpressionContext<'a>,
    pub workflow: &'a WorkflowName,
    pub step_names: &'a [StepName],
    /// The steps whose outputs are settled when the call is made. Others stay null, so that a call is
    /// the same on every attempt.
    pub visible: StepSet,
    pub fields: &'static [&'static str],
    pub answer: Option<ResponseInput<'a>>,
    request: OnceCell<JsonDocument<'a>>,
}

impl<'a> Frame<'a> {
    pub(crate) fn new(
        context: &'a ExpressionContext<'a>,
        workflow: &'a WorkflowName,
        step_names: &'a [StepName],
        visible: StepSet,
        fields: &'static [&'static str],
    ) -> Frame<'a> {
        let request = OnceCell::new();
        Frame { context, workflow, step_names, visible, fields, answer: None, request }
    }

    pub(crate) fn with_answer(mut self, answer: ResponseInput<'a>) -> Frame<'a> {
        self.answer = Some(answer);
        self
    }

    fn request(&self) -> Result<&JsonDocument<'a>, String> {
        if let Some(request) = self.request.get() {
            return Ok(request);
        }
        let text = text(self.context.request)?;
        Ok(self.request.get_or_init(|| JsonDocument::new(text)))
    }

    fn step(&self, name: &str) -> Result<&'a str, String> {
        let index = self.step_names.iter().position(|step| step.as_str() == name);
        match index.filter(|index| self.visible.contains(*index)) {
            Some(index) => self.output(index),
            None => Ok("null"),
        }
    }

    fn output(&self, index: usize) -> Result<&'a str, String> {
        match self.context.outputs.get(index) {
            Some(Some(output)) => text(output),
            _ => Ok("null"),
        }
    }

    fn run_field(&self, name: &str) -> String {
        let ending = self.context.ending;
        let value = match name {
            "id" => Some(self.context.run.as_str()),
            "workflow" => Some(self.workflow.as_str()),
            "key" => Some(self.context.key.as_str()),
            "status" => ending.map(|ending| ending.status.as_str()),
            "reason" => ending.and_then(|ending| ending.reason),
            _ => None,
        };
        value.map_or_else(|| "null".to_owned(), quoted)
    }

    /// One field of the input as JSON text.
    fn field(&self, name: &str) -> Result<Cow<'a, str>, String> {
        match name {
            "request" => self.request()?.find(&[]).map(Cow::Borrowed),
            "run" => {
                let known = if self.context.ending.is_some() { RUN } else { &RUN[..3] };
                Ok(object(known.iter().map(|name| (*name, self.run_field(name)))).into())
            }
            "steps" => {
                let visible = self.step_names.iter().enumerate().filter(|(n, _)| self.visible.contains(*n));
                let outputs = visible.map(|(n, name)| Ok((name.as_str(), self.output(n)?)));
                Ok(object(outputs.collect::<Result<Vec<_>, String>>()?).into())
            }
            "response" => self.answer_object(),
            "steps_done" => Ok(names(self.context.ending.map_or(&[], |ending| ending.steps_done)).into()),
            "steps_undone" => Ok(names(self.context.ending.map_or(&[], |ending| ending.steps_undone)).into()),
            _ => Ok("null".into()),
        }
    }

    fn answer_object(&self) -> Result<Cow<'a, str>, String> {
        let Some(answer) = &self.answer else { return Ok("null".into()) };
        let fields = [
            ("status", answer.status.to_string()),
            ("headers", header_object(answer.headers)),
            ("body", answer.body.find(&[])?.to_owned()),
        ];
        Ok(object(fields).into())
    }

    fn find_in_answer(&self, path: &[Segment]) -> Result<Cow<'a, str>, String> {
        match (&self.answer, path) {
            (Some(answer), [Segment::Field(name), rest @ ..]) if **name == *"body" => {
                answer.body.find(rest).map(Cow::Borrowed)
            }
            (Some(answer), [Segment::Field(first), Segment::Field(name)]) if **first == *"headers" => {
                Ok(header(answer.headers, name).map_or("null".into(), |text| quoted(&text).into()))
            }
            _ => inside(self.answer_object()?, path),
        }
    }
}

impl Input for Frame<'_> {
    fn find(&self, path: &[Segment]) -> Result<Cow<'_, str>, String> {
        let [Segment::Field(first), rest @ ..] = path else {
            let fields = self.fields.iter().map(|name| Ok((*name, self.field(name)?)));
            let all = object(fields.collect::<Result<Vec<_>, String>>()?);
            return inside(all.into(), path);
        };
        if !self.fields.contains(&&**first) {
            return inside("null".into(), rest);
        }
        match (&**first, rest) {
            ("request", rest) => self.request()?.find(rest).map(Cow::Borrowed),
            ("run", [Segment::Field(name)]) => Ok(self.run_field(name).into()),
            ("steps", [Segment::Field(name)]) => self.step(name).map(Cow::Borrowed),
            ("steps", [Segment::Field(name), rest @ ..]) => {
                JsonDocument::new(self.step(name)?).find(rest).map(Cow::Borrowed)
            }
            ("response", rest) => self.find_in_answer(rest),
            (first, rest) => inside(self.field(first)?, rest),
        }
    }

    fn fields(&self) -> Option<&'static [&'static str]> {
        Some(self.fields)
    }
}

/// A body as an input, for expressions over nothing else.
pub(crate) struct BodyInput<'a>(pub &'a Tree<'a>);

impl Input for BodyInput<'_> {
    fn find(&self, path: &[Segment]) -> Result<Cow<'_, str>, String> {
        self.0.find(path).map(Cow::Borrowed)
    }

    fn fields(&self) -> Option<&'static [&'static str]> {
        None
    }
}

fn text(bytes: &Bytes) -> Result<&str, String> {
    let text = std::str::from_utf8(bytes).map_err(|error| format!("not JSON: {error}"))?;
    Ok(text.trim_matches([' ', '\t', '\r', '\n']))
}

/// What is at `path` in a text that lives only here.
fn inside<'t>(text: Cow<'t, str>, path: &[Segment]) -> Result<Cow<'t, str>, String> {
    if path.is_empty() {
        return Ok(text);
    }
    JsonDocument::new(&text).find(path).map(|found| Cow::Owned(found.to_owned()))
}

fn quoted(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len() + 2);
    json::write_text(&mut out, text);
    String::from_utf8(out).expect("a JSON string of valid text is valid text")
}

fn object<'n, T: AsRef<str>>(fields: impl IntoIterator<Item = (&'n str, T)>) -> String {
    let mut out = String::from("{");
    for (name, value) in fields {
        if out.len() > 1 {
            out.push(',');
        }
        out.push_str(&quoted(name));
        out.push(':');
        out.push_str(value.as_ref());
    }
    out.push('}');
    out
}

fn names(names: &[StepName]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| quoted(name.as_str())).collect();
    format!("[{}]", quoted.join(","))
}

fn header(headers: &HeaderMap, name: &str) -> Option<String> {
    let values: Vec<_> =
        headers.get_all(name).iter().map(|value| String::from_utf8_lossy(value.as_bytes())).collect();
    (!values.is_empty()).then(|| values.join(", "))
}

fn header_object(headers: &HeaderMap) -> String {
    object(headers.keys().map(|name| {
        let value = header(headers, name.as_str()).unwrap_or_default();
        (name.as_str(), quoted(&value))
    }))
}
