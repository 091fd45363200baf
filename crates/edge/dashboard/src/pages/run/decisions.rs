//! Decisions on a parked run: the forms, and submitting them.

use api_types::{DecisionKind, DecisionRequest, Problem, RunDetail, StepView};
use http::Method;
use maud::{Markup, html};
use serde_json::value::RawValue;

use super::{pretty, run_path};
use crate::components;
use crate::context::{PageContext, encoded};
use crate::error::PageError;

/// The values of a submitted form, and what is wrong with it.
#[derive(Default)]
pub(crate) struct DecisionForm {
    /// The run, because a page may have the forms of several runs.
    pub run: String,
    step: String,
    note: String,
    output: String,
    action: String,
    pub problem: Option<Problem>,
}

/// The decisions, in the order of their buttons.
const DECISIONS: [(DecisionKind, &str); 6] = [
    (DecisionKind::Retry, "Retry"),
    (DecisionKind::RetryFrom, "Retry from here"),
    (DecisionKind::Skip, "Skip"),
    (DecisionKind::ByHand, "Mark as done manually"),
    (DecisionKind::Instead, "Call something else"),
    (DecisionKind::GiveUp, "Give up"),
];

const NOTE_HINT: &str = "Stored in the timeline.";
const STEP_NOTE_HINT: &str = "Stored in the timeline. Required except for “Retry”.";
const OUTPUT_HINT: &str = "For “Mark as done manually”: the JSON output for later steps.";
const ACTION_HINT: &str = "For “Call something else”: an action as in a workflow, as JSON.";

/// A form for each unresolved step, one to go back to an earlier step, and one to give up. `back` names the list to
/// return to; without it, the user returns to the run.
pub(crate) fn forms(run: &RunDetail, back: Option<&str>, typed: Option<&DecisionForm>) -> Markup {
    let is_back = run.steps.iter().any(|step| is_open(run, step) && step.state == "undo_failed");
    let typed = typed.filter(|typed| typed.run == run.summary.id);
    html! {
        div.decisions {
            @for step in run.steps.iter().filter(|step| is_open(run, step)) {
                (step_form(run, step, is_back, back, typed.filter(|typed| typed.step == step.name)))
            }
            @if !is_back { (from_form(run, back, typed.filter(|typed| is_earlier(run, &typed.step)))) }
            (give_up_form(run, back, typed.filter(|typed| typed.step.is_empty())))
        }
    }
}

fn is_open(run: &RunDetail, step: &StepView) -> bool {
    run.open_steps.contains(&step.name)
}

/// Whether a step is done, so that the run can go back to it.
fn is_earlier(run: &RunDetail, name: &str) -> bool {
    run.steps.iter().any(|step| step.name == name && step.state == "done" && !is_open(run, step))
}

fn step_form(
    run: &RunDetail,
    step: &StepView,
    is_back: bool,
    back: Option<&str>,
    typed: Option<&DecisionForm>,
) -> Markup {
    let (id, name) = (&run.summary.id, &step.name);
    let value = |field: fn(&DecisionForm) -> &String| typed.map(field).cloned().unwrap_or_default();
    let opened = typed.is_some_and(|typed| !typed.output.is_empty() || !typed.action.is_empty());
    let control = |what: &str| format!("{what}-{id}-{name}");
    html! {
        form.card method="post" action={ (run_path(id)) "/decide" } {
            (back_field(back))
            h3 { @if is_back { "Undo of step " } @else { "Step " } span.id { (name) } " " (components::badge(&step.state)) }
            @if let Some(reason) = &step.reason { p.quiet { (reason) } }
            input type="hidden" name="step" value=(name);
            // Enter in a field submits with the first button: a disabled one, so that no decision is made by accident.
            button type="submit" disabled hidden {}
            (components::field(&control("note"), "Note", STEP_NOTE_HINT, html! {
                input id=(control("note")) name="note" value=(value(|typed| &typed.note)) autocomplete="off"
                    aria-describedby=[components::described(&control("note"), STEP_NOTE_HINT, &[])];
            }))
            details id=(control("more")) open[opened] {
                summary { "Output or replacement call" }
                @if !is_back {
                    (components::field(&control("output"), "Output", OUTPUT_HINT, html! {
                        textarea id=(control("output")) name="output" rows="3" spellcheck="false"
                            aria-describedby=[components::described(&control("output"), OUTPUT_HINT, &[])] { (value(|typed| &typed.output)) }
                    }))
                }
                (components::field(&control("action"), "Action", ACTION_HINT, html! {
                    textarea id=(control("action")) name="action" rows="4" spellcheck="false"
                        aria-describedby=[components::described(&control("action"), ACTION_HINT, &[])]
                        placeholder="{ \"type\": \"http\", \"method\": \"POST\", \"url\": \"https://…\" }" { (value(|typed| &typed.action)) }
                }))
            }
            div.actions {
                @for (kind, text) in DECISIONS {
                    @if is_of_step(kind, is_back) {
                        button type="submit" name="decision" value=(kind.name()) class=[(kind == DecisionKind::Retry).then_some("primary")] {
                            (text)
                        }
                    }
                }
            }
        }
    }
}

fn is_of_step(kind: DecisionKind, is_back: bool) -> bool {
    match kind {
        DecisionKind::Retry | DecisionKind::Skip | DecisionKind::ByHand | DecisionKind::Instead => true,
        DecisionKind::RetryFrom => !is_back,
        DecisionKind::GiveUp => false,
    }
}

/// Back to an earlier step: it and all steps that depend on it run again.
fn from_form(run: &RunDetail, back: Option<&str>, typed: Option<&DecisionForm>) -> Markup {
    let id = &run.summary.id;
    let done: Vec<&StepView> = run.steps.iter().filter(|step| is_earlier(run, &step.name)).collect();
    let is_chosen = |step: &StepView| typed.is_some_and(|typed| typed.step == step.name);
    let control = |what: &str| format!("{what}-{id}");
    html! {
        @if !done.is_empty() {
            form.card method="post" action={ (run_path(id)) "/decide" } {
                (back_field(back))
                h3 { "Go back to an earlier step" }
                p.quiet { "The step runs again, and every step that depends on it." }
                (components::field(&control("from-step"), "Step", "", html! {
                    select id=(control("from-step")) name="step" {
                        @for step in done { option value=(step.name) selected[is_chosen(step)] { (step.name) } }
                    }
                }))
                (components::field(&control("from-note"), "Note", NOTE_HINT, html! {
                    input id=(control("from-note")) name="note" required autocomplete="off" value=[typed.map(|typed| &typed.note)]
                        aria-describedby=[components::described(&control("from-note"), NOTE_HINT, &[])];
                }))
                div.actions { button type="submit" name="decision" value="retry_from" { "Retry from here" } }
            }
        }
    }
}

fn give_up_form(run: &RunDetail, back: Option<&str>, typed: Option<&DecisionForm>) -> Markup {
    let id = &run.summary.id;
    let control = format!("give-up-note-{id}");
    let question =
        format!("Give up run {id}? It ends in its current state: nothing more is tried or undone.");
    html! {
        form.card method="post" action={ (run_path(id)) "/decide" } data-question=(question) {
            (back_field(back))
            h3 { "Give up" }
            p.quiet { "The run ends in its current state. Nothing more is tried or undone." }
            (components::field(&control, "Note", NOTE_HINT, html! {
                input id=(control) name="note" required autocomplete="off" value=[typed.map(|typed| &typed.note)]
                    aria-describedby=[components::described(&control, NOTE_HINT, &[])];
            }))
            div.actions { button.danger type="submit" name="decision" value="give_up" { "Give up" } }
        }
    }
}

fn back_field(back: Option<&str>) -> Markup {
    html! { @if let Some(back) = back { input type="hidden" name="back" value=(back); } }
}

/// Submits the decision; returns the message, or the form with what is wrong.
pub(crate) async fn decide(ctx: &PageContext, id: &str) -> Result<Result<String, DecisionForm>, PageError> {
    let field = |name: &str| ctx.field(name).unwrap_or_default();
    let typed = DecisionForm {
        run: id.to_owned(),
        step: field("step"),
        note: field("note"),
        output: field("output"),
        action: field("action"),
        problem: None,
    };
    let word = ctx.required_field("decision")?;
    let sent = match request(&word, &typed) {
        Ok((request, said)) => {
            let path = format!("/v1/runs/{}/decide", encoded(id));
            ctx.send(Method::POST, &path, &request).await.map(|_| said)
        }
        Err(why) => Err(PageError::Form(why)),
    };
    match sent {
        Ok(said) => Ok(Ok(said)),
        Err(error @ (PageError::Form(_) | PageError::Problem(_))) => {
            Ok(Err(DecisionForm { problem: Some(error.problem()), ..typed }))
        }
        Err(error) => Err(error),
    }
}

/// The decision for the API and the message to show, or what is wrong with the form.
fn request(word: &str, typed: &DecisionForm) -> Result<(DecisionRequest, String), String> {
    let found = DECISIONS.iter().find(|(kind, _)| kind.name() == word);
    let (decision, text) = *found.ok_or_else(|| format!("decision: unknown decision '{word}'"))?;
    if typed.note.is_empty() && decision.needs_note() {
        return Err("note: required; it is stored in the timeline of the run".to_owned());
    }
    let json = |name: &str, text: &str| -> Result<Box<RawValue>, String> {
        serde_json::from_str::<&RawValue>(text)
            .map(ToOwned::to_owned)
            .map_err(|error| format!("{name}: not valid JSON: {error}"))
    };
    let output = match decision {
        DecisionKind::ByHand if !typed.output.is_empty() => Some(json("output", &typed.output)?),
        _ => None,
    };
    let action = match decision {
        DecisionKind::Instead if typed.action.is_empty() => {
            return Err("action: required, as JSON".to_owned());
        }
        DecisionKind::Instead => Some(json("action", &typed.action)?),
        _ => None,
    };
    let step = Some(typed.step.clone()).filter(|step| !step.is_empty());
    let said = match &step {
        Some(step) => format!("{text}: {step}."),
        None => format!("{text}."),
    };
    Ok((DecisionRequest { decision, step, output, action, note: typed.note.clone() }, said))
}

/// The output of a step, indented.
pub(super) fn output(step: &StepView) -> Option<String> {
    step.output.as_ref().map(|output| pretty(output.get()))
}
