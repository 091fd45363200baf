//! The workflow editor: checks the definition, and applies it without overwriting a concurrent change unnoticed.

use api_types::{AppliedView, Problem, WorkflowView};
use http::header::IF_MATCH;
use http::{Method, StatusCode};
use maud::{Markup, html};

use super::versions::difference;
use super::{FormOutcome, NEW, address, api};
use crate::components;
use crate::context::PageContext;
use crate::error::PageError;
use crate::page::{NavSection, Page};

const TEMPLATE: &str = r#"# What this workflow does, for people.
name: my-workflow
accept:
  id: .orderId                     # the run's id, out of the request
  schema:                          # requests that do not fit are refused
    type: object
    required: [orderId]
    properties:
      orderId: { type: string, minLength: 1 }

services:
  stock: { url: "http://127.0.0.1:9000", timeout: 5s }

steps:
  reserve:
    call: { service: stock, method: PUT, path: "/reservations/${.run.id}", body: { order: .request.orderId } }
    undo: { service: stock, method: DELETE, path: "/reservations/${.run.id}" }

  ship:
    after: [reserve]
    call: { service: stock, method: PUT, path: "/shipments/${.run.id}" }
    pivot: true                    # from here on a run only goes forward

retry: { type: exponential, first: 500ms, factor: 2, max: 60s, attempts: 5 }
"#;

/// The current state of the editor.
struct WorkflowEditor<'a> {
    /// None for a new workflow.
    name: Option<&'a str>,
    /// The version that the text replaces; 0 if there is none.
    version: u32,
    source: String,
    check: CheckResult,
}

enum CheckResult {
    Nothing,
    Fits,
    Wrong(Box<Problem>),
    /// After a concurrent change: the definition that was applied.
    Overtaken(String),
}

pub(super) fn new_page() -> Page {
    page(&WorkflowEditor { name: None, version: 0, source: TEMPLATE.to_owned(), check: CheckResult::Nothing })
}

pub(super) async fn show(ctx: &PageContext, name: &str) -> Result<Page, PageError> {
    let workflow: WorkflowView = ctx.get(&api(name)).await?;
    let source = workflow.source.unwrap_or_default();
    Ok(page(&WorkflowEditor {
        name: Some(name),
        version: workflow.version,
        source,
        check: CheckResult::Nothing,
    }))
}

pub(super) async fn act(ctx: &PageContext, name: Option<&str>) -> Result<FormOutcome, PageError> {
    let source = ctx.raw_field("source");
    let version = ctx.field("version").and_then(|text| text.parse().ok()).unwrap_or(0);
    let mut writing = WorkflowEditor { name, version, source, check: CheckResult::Nothing };
    let checked = match check(ctx, &writing).await {
        Ok(checked) => checked,
        Err(PageError::Problem(problem)) => return Ok(again(writing, CheckResult::Wrong(problem))),
        Err(error) => return Err(error),
    };
    if ctx.field("do").as_deref() != Some("apply") {
        writing.check = CheckResult::Fits;
        return Ok(FormOutcome::Preview(page(&writing)));
    }
    match apply(ctx, &writing).await {
        Ok(applied) => {
            let message = match applied.changed {
                true => format!("Version {} of {checked} is active.", applied.version),
                false => format!("No change: version {} has the same text.", applied.version),
            };
            Ok(FormOutcome::Done { to: address(&checked), message })
        }
        Err(PageError::Problem(problem)) if problem.status == StatusCode::PRECONDITION_FAILED => {
            let present: Option<WorkflowView> = ctx.find(&api(&checked)).await?;
            writing.version = present.as_ref().map_or(0, |present| present.version);
            let theirs = present.and_then(|present| present.source).unwrap_or_default();
            Ok(again(writing, CheckResult::Overtaken(theirs)))
        }
        Err(PageError::Problem(problem)) => Ok(again(writing, CheckResult::Wrong(problem))),
        Err(error) => Err(error),
    }
}

fn again(mut writing: WorkflowEditor<'_>, check: CheckResult) -> FormOutcome {
    writing.check = check;
    FormOutcome::Invalid(page(&writing))
}

/// The name in the text, if the text is valid and the name is that of the edited workflow.
async fn check(ctx: &PageContext, writing: &WorkflowEditor<'_>) -> Result<String, PageError> {
    #[derive(serde::Deserialize)]
    struct Checked {
        name: String,
    }
    let body = writing.source.clone().into();
    let answer = ctx.call(Method::POST, "/v1/workflows:check", body, "text/plain").await?;
    let Checked { name } =
        serde_json::from_slice(&answer).map_err(|error| PageError::Unreadable(error.to_string()))?;
    match writing.name {
        Some(edited) if edited != name => {
            let detail = format!(
                "name: this page edits {edited}, but the definition is named {name}. Change the name, or create {name} \
                 with “New workflow”."
            );
            Err(PageError::Problem(Box::new(PageError::Form(detail).problem())))
        }
        _ => Ok(name),
    }
}

async fn apply(ctx: &PageContext, writing: &WorkflowEditor<'_>) -> Result<AppliedView, PageError> {
    let only_if = [(IF_MATCH, format!("\"{}\"", writing.version))];
    let body = writing.source.clone().into();
    let answer = ctx.request(Method::POST, "/v1/workflows", body, "text/plain", &only_if).await?;
    serde_json::from_slice(answer.body()).map_err(|error| PageError::Unreadable(error.to_string()))
}

fn page(writing: &WorkflowEditor<'_>) -> Page {
    let title = writing.name.map_or("New workflow".to_owned(), |name| format!("Edit {name}"));
    let back = writing.name.map_or("/ui/workflows".to_owned(), address);
    let rows = writing.source.lines().count().clamp(18, 40);
    Page::new(&title, NavSection::Workflows).part(html! {
        (message(writing))
        form method="post" action=(action(writing.name)) {
            input type="hidden" name="version" value=(writing.version);
            div.field {
                label for="source" { "Definition" }
                textarea #source name="source" rows=(rows) spellcheck="false" wrap="off" autocapitalize="off"
                    aria-invalid=[matches!(writing.check, CheckResult::Wrong(_)).then_some("true")] {
                    // The first line break of a textarea is not part of its text.
                    "\n" (writing.source)
                }
                small { "YAML or JSON; see the " a href="/docs/reference/workflow" { "workflow reference" } "." }
            }
            div.actions {
                button type="submit" name="do" value="check" { "Check" }
                button.primary type="submit" name="do" value="apply" { (apply_text(writing)) }
                a.button href=(back) { "Back" }
            }
        }
    })
}

fn action(name: Option<&str>) -> String {
    name.map_or(format!("/ui/workflows/{NEW}"), |name| format!("{}/edit", address(name)))
}

fn apply_text(writing: &WorkflowEditor<'_>) -> String {
    match (&writing.check, writing.version) {
        (CheckResult::Overtaken(_), version) if version > 0 => format!("Overwrite version {version}"),
        _ => "Apply".to_owned(),
    }
}

fn message(writing: &WorkflowEditor<'_>) -> Markup {
    match &writing.check {
        CheckResult::Nothing => html! {},
        CheckResult::Fits => {
            html! { div.fine role="status" { strong { "The definition is valid." } " It has not been applied yet." } }
        }
        CheckResult::Wrong(problem) => {
            html! { (components::problem(problem)) (lines(problem, &writing.source)) }
        }
        CheckResult::Overtaken(theirs) => html! {
            div.problem role="alert" {
                strong { "Changed by someone else" }
                @if writing.version > 0 {
                    p { "Version " (writing.version) " is active now. The difference from your text is below. Copy what you want to keep; applying overwrites that version." }
                } @else {
                    p { "The workflow was deleted. Applying creates it again." }
                }
            }
            (difference(theirs, &writing.source))
        },
    }
}

/// The lines that the problem refers to.
fn lines(problem: &Problem, source: &str) -> Markup {
    let named = problem.errors.iter().filter_map(|error| {
        let line = error.line?;
        Some((line, source.lines().nth(line.checked_sub(1)? as usize)?))
    });
    let mut named: Vec<(u32, &str)> = named.collect();
    named.dedup();
    html! {
        @if !named.is_empty() {
            pre.lines tabindex="0" aria-label="Lines with errors" {
                @for (number, line) in named { (format!("{number:>4}  ")) (line) "\n" }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use api_types::FieldError;

    use super::*;

    fn shown(check: CheckResult) -> String {
        let source = "name: x\nsteps:\n  a: {}</textarea><script>alert(1)</script>\n".to_owned();
        page(&WorkflowEditor { name: Some("x"), version: 4, source, check }).content().into_string()
    }

    #[test]
    fn nothing_typed_is_lost_and_the_line_is_shown() {
        let error = FieldError {
            pointer: None,
            field: Some("steps.a.call".to_owned()),
            line: Some(3),
            message: "the field is missing".to_owned(),
        };
        let problem = Problem { errors: vec![error], ..PageError::NotFound.problem() };
        let html = shown(CheckResult::Wrong(Box::new(problem)));
        assert!(html.contains("line 3") && html.contains("   3    a: {}"), "{html}");
        assert!(html.contains("name=\"version\" value=\"4\""), "{html}");
        assert!(!html.contains("<script>"), "{html}");
    }

    #[test]
    fn a_change_of_somebody_else_is_shown_before_it_is_replaced() {
        let html = shown(CheckResult::Overtaken("name: x\nsteps:\n  b: {}\n".to_owned()));
        assert!(html.contains("Overwrite version 4"), "{html}");
        assert!(html.contains("b: {}"), "{html}");
    }
}
