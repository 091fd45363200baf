//! Writing a definition: checked beside the text, and applied so that nobody's change is overwritten unseen.

use api_types::{AppliedView, Problem, WorkflowView};
use http::header::IF_MATCH;
use http::{Method, StatusCode};
use maud::{Markup, html};

use super::versions::difference;
use super::{FormOutcome, NEW, address, api};
use crate::page::{NavSection, Page};
use crate::pieces;
use crate::trouble::PageError;
use crate::visit::Visit;

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

/// The form as it stands.
struct WorkflowEditor<'a> {
    /// None for a workflow that is not there yet.
    name: Option<&'a str>,
    /// The version that the text replaces; 0 where there is none.
    version: u32,
    source: String,
    said: CheckResult,
}

enum CheckResult {
    Nothing,
    Fits,
    Wrong(Box<Problem>),
    /// Somebody was faster: what they applied.
    Overtaken(String),
}

pub(super) fn new_page() -> Page {
    page(&WorkflowEditor { name: None, version: 0, source: TEMPLATE.to_owned(), said: CheckResult::Nothing })
}

pub(super) async fn show(visit: &Visit, name: &str) -> Result<Page, PageError> {
    let workflow: WorkflowView = visit.get(&api(name)).await?;
    let source = workflow.source.unwrap_or_default();
    Ok(page(&WorkflowEditor {
        name: Some(name),
        version: workflow.version,
        source,
        said: CheckResult::Nothing,
    }))
}

pub(super) async fn act(visit: &Visit, name: Option<&str>) -> Result<FormOutcome, PageError> {
    let source = visit.raw_field("source");
    let version = visit.field("version").and_then(|text| text.parse().ok()).unwrap_or(0);
    let mut writing = WorkflowEditor { name, version, source, said: CheckResult::Nothing };
    let checked = match check(visit, &writing).await {
        Ok(checked) => checked,
        Err(PageError::Problem(problem)) => return Ok(again(writing, CheckResult::Wrong(problem))),
        Err(trouble) => return Err(trouble),
    };
    if visit.field("do").as_deref() != Some("apply") {
        writing.said = CheckResult::Fits;
        return Ok(FormOutcome::Preview(page(&writing)));
    }
    match apply(visit, &writing).await {
        Ok(applied) => {
            let said = match applied.changed {
                true => format!("Version {} of {checked} is in force.", applied.version),
                false => format!("Nothing changed: version {} has this text.", applied.version),
            };
            Ok(FormOutcome::Done { to: address(&checked), message: said })
        }
        Err(PageError::Problem(problem)) if problem.status == StatusCode::PRECONDITION_FAILED => {
            let present: Option<WorkflowView> = visit.find(&api(&checked)).await?;
            writing.version = present.as_ref().map_or(0, |present| present.version);
            let theirs = present.and_then(|present| present.source).unwrap_or_default();
            Ok(again(writing, CheckResult::Overtaken(theirs)))
        }
        Err(PageError::Problem(problem)) => Ok(again(writing, CheckResult::Wrong(problem))),
        Err(trouble) => Err(trouble),
    }
}

fn again(mut writing: WorkflowEditor<'_>, said: CheckResult) -> FormOutcome {
    writing.said = said;
    FormOutcome::Invalid(page(&writing))
}

/// The name in the text, when the text is a workflow and the one that is edited.
async fn check(visit: &Visit, writing: &WorkflowEditor<'_>) -> Result<String, PageError> {
    #[derive(serde::Deserialize)]
    struct Checked {
        name: String,
    }
    let body = writing.source.clone().into();
    let answer = visit.call(Method::POST, "/v1/workflows:check", body, "text/plain").await?;
    let Checked { name } =
        serde_json::from_slice(&answer).map_err(|error| PageError::Unreadable(error.to_string()))?;
    match writing.name {
        Some(edited) if edited != name => {
            let detail = format!(
                "name: this page edits {edited}, and the text is called {name}. Write {edited} here, or make {name} \
                 with “New workflow”."
            );
            Err(PageError::Problem(Box::new(PageError::Form(detail).problem())))
        }
        _ => Ok(name),
    }
}

async fn apply(visit: &Visit, writing: &WorkflowEditor<'_>) -> Result<AppliedView, PageError> {
    let only_if = [(IF_MATCH, format!("\"{}\"", writing.version))];
    let body = writing.source.clone().into();
    let answer = visit.ask(Method::POST, "/v1/workflows", body, "text/plain", &only_if).await?;
    serde_json::from_slice(answer.body()).map_err(|error| PageError::Unreadable(error.to_string()))
}

fn page(writing: &WorkflowEditor<'_>) -> Page {
    let title = writing.name.map_or("New workflow".to_owned(), |name| format!("Edit {name}"));
    let back = writing.name.map_or("/ui/workflows".to_owned(), address);
    let rows = writing.source.lines().count().clamp(18, 40);
    Page::new(&title, NavSection::Workflows).part(html! {
        (said(writing))
        form method="post" action=(action(writing.name)) {
            input type="hidden" name="version" value=(writing.version);
            div.field {
                label for="source" { "Definition" }
                textarea #source name="source" rows=(rows) spellcheck="false" wrap="off" autocapitalize="off"
                    aria-invalid=[matches!(writing.said, CheckResult::Wrong(_)).then_some("true")] {
                    // The first line break of a textarea is not part of its text.
                    "\n" (writing.source)
                }
                small { "YAML or JSON; " a href="/docs/reference/workflow" { "what a workflow may say" } "." }
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
    match (&writing.said, writing.version) {
        (CheckResult::Overtaken(_), version) if version > 0 => format!("Apply over version {version}"),
        _ => "Apply".to_owned(),
    }
}

fn said(writing: &WorkflowEditor<'_>) -> Markup {
    match &writing.said {
        CheckResult::Nothing => html! {},
        CheckResult::Fits => {
            html! { div.fine role="status" { strong { "This is a workflow." } " Nothing has been applied yet." } }
        }
        CheckResult::Wrong(problem) => html! { (pieces::problem(problem)) (lines(problem, &writing.source)) },
        CheckResult::Overtaken(theirs) => html! {
            div.problem role="alert" {
                strong { "Somebody has changed it meanwhile" }
                @if writing.version > 0 {
                    p { "Version " (writing.version) " is in force now. Below is how your text differs from it. Take over what you want to keep; applying replaces it." }
                } @else {
                    p { "It has been deleted. Applying makes it anew." }
                }
            }
            (difference(theirs, &writing.source))
        },
    }
}

/// The lines that the problem names, as they were typed.
fn lines(problem: &Problem, source: &str) -> Markup {
    let named = problem.errors.iter().filter_map(|error| {
        let line = error.line?;
        Some((line, source.lines().nth(line.checked_sub(1)? as usize)?))
    });
    let mut named: Vec<(u32, &str)> = named.collect();
    named.dedup();
    html! {
        @if !named.is_empty() {
            pre.lines tabindex="0" aria-label="The lines that are named" {
                @for (number, line) in named { (format!("{number:>4}  ")) (line) "\n" }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use api_types::FieldError;

    use super::*;

    fn shown(said: CheckResult) -> String {
        let source = "name: x\nsteps:\n  a: {}</textarea><script>alert(1)</script>\n".to_owned();
        page(&WorkflowEditor { name: Some("x"), version: 4, source, said }).content().into_string()
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
        assert!(html.contains("Apply over version 4"), "{html}");
        assert!(html.contains("b: {}"), "{html}");
    }
}
