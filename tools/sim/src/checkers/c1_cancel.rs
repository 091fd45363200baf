//! C1: a run whose cancel was granted is never completed.

use std::collections::BTreeSet;

use types::{RunId, RunStatus};

use super::{Audit, Checker, Violations};
use crate::observation::Observation;

#[derive(Default)]
pub struct Cancel {
    granted: BTreeSet<RunId>,
}

impl Checker for Cancel {
    fn id(&self) -> &'static str {
        "C1"
    }

    fn observe(&mut self, observation: &Observation, _accusations: &mut Violations<'_>) {
        if let Observation::CancelGranted { id } = observation {
            self.granted.insert(id.clone());
        }
    }

    fn audit(&self, audit: &Audit<'_>, violations: &mut Violations<'_>) {
        for id in &self.granted {
            if audit.run(id).is_some_and(|run| run.status() == RunStatus::Completed) {
                violations.add_violation(format!("the cancel of {id} was granted, and it completed"));
            }
        }
    }
}
