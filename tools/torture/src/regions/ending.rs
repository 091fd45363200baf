//! The end of a round: every run ends in the active region, and everything is compared with the ledgers.

use std::collections::BTreeSet;

use types::RunStatus;

use crate::audit::Findings;
use crate::cluster::settle;
use crate::regions::RoundContext;
use crate::regions::loss::Loss;
use crate::trial::Statuses;

impl RoundContext<'_> {
    /// Everything that was acknowledged is in the active region, but for what was lost and is accounted for.
    pub async fn audit(&mut self, active: usize, loss: &Loss) -> anyhow::Result<()> {
        let addresses = self.stage.addresses(active);
        let trial = &self.stage.trial;
        let mut kept = trial.posts.acknowledged();
        kept.retain(|id| !loss.lost.contains(id));
        let settled = settle::settle(&addresses, &kept).await?;
        let mut findings = trial.audit(&addresses, &kept, settled.clone()).await?;
        // Their calls were made by the region that was overtaken.
        findings.invented.retain(|id| !loss.lost.contains(id));
        let contradicted = contradicted(&loss.apart, &settled);
        let excused = excuse(&mut findings, &contradicted);
        if !loss.apart.is_empty() {
            println!(
                "  of {} runs that may have been open in both regions, {} came to another end in the one that was \
                 overtaken; {excused} of them left their marks at services",
                loss.apart.len(),
                contradicted.len()
            );
        }
        self.closing.audited(&trial.posts, &findings);
        self.closing.count(loss.lost.len() as u64, "beyond the point of recovery");
        self.closing.count(contradicted.len() as u64, "ended in two ways");
        Ok(())
    }
}

/// Runs that a region was at when it was overtaken, and that the other one has brought to another end.
fn contradicted(apart: &Statuses, settled: &Statuses) -> BTreeSet<String> {
    let differs = |(id, there): &(&String, &Option<RunStatus>)| {
        there.is_some() && settled.get(*id).is_some_and(|here| here.is_some() && here != *there)
    };
    apart.iter().filter(differs).map(|(id, _)| id.clone()).collect()
}

/// A run that one region completed and the other undid has effects of both: no region can keep that from happening, a
/// service can, by the epoch. How many were found by that.
fn excuse(findings: &mut Findings, contradicted: &BTreeSet<String>) -> usize {
    let before = findings.missing.len() + findings.left_behind.len();
    findings.missing.retain(|id| !contradicted.contains(id));
    findings.left_behind.retain(|id| !contradicted.contains(id));
    before - findings.missing.len() - findings.left_behind.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_ended_in_two_ways_is_excused() {
        let statuses = |list: &[(&str, Option<RunStatus>)]| -> Statuses {
            list.iter().map(|(id, status)| ((*id).to_owned(), *status)).collect()
        };
        let (completed, undone) = (Some(RunStatus::Completed), Some(RunStatus::Undone));
        let apart = statuses(&[("a", undone), ("b", completed), ("c", undone), ("d", None)]);
        let settled = statuses(&[("a", completed), ("b", completed), ("d", completed), ("e", undone)]);
        let contradicted = contradicted(&apart, &settled);
        assert_eq!(contradicted, BTreeSet::from(["a".to_owned()]));
        let missing = ["a", "b"].map(str::to_owned).into();
        let mut findings = Findings { missing, ..Findings::default() };
        assert_eq!(excuse(&mut findings, &contradicted), 1);
        assert_eq!(findings.missing, BTreeSet::from(["b".to_owned()]));
    }
}
