//! I4: a step has at most one effect, however often it is called.

use std::collections::BTreeMap;

use super::{Accusations, Checker};
use crate::sighting::{Place, Sighting};

#[derive(Default)]
pub struct OneEffect {
    effects: BTreeMap<Place, u32>,
}

impl Checker for OneEffect {
    fn id(&self) -> &'static str {
        "I4"
    }

    fn see(&mut self, sighting: &Sighting, accusations: &mut Accusations<'_>) {
        let Sighting::Reached { run, work, effect: true, .. } = sighting else { return };
        let Some(step) = work.step() else { return };
        let effects = self.effects.entry((run.clone(), step)).or_default();
        *effects += 1;
        if *effects > 1 {
            accusations.accuse(format!("{run} step {} has {effects} effects", step.0));
        }
    }
}
