//! L1: when the faults are over, every acknowledged request ends.

use std::collections::BTreeSet;

use types::RunId;

use super::{Audit, Checker, Violations};
use crate::observation::Observation;

#[derive(Default)]
pub struct Ends {
    acked: BTreeSet<RunId>,
}

impl Checker for Ends {
    fn id(&self) -> &'static str {
        "L1"
    }

    fn observe(&mut self, observation: &Observation, _accusations: &mut Violations<'_>) {
        if let Observation::Acked { id, .. } = observation {
            self.acked.insert(id.clone());
        }
    }

    fn audit(&self, audit: &Audit<'_>, violations: &mut Violations<'_>) {
        for id in &self.acked {
            match audit.run(id) {
                Some(run) if run.status().is_final() => {}
                Some(run) => violations.add_violation(format!("{id} is {} and moves no more", run.status())),
                None => violations.add_violation(format!("{id} never became a run")),
            }
        }
    }
}
