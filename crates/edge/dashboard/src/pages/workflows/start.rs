//! Starting a run: a form generated from the workflow's schema, or the request as JSON.

use api_types::{FieldError, Problem, WorkflowView};
use http::{HeaderName, Method};
use maud::{Markup, html};
use serde_json::Value;

use super::form::{self, FieldValues, FormField};
use super::{FormOutcome, address, api};
use crate::components;
use crate::context::{PageContext, encoded};
use crate::error::PageError;
use crate::page::{NavSection, Page};

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
const RUN_ID_HINT: &str = "Optional: taken from the request, or generated.";

/// The current state of the form.
struct StartForm<'a> {
    name: &'a str,
    /// None if the workflow's schema has no fields.
    fields: Option<Vec<FormField>>,
    filled: FormInput,
    run_id: String,
    /// The idempotency key: submitting the form twice starts one run.
    key: String,
    problem: Option<Problem>,
}

enum FormInput {
    Fields(FieldValues),
    Json(String),
}

pub(super) async fn show(ctx: &PageContext, name: &str) -> Result<Page, PageError> {
    let fields = fields(ctx, name).await?;
    let filled = match &fields {
        Some(fields) => FormInput::Fields(form::at_fields(fields)),
        None => FormInput::Json("{\n}".to_owned()),
    };
    let key = host::new_run_id().to_string();
    Ok(page(&StartForm { name, fields, filled, run_id: String::new(), key, problem: None }))
}

async fn fields(ctx: &PageContext, name: &str) -> Result<Option<Vec<FormField>>, PageError> {
    let workflow: WorkflowView = ctx.get(&api(name)).await?;
    Ok(workflow.schema.as_ref().and_then(form::from_schema))
}

pub(super) async fn act(ctx: &PageContext, name: &str) -> Result<FormOutcome, PageError> {
    let fields = fields(ctx, name).await?;
    let as_json = fields.is_none() || ctx.field("as").as_deref() == Some("json");
    let filled = if as_json {
        FormInput::Json(ctx.raw_field("json"))
    } else {
        FormInput::Fields(ctx.all_fields().into_iter().collect())
    };
    let mut starting = StartForm {
        name,
        fields,
        filled,
        run_id: ctx.field("run_id").unwrap_or_default(),
        key: ctx.field("key").unwrap_or_default(),
        problem: None,
    };
    let body = match read(&starting) {
        Ok(body) => body,
        Err(errors) => return Ok(again(starting, wrong(errors))),
    };
    match ctx.field("do").as_deref() {
        Some("to-json") => {
            starting.filled = FormInput::Json(pretty(&body));
            Ok(FormOutcome::Preview(page(&starting)))
        }
        Some("to-fields") => Ok(to_fields(starting, &body)),
        _ => match start(ctx, &starting, &body).await {
            Ok(id) => Ok(FormOutcome::Done {
                to: format!("/ui/runs/{}", encoded(&id)),
                message: format!("Started run {id}."),
            }),
            Err(PageError::Problem(problem)) => Ok(again(starting, *problem)),
            Err(error) => Err(error),
        },
    }
}

fn to_fields(mut starting: StartForm<'_>, body: &Value) -> FormOutcome {
    match starting.fields.as_ref().and_then(|fields| form::fill(fields, body)) {
        Some(texts) => {
            starting.filled = FormInput::Fields(texts);
            FormOutcome::Preview(page(&starting))
        }
        None => {
            let detail = "This JSON does not fit the form: it has a member that the schema does not \
                          describe, or a value of another type. Start the run with the JSON, or change it.";
            again(starting, PageError::Form(detail.to_owned()).problem())
        }
    }
}

fn again(mut starting: StartForm<'_>, problem: Problem) -> FormOutcome {
    starting.problem = Some(problem);
    FormOutcome::Invalid(page(&starting))
}

fn wrong(errors: Vec<FieldError>) -> Problem {
    let detail = "Some fields are invalid; see the messages next to them.".to_owned();
    Problem { errors, ..PageError::Form(detail).problem() }
}

fn read(starting: &StartForm<'_>) -> Result<Value, Vec<FieldError>> {
    match (&starting.filled, &starting.fields) {
        (FormInput::Fields(texts), Some(fields)) => form::read(fields, texts),
        (FormInput::Fields(_), None) => Ok(Value::Null),
        (FormInput::Json(text), _) => serde_json::from_str(text).map_err(|error| {
            let message = format!("not valid JSON: {error}");
            vec![FieldError {
                pointer: Some(String::new()),
                field: None,
                line: u32::try_from(error.line()).ok(),
                message,
            }]
        }),
    }
}

/// Submits the request and returns the id of the run.
async fn start(ctx: &PageContext, starting: &StartForm<'_>, body: &Value) -> Result<String, PageError> {
    #[derive(serde::Deserialize)]
    struct Accepted {
        id: String,
    }
    let runs = format!("{}/runs", api(starting.name));
    let answer = if starting.run_id.is_empty() {
        let headers: Vec<_> =
            (!starting.key.is_empty()).then(|| (IDEMPOTENCY_KEY, starting.key.clone())).into_iter().collect();
        ctx.send_with(Method::POST, &runs, body, &headers).await?
    } else {
        ctx.send(Method::PUT, &format!("{runs}/{}", encoded(&starting.run_id)), body).await?
    };
    let Accepted { id } =
        serde_json::from_value(answer).map_err(|error| PageError::Unreadable(error.to_string()))?;
    Ok(id)
}

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}

fn page(starting: &StartForm<'_>) -> Page {
    let errors = starting.problem.as_ref().map_or(&[][..], |problem| &problem.errors);
    Page::new(&format!("Start a run of {}", starting.name), NavSection::Workflows).part(html! {
        @if let Some(problem) = &starting.problem { (components::problem(problem)) }
        form.card.wide method="post" action={ (address(starting.name)) "/start" } {
            input type="hidden" name="key" value=(starting.key);
            @match (&starting.filled, &starting.fields) {
                (FormInput::Fields(texts), Some(fields)) => {
                    input type="hidden" name="as" value="fields";
                    (form::fields(fields, texts, errors))
                },
                (FormInput::Json(text), _) => (json(text, errors)),
                (FormInput::Fields(_), None) => {},
            }
            (components::field("run_id", "Run id", RUN_ID_HINT, html! {
                input #run_id name="run_id" value=(starting.run_id) autocomplete="off"
                    aria-describedby=[components::described("run_id", RUN_ID_HINT, &[])];
            }))
            (buttons(starting))
        }
    })
}

fn json(text: &str, errors: &[FieldError]) -> Markup {
    html! {
        input type="hidden" name="as" value="json";
        div.field {
            label for="json" { "Request as JSON" }
            textarea #json name="json" rows=(text.lines().count().clamp(10, 30)) spellcheck="false"
                aria-invalid=[(!errors.is_empty()).then_some("true")] { "\n" (text) }
        }
    }
}

fn buttons(starting: &StartForm<'_>) -> Markup {
    html! {
        div.actions {
            button.primary type="submit" name="do" value="start" { "Start run" }
            @match (&starting.filled, &starting.fields) {
                (FormInput::Fields(_), _) => { button type="submit" name="do" value="to-json" { "Edit as JSON" } },
                (FormInput::Json(_), Some(_)) => { button type="submit" name="do" value="to-fields" { "Edit as form" } },
                (FormInput::Json(_), None) => {},
            }
            a.button href=(address(starting.name)) { "Back" }
        }
    }
}
