//! Decisions on parked runs: sending one, and listing the possible ones.

use api_types::{DecisionRequest, RunDetail};
use types::RunStatus;

use crate::client::{self, Call};
use crate::names::NameKind;
use crate::run::{RunState, say};
use crate::session::Session;

/// Sends a decision and reports the state of the run.
pub async fn send(mut session: Session, id: &str, request: &DecisionRequest) -> anyhow::Result<()> {
    let path = client::path("/v1/runs/{}/decide", &[id]);
    let call = Call::post(path, "application/json", serde_json::to_vec(request)?);
    let answer = session.find(call, NameKind::Run, id).await?;
    session.show(&answer, || Ok(describe("decision recorded", &answer.value()?, &session.program())))
}

/// The message, and the state of the run.
pub fn describe(noted: &str, run: &RunState, program: &str) -> String {
    let (id, status) = (&run.id, run.status);
    let next = if status.is_final() { "see it" } else { "follow it" };
    let verb = if status.is_final() { "show" } else { "wait" };
    format!("{noted}; run {id} is {}\n{next} with: {program} run {verb} {id}\n", say(status))
}

/// The commands that resolve a parked run, each with its effect.
pub fn decision_commands(run: &RunDetail, program: &str) -> Vec<(String, String)> {
    if run.summary.status != RunStatus::Parked {
        return Vec::new();
    }
    let id = &run.summary.id;
    let mut commands = vec![(format!("{program} run retry {id}"), "retry what failed".to_owned())];
    for step in &run.open_steps {
        let is_undo = run.steps.iter().any(|view| view.name == *step && view.state == "undo_failed");
        let what = if is_undo { format!("the undo of {step}") } else { step.clone() };
        let resolve = format!("{program} run resolve {id} --step {step}");
        commands.push((format!("{resolve} --by-hand --note \"…\""), format!("{what} was done manually")));
        commands.push((format!("{resolve} --skip --note \"…\""), format!("skip {what}")));
    }
    commands
        .push((format!("{program} run give-up {id} --note \"…\""), "end it in its current state".to_owned()));
    commands
}
