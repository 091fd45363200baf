//! Reads a definition's text into a [`Definition`], or says everything that is wrong with it.

mod action;
pub(crate) mod fields;
mod message;
mod retry;
mod scope;
mod services;
mod sources;
mod steps;
mod url;

use std::sync::Arc;

use types::plan::NoticeEvents;
use types::{JOB_WORKFLOW, Plan, QueueName, Retry, Span, WorkflowName};

use self::fields::{Field, Fields};
use self::retry::Of;
use self::scope::Scope;
use self::steps::{Defaults, Steps};
use crate::action::{Action, Service};
use crate::context::{NOTICE, StepSet};
use crate::definition::{Accept, Definition, Notices};
use crate::expression::Expression;
use crate::limits::SOURCE_BYTES_MAX;
use crate::schema::Schema;
use crate::template;
use crate::yaml::{self, Node, YamlKind};
use types::problem::{Problems, Report, quote};

const FIELDS: [&str; 14] = [
    "name",
    "description",
    "accept",
    "sources",
    "serial",
    "services",
    "steps",
    "retry",
    "undo_retry",
    "deadline",
    "on_completed",
    "on_undone",
    "on_parked",
    "feed",
];

/// The first parts of the paths that Sortie itself answers, which no workflow and no queue can have. A test of `rest` holds
/// its table of routes against them.
pub const RESERVED_ROUTES: [&str; 8] =
    ["/v1", "/subscriptions", "/livez", "/readyz", "/metrics", "/openapi.json", "/docs", "/ui"];

const DEADLINE: Span = Span::from_secs(24 * 3600);

pub(crate) fn parse(source: &str) -> Result<Definition, Problems> {
    let mut report = Report::default();
    let definition = root(source, &mut report).and_then(|node| read(source, &node, &mut report));
    report.finish(definition)
}

/// Reads an action that a person names in place of a step's.
pub(crate) fn parse_action(source: &str, definition: &Definition) -> Result<Action, Problems> {
    let mut report = Report::default();
    let action = root(source, &mut report).and_then(|node| {
        let field = Field { path: String::new(), node: &node };
        let scope = Scope::call(&definition.step_names, StepSet::ALL);
        action::read(&field, &[], &definition.services, &scope, &mut report)
    });
    report.finish(action)
}

fn root(source: &str, report: &mut Report) -> Option<Node> {
    if source.len() > SOURCE_BYTES_MAX {
        report.add("", format!("the definition is larger than {SOURCE_BYTES_MAX} bytes"));
        return None;
    }
    yaml::read(source, report)
}

/// The name of a workflow; that of all occurrences of jobs is taken.
fn own_name(text: &str) -> Result<WorkflowName, String> {
    if text == JOB_WORKFLOW {
        return Err(format!(
            "'{JOB_WORKFLOW}' is what runs of scheduled jobs are listed under; choose another name"
        ));
    }
    WorkflowName::new(text).map_err(|error| error.to_string())
}

fn read(source: &str, node: &Node, report: &mut Report) -> Option<Definition> {
    let fields = Fields::read(&Field { path: String::new(), node }, &FIELDS, report)?;
    let name = fields
        .require("name", report)
        .and_then(|field| field.text(report).and_then(|text| field.checked(own_name(text), report)));
    let description =
        fields.get("description").and_then(|field| field.text(report)).map_or("", str::trim).to_owned();
    let accept =
        fields.get("accept").map_or_else(|| Some(Accept::default()), |field| read_accept(&field, report));
    let services = fields.get("services").map_or_else(Vec::new, |field| services::read(&field, report));
    let sources = fields
        .get("sources")
        .map_or_else(Vec::new, |field| sources::read(&field, name.as_ref(), &services, report));
    let own =
        |name, of, report: &mut Report| fields.get(name).and_then(|field| retry::read(&field, of, report));
    let defaults = Defaults {
        services: &services,
        retry: own("retry", Of::Step, report).unwrap_or(Retry::STEP),
        undo_retry: own("undo_retry", Of::Undo, report).unwrap_or(Retry::UNDO),
    };
    let steps = fields.require("steps", report).and_then(|field| steps::read(&field, &defaults, report));
    let serial = fields.flag("serial", report);
    let deadline = fields.span("deadline", report).unwrap_or(DEADLINE);
    let Steps { names, plan, steps } = steps?;
    let (notices, notice_retry) = read_notices(&fields, &names, &services, report);
    let feed = fields.get("feed").and_then(|field| queue_name(&field, report));
    let events = NoticeEvents {
        completed: notices.completed.is_some(),
        undone: notices.undone.is_some() || feed.is_some(),
        parked: notices.parked.is_some() || feed.is_some(),
    };
    let plan =
        Arc::new(Plan { steps: plan, deadline: Some(deadline), serial, notices: events, notice_retry });
    let source = source.into();
    let (name, accept) = (name?, accept?);
    Some(Definition {
        name,
        description,
        source,
        accept,
        sources,
        services,
        step_names: names,
        steps,
        notices,
        feed,
        plan,
    })
}

/// The name of a built-in queue, which is kept in lower case. Whether there is such a queue turns out when it is
/// needed.
fn queue_name(field: &Field<'_>, report: &mut Report) -> Option<QueueName> {
    let text = field.text(report)?;
    field.checked(QueueName::new(&text.to_lowercase()), report)
}

fn read_accept(field: &Field<'_>, report: &mut Report) -> Option<Accept> {
    let fields = Fields::read(field, &["route", "change", "id", "key", "schema"], report)?;
    let route = fields.get("route").and_then(|field| {
        let text = field.text(report)?;
        field.checked(check_route(text), report)
    });
    let change = fields.get("change").and_then(|field| {
        let text = field.text(report)?;
        field.checked(WorkflowName::new(text).map_err(|error| error.to_string()), report)
    });
    let mut read = |name| fields.get(name).and_then(|field| expression(&field, report));
    let (id, key) = (read("id"), read("key"));
    let schema = fields.get("schema").and_then(|field| read_schema(&field, report));
    Some(Accept { route, change, id, key, schema })
}

fn check_route(route: &str) -> Result<String, String> {
    if !route.starts_with('/') || route.len() < 2 {
        return Err(format!("{} must start with '/' and name something", quote(route)));
    }
    let under = |reserved: &&&str| {
        route.strip_prefix(**reserved).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    if let Some(reserved) = RESERVED_ROUTES.iter().find(under) {
        return Err(format!("{} is taken: Sortie itself answers under {reserved}", quote(route)));
    }
    let segment = |segment: &str| {
        let allowed = |c: char| c.is_ascii_alphanumeric() || "-._~".contains(c);
        !segment.is_empty() && segment != "." && segment != ".." && segment.chars().all(allowed)
    };
    if route.len() > 256 || !route[1..].split('/').all(segment) {
        let rule = "must be segments of letters, digits, '-', '.', '_' and '~' with single slashes between";
        return Err(format!("{} {rule}", quote(route)));
    }
    Ok(route.to_owned())
}

fn read_schema(field: &Field<'_>, report: &mut Report) -> Option<Schema> {
    match &field.node.kind {
        YamlKind::Text(file) => {
            let hint = "'sortie workflow apply' puts it in; here the schema itself must stand";
            field.wrong(format!("{} is the name of a file: {hint}", quote(file)), report);
            None
        }
        YamlKind::Map(_) | YamlKind::Bool(_) => field.checked(Schema::new(&field.node.to_json()), report),
        _ => {
            field.wrong_type("a JSON Schema", report);
            None
        }
    }
}

fn read_notices(
    fields: &Fields<'_>,
    names: &[types::StepName],
    services: &[Service],
    report: &mut Report,
) -> (Notices, Retry) {
    let scope = Scope { fields: NOTICE, steps: names, visible: StepSet::ALL };
    let mut retries = Vec::new();
    let mut read = |name| {
        let field = fields.get(name)?;
        let fields = Fields::read(&field, &["action", "retry"], report)?;
        let retry = fields.get("retry").map(|field| (retry::read(&field, Of::Undo, report), field));
        retries.extend(retry);
        let field = fields.require("action", report)?;
        action::read(&field, &[], services, &scope, report)
    };
    let (completed, undone, parked) = (read("on_completed"), read("on_undone"), read("on_parked"));
    let notices = Notices { completed, undone, parked };
    let first = retries.iter().find_map(|(retry, _)| *retry);
    for (retry, field) in &retries {
        if retry.is_some() && *retry != first {
            field.wrong("all notices of a workflow share one retry policy; this one differs", report);
        }
    }
    (notices, first.unwrap_or(Retry::UNDO))
}

/// A field that is one expression: text that begins with `.`, or `${ … }` as a whole.
fn expression(field: &Field<'_>, report: &mut Report) -> Option<Expression> {
    let text = field.text(report)?.trim();
    let inner = text.strip_prefix("${").and_then(|rest| rest.strip_suffix('}'));
    let source = match inner {
        Some(inner) => inner.trim(),
        None if template::is_expression(text) => text,
        None => {
            let message =
                format!("{} is not an expression; one begins with '.' or stands in '${{ }}'", quote(text));
            field.wrong(message, report);
            return None;
        }
    };
    let named = |message| format!("expression {}: {message}", quote(source));
    field.checked(Expression::compile(source).map_err(named), report)
}
