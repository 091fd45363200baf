//! The audit: what the server answered to clients, how their runs ended, and what the services' ledgers say.

use std::collections::{BTreeMap, BTreeSet};

use drone_delivery::{Entry, Service};
use types::RunStatus;

use crate::workflow::EFFECTS;

/// Everything that is compared with the promises.
pub struct Evidence {
    /// How each acknowledged run ended; none for one that the server does not know.
    pub endings: BTreeMap<String, Option<RunStatus>>,
    /// Sent without a response: they may or may not have run.
    pub unanswered: BTreeSet<String>,
    /// Wrong responses seen during the load.
    pub seen: BTreeMap<String, String>,
    /// The ids of all runs that the server lists.
    pub stored: BTreeSet<String>,
    /// The entries of all ledgers, each service's in order.
    pub entries: Vec<Entry>,
    /// Calls for something that already existed, under a key other than the first one's.
    pub key_changes: u64,
}

/// What the audit found, by promise. Each names runs.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Findings {
    /// Acknowledged, but the server does not know it.
    pub lost: BTreeSet<String>,
    /// Neither ended nor parked.
    pub open: BTreeSet<String>,
    /// An effect that happened more than once, or after it was undone.
    pub doubled: BTreeSet<String>,
    /// Undone, but some of its effects remain.
    pub left_behind: BTreeSet<String>,
    /// Completed, but some of its effects are missing.
    pub missing: BTreeSet<String>,
    /// Is in the store or has effects, but no client ever sent it.
    pub invented: BTreeSet<String>,
    /// Known by its id, but missing from the list of all runs.
    pub unlisted: BTreeSet<String>,
    pub other: BTreeMap<String, String>,
    pub key_changes: u64,
    pub counts: BTreeMap<&'static str, usize>,
}

pub fn audit(evidence: &Evidence) -> Findings {
    let ledgers = drone_delivery::audit(&evidence.entries);
    let mut effects: BTreeMap<&str, BTreeSet<Service>> = BTreeMap::new();
    for (service, subjects) in &ledgers.remaining {
        for subject in subjects {
            effects.entry(subject.run()).or_default().insert(*service);
        }
    }
    let mut findings =
        Findings { other: evidence.seen.clone(), key_changes: evidence.key_changes, ..Findings::default() };
    for (run, ending) in &evidence.endings {
        let left = effects.get(run.as_str()).cloned().unwrap_or_default();
        judge(run, *ending, &left, &mut findings);
    }
    findings.doubled.extend(ledgers.doubles.iter().map(|entry| run_of(entry).to_owned()));
    let sent = |run: &str| {
        evidence.endings.contains_key(run)
            || evidence.unanswered.contains(run)
            || evidence.seen.contains_key(run)
    };
    let known = evidence.entries.iter().map(run_of).chain(evidence.stored.iter().map(String::as_str));
    findings.invented.extend(known.filter(|run| !sent(run)).map(str::to_owned));
    let unlisted = |(run, ending): (&String, &Option<RunStatus>)| {
        (ending.is_some() && !evidence.stored.contains(run)).then(|| run.clone())
    };
    findings.unlisted.extend(evidence.endings.iter().filter_map(unlisted));
    findings
}

fn judge(run: &str, ending: Option<RunStatus>, left: &BTreeSet<Service>, findings: &mut Findings) {
    let name = ending.map_or("lost", RunStatus::as_str);
    *findings.counts.entry(name).or_default() += 1;
    let found = match ending {
        None => &mut findings.lost,
        Some(RunStatus::Completed) if *left != BTreeSet::from(EFFECTS) => &mut findings.missing,
        Some(RunStatus::Undone) if !left.is_empty() => &mut findings.left_behind,
        // A person decides on a parked run; the ledgers may say anything until then.
        Some(RunStatus::Completed | RunStatus::Undone | RunStatus::Parked) => return,
        Some(RunStatus::Accepted | RunStatus::Queued | RunStatus::Running | RunStatus::Undoing) => {
            &mut findings.open
        }
        Some(RunStatus::GivenUp) => {
            findings.other.insert(run.to_owned(), "given up without a decision".to_owned());
            return;
        }
    };
    found.insert(run.to_owned());
}

fn run_of(entry: &Entry) -> &str {
    entry.claim.as_deref().unwrap_or(&entry.id)
}

#[cfg(test)]
mod tests {
    use drone_delivery::Effect;

    use super::*;

    fn entry(service: Service, run: &str, effect: Effect) -> Entry {
        let key = Some(format!("{run}/{service}/{effect:?}"));
        Entry { seq: 1, service, id: run.to_owned(), claim: None, key, effect, count: 1, at_ms: 0 }
    }

    fn created(run: &str) -> Vec<Entry> {
        EFFECTS.map(|service| entry(service, run, Effect::Create)).into()
    }

    fn check(endings: &[(&str, Option<RunStatus>)], entries: Vec<Entry>) -> Findings {
        check_stored(endings, endings.iter().map(|(run, _)| *run), entries)
    }

    fn check_stored<'a>(
        endings: &[(&str, Option<RunStatus>)],
        stored: impl Iterator<Item = &'a str>,
        entries: Vec<Entry>,
    ) -> Findings {
        let endings = endings.iter().map(|(run, ending)| ((*run).to_owned(), *ending)).collect();
        let mut findings = audit(&Evidence {
            endings,
            unanswered: BTreeSet::from(["maybe".to_owned()]),
            seen: BTreeMap::new(),
            stored: stored.map(str::to_owned).collect(),
            entries,
            key_changes: 0,
        });
        findings.counts.clear();
        findings
    }

    fn one() -> BTreeSet<String> {
        BTreeSet::from(["a".to_owned()])
    }

    #[test]
    fn completed_with_all_and_undone_with_nothing_is_clean() {
        let mut entries = created("a");
        entries
            .extend([entry(Service::Drone, "b", Effect::Create), entry(Service::Drone, "b", Effect::Delete)]);
        entries.extend([
            entry(Service::Package, "b", Effect::Tombstone),
            entry(Service::Drone, "maybe", Effect::Create),
        ]);
        let findings = check(&[("a", Some(RunStatus::Completed)), ("b", Some(RunStatus::Undone))], entries);
        assert_eq!(findings, Findings::default());
    }

    #[test]
    fn an_acknowledged_run_that_nobody_knows_is_lost() {
        assert_eq!(check(&[("a", None)], vec![]), Findings { lost: one(), ..Findings::default() });
    }

    #[test]
    fn a_run_that_neither_ended_nor_is_parked_is_open() {
        let findings = check(&[("a", Some(RunStatus::Running)), ("b", Some(RunStatus::Parked))], vec![]);
        assert_eq!(findings, Findings { open: one(), ..Findings::default() });
    }

    #[test]
    fn a_second_effect_is_found() {
        let mut entries = created("a");
        entries.push(entry(Service::Drone, "a", Effect::Create));
        let findings = check(&[("a", Some(RunStatus::Completed))], entries);
        assert_eq!(findings, Findings { doubled: one(), ..Findings::default() });
    }

    #[test]
    fn effects_that_an_undone_run_left_are_found() {
        let findings = check(&[("a", Some(RunStatus::Undone))], created("a"));
        assert_eq!(findings, Findings { left_behind: one(), ..Findings::default() });
    }

    #[test]
    fn what_a_completed_run_does_not_have_is_found() {
        let findings = check(&[("a", Some(RunStatus::Completed))], created("a")[1..].to_vec());
        assert_eq!(findings, Findings { missing: one(), ..Findings::default() });
    }

    #[test]
    fn effects_of_a_run_that_nobody_sent_are_found() {
        let findings = check(&[], vec![entry(Service::Drone, "a", Effect::Create)]);
        assert_eq!(findings, Findings { invented: one(), ..Findings::default() });
    }

    #[test]
    fn a_stored_run_that_nobody_sent_and_one_that_is_not_listed_are_found() {
        let completed = [("b", Some(RunStatus::Completed))];
        let findings = check_stored(&completed, ["a", "maybe"].into_iter(), created("b"));
        let unlisted = BTreeSet::from(["b".to_owned()]);
        assert_eq!(findings, Findings { invented: one(), unlisted, ..Findings::default() });
    }
}
