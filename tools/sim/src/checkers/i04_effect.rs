//! I4: a step has at most one effect, however often it is called.

use std::collections::BTreeMap;

use super::{Checker, Violations};
use crate::observation::{Observation, StepKey};

#[derive(Default)]
pub struct OneEffect {
    effects: BTreeMap<StepKey, u32>,
}

impl Checker for OneEffect {
    fn id(&self) -> &'static str {
        "I4"
    }

    fn observe(&mut self, observation: &Observation, violations: &mut Violations<'_>) {
        let Observation::Reached { run, work, effect: true, .. } = observation else { return };
        let Some(step) = work.step() else { return };
        let effects = self.effects.entry((run.clone(), step)).or_default();
        *effects += 1;
        if *effects > 1 {
            violations.add_violation(format!("{run} step {} has {effects} effects", step.0));
        }
    }
}
