//! The audit: what the ledgers say about the promises of a client system.

use std::collections::{BTreeMap, BTreeSet};

use crate::ledger::{Effect, Entry};
use crate::service::Service;

/// A thing that had effects: an id, and the claim if it belongs to one run only.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Subject {
    pub id: String,
    pub claim: Option<String>,
}

impl Subject {
    /// The run that is answerable for it: the claim's if there is one, otherwise that of the same id.
    pub fn run(&self) -> &str {
        self.claim.as_deref().unwrap_or(&self.id)
    }
}

/// What an audit found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Audit {
    /// Created and not deleted, per service. Every service is listed.
    pub remaining: BTreeMap<Service, BTreeSet<Subject>>,
    /// Effects that should not have happened: a second create of the same thing, a second effect under
    /// the same key, a create or update after the delete.
    pub doubles: Vec<Entry>,
    /// Things whose DELETE came and nothing had been created.
    pub tombstones: BTreeMap<Service, BTreeSet<Subject>>,
    /// Effects in all, tombstones not counted.
    pub effects: u64,
}

impl Audit {
    /// How many effects there were beyond the one that was due.
    pub fn double_effects(&self) -> usize {
        self.doubles.len()
    }

    /// The runs that still have an effect at a service.
    pub fn runs_at(&self, service: Service) -> BTreeSet<&str> {
        self.remaining[&service].iter().map(Subject::run).collect()
    }

    /// The services at which a run still has an effect: all of its steps for a completed run, none for
    /// an undone one.
    pub fn services_of(&self, run: &str) -> Vec<Service> {
        Service::ALL.into_iter().filter(|service| self.has(*service, run)).collect()
    }

    fn has(&self, service: Service, run: &str) -> bool {
        self.remaining[&service].iter().any(|subject| subject.run() == run)
    }
}

/// Audits entries of any number of services. Those of one service must be in their order.
pub fn audit(entries: &[Entry]) -> Audit {
    let every = || Service::ALL.map(|service| (service, BTreeSet::new())).into();
    let mut audit = Audit { remaining: every(), tombstones: every(), ..Audit::default() };
    let mut created = BTreeSet::new();
    let mut closed = BTreeSet::new();
    let mut keys = BTreeSet::new();
    for entry in entries {
        let subject = Subject { id: entry.id.clone(), claim: entry.claim.clone() };
        let place = (entry.service, subject.clone());
        let key_again = entry.key.as_ref().is_some_and(|key| !keys.insert((entry.service, key)));
        audit.effects += u64::from(entry.effect != Effect::Tombstone);
        let again = match entry.effect {
            Effect::Create => {
                audit.remaining.entry(entry.service).or_default().insert(subject);
                !created.insert(place.clone()) || closed.contains(&place)
            }
            Effect::Update => closed.contains(&place),
            Effect::Delete => {
                audit.remaining.entry(entry.service).or_default().remove(&subject);
                !closed.insert(place)
            }
            Effect::Tombstone => {
                audit.tombstones.entry(entry.service).or_default().insert(subject);
                !closed.insert(place)
            }
        };
        if again || key_again {
            audit.doubles.push(entry.clone());
        }
    }
    audit
}

#[cfg(test)]
mod tests;
