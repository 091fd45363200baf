//! C1: a run whose cancel was granted is never completed.

use std::collections::BTreeSet;

use types::{RunId, RunStatus};

use super::{Accusations, Audit, Checker};
use crate::sighting::Sighting;

#[derive(Default)]
pub struct Cancel {
    granted: BTreeSet<RunId>,
}

impl Checker for Cancel {
    fn id(&self) -> &'static str {
        "C1"
    }

    fn see(&mut self, sighting: &Sighting, _accusations: &mut Accusations<'_>) {
        if let Sighting::CancelGranted { id } = sighting {
            self.granted.insert(id.clone());
        }
    }

    fn audit(&self, audit: &Audit<'_>, accusations: &mut Accusations<'_>) {
        for id in &self.granted {
            if audit.run(id).is_some_and(|run| run.status() == RunStatus::Completed) {
                accusations.accuse(format!("the cancel of {id} was granted, and it completed"));
            }
        }
    }
}
