//! Decisions on parked runs: sending one, and saying which there are.

use api_types::{DecisionRequest, RunDetail};
use types::RunStatus;

use crate::client::{self, Call};
use crate::names::NameKind;
use crate::run::{RunState, say};
use crate::session::Session;

/// Sends a decision and says how the run stands after it.
pub async fn send(mut session: Session, id: &str, request: &DecisionRequest) -> anyhow::Result<()> {
    let path = client::path("/v1/runs/{}/decide", &[id]);
    let call = Call::post(path, "application/json", serde_json::to_vec(request)?);
    let answer = session.find(call, NameKind::Run, id).await?;
    session.show(&answer, || Ok(describe("the decision is noted", &answer.value()?, &session.program())))
}

/// What was noted, and how the run stands.
pub fn describe(noted: &str, run: &RunState, program: &str) -> String {
    let (id, status) = (&run.id, run.status);
    let next = if status.is_final() { "see it" } else { "follow it" };
    let verb = if status.is_final() { "show" } else { "wait" };
    format!("{noted}; run {id} is {}\n{next} with: {program} run {verb} {id}\n", say(status))
}

/// The commands by which a person can decide on a parked run, each with what it does.
pub fn ways_out(run: &RunDetail, program: &str) -> Vec<(String, String)> {
    if run.summary.status != RunStatus::Parked {
        return Vec::new();
    }
    let id = &run.summary.id;
    let mut ways = vec![(format!("{program} run retry {id}"), "try again what failed".to_owned())];
    for step in &run.open_steps {
        let resolve = format!("{program} run resolve {id} --step {step}");
        ways.push((format!("{resolve} --by-hand --note \"…\""), format!("{step} was done by hand")));
        ways.push((format!("{resolve} --skip --note \"…\""), format!("go on without {step}")));
    }
    ways.push((format!("{program} run give-up {id} --note \"…\""), "end it, leave all as it is".to_owned()));
    ways
}
