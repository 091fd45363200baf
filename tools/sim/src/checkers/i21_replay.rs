//! I21: the state that the engine has, after snapshots and crashes, is the one that the whole history makes; what
//! has ended is in the view, as it ended.

use types::RunId;

use super::{Audit, Checker, Violations};

pub struct Replay;

impl Checker for Replay {
    fn id(&self) -> &'static str {
        "I21"
    }

    fn audit(&self, audit: &Audit<'_>, violations: &mut Violations<'_>) {
        for (partition, state) in audit.states {
            if audit.history.state(*partition).is_some_and(|replayed| replayed != state) {
                violations
                    .add_violation(format!("partition {partition} is in another state than its history"));
            }
        }
        for run in audit.history.ended() {
            let id: &RunId = &run.request.id;
            match audit.archived.get(id) {
                None => violations.add_violation(format!("{id} has ended and the view does not have it")),
                Some(status) if *status != run.status() => {
                    violations.add_violation(format!("{id} is {}, the view says {status}", run.status()));
                }
                Some(_) => {}
            }
        }
    }
}
