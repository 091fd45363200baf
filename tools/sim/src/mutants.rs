//! Is the simulator any good? It must catch every bug that was planted.

use planted::Bug;

use crate::campaign::Campaign;
use crate::checkers::Violation;
use crate::cluster;

/// Bugs that only several instances can have.
const OF_CLUSTERS: [Bug; 10] = [
    Bug::UnknownTakenForStored,
    Bug::UnknownSentHigher,
    Bug::NonceNotCompared,
    Bug::ShortRangeAccepted,
    Bug::ClaimNotGuarded,
    Bug::ClaimNotAwaited,
    Bug::OlderSnapshotWins,
    Bug::FencedGoesOn,
    Bug::RegionEpochKept,
    Bug::TablesNotFetched,
];

/// How one bug was caught.
struct Caught {
    /// Seeds played until then.
    seeds: u64,
    id: &'static str,
    what: String,
}

/// Wakes every bug in turn. True when all are caught.
pub fn catch_all(campaign: Campaign) -> anyhow::Result<bool> {
    let mut needed = Vec::new();
    for bug in Bug::ALL {
        match catch(*bug, campaign)? {
            Some(caught) => {
                println!(
                    "caught  {:<26} {:>4} by {:<4} {}",
                    bug.name(),
                    caught.seeds,
                    caught.id,
                    caught.what
                );
                needed.push(caught.seeds);
            }
            None => println!("MISSED  {:<26} {:>4} {}", bug.name(), campaign.seeds, bug.what()),
        }
    }
    needed.sort_unstable();
    let median = needed.get(needed.len() / 2).copied().unwrap_or_default();
    println!(
        "sim: {} of {} planted bugs caught; median seeds to catch one: {median}",
        needed.len(),
        Bug::ALL.len()
    );
    Ok(needed.len() == Bug::ALL.len())
}

/// Wakes one bug. True when it is caught.
pub fn catch_one(bug: Bug, campaign: Campaign) -> anyhow::Result<bool> {
    let caught = catch(bug, campaign)?;
    match &caught {
        Some(caught) => println!(
            "sim: the planted bug {} was caught after {} seeds by {}",
            bug.name(),
            caught.seeds,
            caught.id
        ),
        None => println!("sim: the planted bug {} was not caught in {} seeds", bug.name(), campaign.seeds),
    }
    Ok(caught.is_some())
}

fn catch(bug: Bug, campaign: Campaign) -> anyhow::Result<Option<Caught>> {
    planted::wake(Some(bug));
    if OF_CLUSTERS.contains(&bug) {
        let caught = cluster::catch(campaign);
        planted::wake(None);
        let (seeds, violation) = caught?;
        return Ok(violation.map(|violation| Caught::new(seeds, &violation)));
    }
    let outcome = campaign.run(1);
    planted::wake(None);
    let outcome = outcome?;
    let first = outcome.failures.first().and_then(|(_, report)| report.violations.first());
    Ok(first.map(|violation| Caught::new(outcome.figures.seeds, violation)))
}

impl Caught {
    fn new(seeds: u64, violation: &Violation) -> Caught {
        Caught { seeds, id: violation.id, what: violation.what.chars().take(80).collect() }
    }
}
