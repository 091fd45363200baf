//! What the target of jobs saw of the regions: every call says under which epoch of its region it was made.

use std::time::Instant;

use crate::regions::stage::{EAST, Stage, WEST};
use crate::report::Closing;

/// Whether a fenced region may still make calls for a while.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Overtaken {
    /// It was alive when the other one was made active by force.
    Calls,
    /// It released its partitions before, or was dead.
    IsSilent,
}

/// Compares every call with the epochs: each has one of its region's, they rise, and a service can distinguish old from new.
pub fn judge(stage: &Stage<'_>, overtaken: Overtaken, closing: &mut Closing) {
    let callers = stage.trial.target.callers();
    let refused = callers.iter().filter(|caller| caller.refused).count();
    println!("  {} calls of jobs, {refused} of them refused for their region's epoch", callers.len());
    closing.count(refused as u64, "calls refused by their epoch");
    if overtaken == Overtaken::IsSilent && refused > 0 {
        closing.add_finding(format!("{refused} calls came from a region that had been replaced"));
    }
    let nameless = callers.iter().filter(|caller| caller.epoch.is_none()).count();
    if nameless > 0 {
        closing.add_finding(format!("{nameless} calls did not say their region's epoch"));
    }
    // On the loopback the origin of a call is unknown.
    if !stage.sites.network.can_cut() {
        return;
    }
    for region in [EAST, WEST] {
        let calls = callers.iter().filter(|caller| stage.is_of(region, caller.from));
        let epochs: Vec<u64> = calls.filter_map(|caller| caller.epoch).collect();
        // The first by name takes odd ones, the other one even ones.
        if epochs.iter().any(|epoch| (epoch % 2 == 1) != (region == EAST)) {
            closing.add_finding(format!("{} called under an epoch of its pair", stage.name(region)));
        }
        if !epochs.is_sorted() {
            closing.add_finding(format!("{} called under an epoch that it had left", stage.name(region)));
        }
    }
}

/// Calls of an overtaken region that came after the first of the other one: how many, and how many of them a service
/// could not distinguish by their epoch.
pub fn after_the_other(stage: &Stage<'_>, overtaken: usize) -> (usize, usize) {
    let callers = stage.trial.target.callers();
    let others = callers.iter().skip_while(|caller| !stage.is_of(1 - overtaken, caller.from));
    let late: Vec<_> = others.filter(|caller| stage.is_of(overtaken, caller.from)).collect();
    (late.len(), late.iter().filter(|caller| !caller.refused).count())
}

/// When calls of a region came in.
pub fn times(stage: &Stage<'_>, region: usize) -> Vec<Instant> {
    let callers = stage.trial.target.callers();
    callers.iter().filter(|caller| stage.is_of(region, caller.from)).map(|caller| caller.at).collect()
}
