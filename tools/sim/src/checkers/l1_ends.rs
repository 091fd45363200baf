//! L1: when the faults are over, every acknowledged request ends.

use std::collections::BTreeSet;

use types::RunId;

use super::{Accusations, Audit, Checker};
use crate::sighting::Sighting;

#[derive(Default)]
pub struct Ends {
    acked: BTreeSet<RunId>,
}

impl Checker for Ends {
    fn id(&self) -> &'static str {
        "L1"
    }

    fn see(&mut self, sighting: &Sighting, _accusations: &mut Accusations<'_>) {
        if let Sighting::Acked { id, .. } = sighting {
            self.acked.insert(id.clone());
        }
    }

    fn audit(&self, audit: &Audit<'_>, accusations: &mut Accusations<'_>) {
        for id in &self.acked {
            match audit.run(id) {
                Some(run) if run.status().is_final() => {}
                Some(run) => accusations.accuse(format!("{id} is {} and moves no more", run.status())),
                None => accusations.accuse(format!("{id} never became a run")),
            }
        }
    }
}
