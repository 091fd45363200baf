//! A workflow's definition: checked when it is made, and what its users ask of it.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use http::HeaderMap;
use types::plan::Notice;
use types::{Key, Plan, QueueName, RunId, StepIndex, StepName, Work, WorkflowName};

use crate::action::{Action, Service};
use crate::context::{ANSWER, BodyInput, CALL, ExpressionContext, Frame, NOTICE, ResponseInput, StepSet};
use crate::expression::Expression;
use crate::json::{self, InvalidJson, JsonDocument, Tree};
use crate::judge::{self, ResponseVerdict};
use crate::limits::OUTPUT_BYTES_MAX;
use crate::parse;
use crate::render::{RenderError, RenderedAction};
use crate::schema::{Schema, SchemaProblem};
use crate::source::Source;
use types::problem::{Problems, quote};

/// A valid workflow definition, with everything compiled. Cheap to share in an [`Arc`].
#[derive(Debug)]
pub struct Definition {
    pub(crate) name: WorkflowName,
    pub(crate) description: String,
    pub(crate) source: Arc<str>,
    pub(crate) accept: Accept,
    pub(crate) sources: Vec<Source>,
    pub(crate) services: Vec<Service>,
    pub(crate) step_names: Vec<StepName>,
    pub(crate) steps: Vec<StepDefinition>,
    pub(crate) notices: Notices,
    pub(crate) feed: Option<QueueName>,
    pub(crate) plan: Arc<Plan>,
}

/// What a workflow says of the requests that it takes.
#[derive(Debug, Default)]
pub struct Accept {
    pub(crate) route: Option<String>,
    pub(crate) change: Option<WorkflowName>,
    pub(crate) id: Option<Expression>,
    pub(crate) key: Option<Expression>,
    pub(crate) schema: Option<Schema>,
}

impl Accept {
    /// The workflow's own path for requests, besides the one that every workflow has.
    pub fn route(&self) -> Option<&str> {
        self.route.as_deref()
    }

    /// The workflow that takes changes: `PATCH {route}/{id}` is a request of it, with the id as its key.
    pub fn change(&self) -> Option<&WorkflowName> {
        self.change.as_ref()
    }

    /// The field of the body that holds the id, when it is a plain one.
    pub fn id_field(&self) -> Option<&str> {
        self.id.as_ref()?.plain_field()
    }

    /// The field of the body that holds the key, when it is a plain one.
    pub fn key_field(&self) -> Option<&str> {
        self.key.as_ref()?.plain_field()
    }

    /// The schema that bodies are checked against.
    pub fn schema(&self) -> Option<&serde_json::Value> {
        self.schema.as_ref().map(Schema::source)
    }

    /// Whether bodies are checked against a schema.
    pub fn has_schema(&self) -> bool {
        self.schema.is_some()
    }
}

/// What is taken from a body: `None` where it says nothing or the workflow does not ask.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Taken {
    /// The client's id.
    pub id: Option<RunId>,
    pub key: Option<Key>,
}

/// Why a body is not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BodyProblem {
    #[error(transparent)]
    Json(#[from] InvalidJson),
    #[error("the body does not match the workflow's schema")]
    Schema(Vec<SchemaProblem>),
    #[error(transparent)]
    Accept(#[from] AcceptProblem),
}

/// Why no id or key can be taken from a body.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {message}")]
pub struct AcceptProblem {
    /// `id` or `key`.
    pub field: &'static str,
    pub message: String,
}

#[derive(Debug)]
pub(crate) struct StepDefinition {
    pub call: Action,
    pub judgement: Judgement,
    pub alternative: Option<Alternative>,
    pub undo: Option<Action>,
    /// The steps that are done before this one begins.
    pub visible: StepSet,
}

#[derive(Debug)]
pub(crate) struct Alternative {
    pub action: Action,
    pub judgement: Judgement,
}

/// How a 2xx answer is read.
#[derive(Debug)]
pub(crate) struct Judgement {
    pub accept_if: Option<Expression>,
    pub output: Option<Expression>,
}

#[derive(Debug)]
pub(crate) struct Notices {
    pub completed: Option<Action>,
    pub undone: Option<Action>,
    pub parked: Option<Action>,
}

impl Definition {
    /// Reads YAML or JSON; all problems at once when it is not a definition.
    pub fn parse(source: &str) -> Result<Definition, Problems> {
        parse::parse(source)
    }

    /// Reads an action that a person names in place of a step's call or undo. Its expressions can use
    /// what the step's own could, and the outputs of all steps.
    pub fn parse_action(&self, source: &str) -> Result<Action, Problems> {
        parse::parse_action(source, self)
    }

    pub fn name(&self) -> &WorkflowName {
        &self.name
    }

    pub fn description(&self) -> &str {
        &self.description
    }

    /// The text that was parsed.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// What the kernel needs to know.
    pub fn plan(&self) -> &Arc<Plan> {
        &self.plan
    }

    pub fn accept(&self) -> &Accept {
        &self.accept
    }

    /// Where requests come from besides HTTP.
    pub fn sources(&self) -> &[Source] {
        &self.sources
    }

    /// The services, in the order written.
    pub fn services(&self) -> &[Service] {
        &self.services
    }

    /// The steps, in the order of the plan.
    pub fn step_names(&self) -> &[StepName] {
        &self.step_names
    }

    /// Takes a request's body, when it is JSON, not too deep, and as the schema says. It is read once.
    pub fn take(&self, body: &[u8]) -> Result<Taken, BodyProblem> {
        let tree = Tree::new(body)?;
        if let Some(schema) = &self.accept.schema {
            // A schema compares numbers, and what it cannot hold it cannot compare.
            tree.check_range(body)?;
            schema.check(&tree).map_err(BodyProblem::Schema)?;
        }
        let input = BodyInput(&tree);
        let id = take_field("id", self.accept.id.as_ref(), &input, RunId::new)?;
        let key = take_field("key", self.accept.key.as_ref(), &input, Key::new)?;
        Ok(Taken { id, key })
    }

    /// The built-in queue that is notified of `work`, besides the action that the workflow may declare for it.
    pub fn feed(&self, work: Work) -> Option<&str> {
        match work {
            Work::Notice(Notice::Undone | Notice::Parked) => self.feed.as_ref().map(QueueName::as_str),
            Work::Notice(Notice::Completed) => None,
            Work::Do(_) | Work::Alternative(_) | Work::Undo(_) => None,
            Work::DoInstead(_) | Work::UndoInstead(_) => None,
        }
    }

    /// Whether the workflow declares an action for `work`.
    pub fn declares(&self, work: Work) -> bool {
        self.action(work).is_some()
    }

    /// What `work` comes to. An action that a person named goes to [`Definition::render_action`].
    pub fn render(&self, work: Work, context: &ExpressionContext<'_>) -> Result<RenderedAction, RenderError> {
        let action =
            self.action(work).ok_or_else(|| RenderError::new("call", "the workflow declares none"))?;
        let fields = if matches!(work, Work::Notice(_)) { NOTICE } else { CALL };
        let frame = Frame::new(context, &self.name, &self.step_names, action.visible(), fields);
        let mut rendered = action.render(&frame)?;
        if fields == NOTICE && !action.has_body() {
            judge::add_notice_body(&mut rendered, &frame);
        }
        Ok(rendered)
    }

    /// What an action that a person named comes to.
    pub fn render_action(
        &self,
        action: &Action,
        context: &ExpressionContext<'_>,
    ) -> Result<RenderedAction, RenderError> {
        let frame = Frame::new(context, &self.name, &self.step_names, action.visible(), CALL);
        action.render(&frame)
    }

    /// What a 2xx answer to `work` means, and what later steps get of it.
    pub fn judge(
        &self,
        work: Work,
        context: &ExpressionContext<'_>,
        status: u16,
        headers: &HeaderMap,
        body: &Bytes,
    ) -> ResponseVerdict {
        let Some((step, accept_if, output)) = self.judgement(work) else {
            return ResponseVerdict::Done { output: Bytes::from_static(b"null") };
        };
        let (text, is_json) = judge::body_text(body);
        let answer = ResponseInput { status, headers, body: JsonDocument::new(&text) };
        let frame =
            Frame::new(context, &self.name, &self.step_names, step.visible, ANSWER).with_answer(answer);
        judge::judge(accept_if, output, &frame, body, is_json)
    }

    fn step(&self, index: StepIndex) -> Option<&StepDefinition> {
        self.steps.get(usize::from(index.0))
    }

    fn action(&self, work: Work) -> Option<&Action> {
        match work {
            Work::Do(step) => self.step(step).map(|step| &step.call),
            Work::Alternative(step) => self.step(step)?.alternative.as_ref().map(|other| &other.action),
            Work::Undo(step) => self.step(step)?.undo.as_ref(),
            Work::DoInstead(_) | Work::UndoInstead(_) => None,
            Work::Notice(Notice::Completed) => self.notices.completed.as_ref(),
            Work::Notice(Notice::Undone) => self.notices.undone.as_ref(),
            Work::Notice(Notice::Parked) => self.notices.parked.as_ref(),
        }
    }

    /// How the answer to `work` is read. An alternative is read as its step unless it says otherwise; what
    /// a person chose to do is not refused, but still makes the step's output.
    fn judgement(&self, work: Work) -> Option<(&StepDefinition, Option<&Expression>, Option<&Expression>)> {
        match work {
            Work::Do(index) => {
                let step = self.step(index)?;
                Some((step, step.judgement.accept_if.as_ref(), step.judgement.output.as_ref()))
            }
            Work::Alternative(index) => {
                let step = self.step(index)?;
                let own = &step.alternative.as_ref()?.judgement;
                let accept_if = own.accept_if.as_ref().or(step.judgement.accept_if.as_ref());
                Some((step, accept_if, own.output.as_ref().or(step.judgement.output.as_ref())))
            }
            Work::DoInstead(index) => {
                let step = self.step(index)?;
                Some((step, None, step.judgement.output.as_ref()))
            }
            Work::Undo(_) | Work::UndoInstead(_) | Work::Notice(_) => None,
        }
    }
}

fn take_field<T, E: fmt::Display>(
    field: &'static str,
    expression: Option<&Expression>,
    input: &BodyInput<'_>,
    new: impl FnOnce(&str) -> Result<T, E>,
) -> Result<Option<T>, AcceptProblem> {
    let Some(expression) = expression else { return Ok(None) };
    let fail = |message: String| AcceptProblem {
        field,
        message: format!("expression {}: {message}", quote(expression.source())),
    };
    let value = expression.evaluate(input, OUTPUT_BYTES_MAX).map_err(fail)?;
    let text = match value.as_deref() {
        None | Some("null") => None,
        Some(json) if json.starts_with('"') => json::text_of(json),
        Some(json) if json.starts_with(['{', '[', 't', 'f']) => {
            return Err(fail(format!("is {}, not text or a number", json::kind(json))));
        }
        Some(number) => Some(number.into()),
    };
    let taken = text.map(|text| new(&text)).transpose();
    taken.map_err(|error| AcceptProblem { field, message: error.to_string() })
}

#[cfg(test)]
mod tests;
