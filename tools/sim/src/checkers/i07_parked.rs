//! I7: a parked run is listed, says why, and names what is to be decided.

use types::RunStatus;

use super::{Audit, Checker, Violations};

pub struct Parked;

impl Checker for Parked {
    fn id(&self) -> &'static str {
        "I7"
    }

    fn audit(&self, audit: &Audit<'_>, violations: &mut Violations<'_>) {
        for run in audit.states.values().flat_map(|state| state.runs()) {
            let parked = run.status() == RunStatus::Parked;
            if parked && (run.open_steps().is_empty() || run.reason().is_none_or(|reason| reason.is_empty()))
            {
                violations.add_violation(format!("{} is parked with nothing to decide", run.request.id));
            }
        }
    }
}
