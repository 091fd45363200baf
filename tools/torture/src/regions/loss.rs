//! What a forced switch has lost, the return of the replaced region, and runs that both have executed.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use anyhow::ensure;

use crate::cluster::{recovery, settle};
use crate::regions::RoundContext;
use crate::regions::tail::Tail;
use crate::trial::Statuses;

/// A run that began this long before a cut has ended by then; later ones may be open in both regions.
const OPEN_AT_MOST: Duration = Duration::from_secs(20);
/// From a cut until nothing is mirrored any more.
const MIRRORED_YET: Duration = Duration::from_secs(2);
/// How long it may take until what was taken is listed: far beyond what partitions need to take up their inboxes.
const LISTED: Duration = Duration::from_secs(120);
const PAUSE: Duration = Duration::from_millis(250);

/// What only the replaced region had.
#[derive(Default)]
pub struct Loss {
    /// Acknowledged by it, and unknown in the active region.
    pub lost: BTreeSet<String>,
    /// How runs stood there that may have been open in both.
    pub apart: Statuses,
}

impl RoundContext<'_> {
    /// What one region acknowledged and the other does not know; of how many. The other one has taken the requests of a
    /// probes: once it lists that of a partition, it has listed everything before it.
    pub async fn lost_by(
        &self,
        overtaken: usize,
        probes: usize,
    ) -> anyhow::Result<(BTreeSet<String>, usize)> {
        let addresses = self.stage.addresses(1 - overtaken);
        let began = Instant::now();
        let stored = loop {
            let stored = settle::stored(&addresses).await?;
            if recovery::ids(probes).iter().all(|id| stored.contains(id)) {
                break stored;
            }
            ensure!(began.elapsed() < LISTED, "requests that were taken are not listed within {LISTED:?}");
            tokio::time::sleep(PAUSE).await;
        };
        let answers = self.stage.answers_of(overtaken, self.begun);
        let count = answers.len();
        let lost = answers.into_iter().map(|yes| yes.id).filter(|id| !stored.contains(id)).collect();
        Ok((lost, count))
    }

    /// Asks a region that will be fenced for the state of the runs that the other one may also have open.
    pub async fn apart(&self, overtaken: usize, cut: Instant) -> anyhow::Result<Statuses> {
        let since = cut.checked_sub(OPEN_AT_MOST).unwrap_or(cut);
        let mut answers = self.stage.answers_of(overtaken, since);
        // What was heard a moment later may have been mirrored, too.
        answers.retain(|yes| yes.at < cut + MIRRORED_YET);
        let ids: Vec<String> = answers.into_iter().map(|yes| yes.id).collect();
        settle::statuses(&self.stage.addresses(overtaken), &ids).await
    }

    /// Starts a region that was killed, and sees it stand by.
    pub async fn returns(&mut self, region: usize) -> anyhow::Result<Tail> {
        let killed = &mut self.stage.regions[region];
        killed.start_nats()?;
        killed.nats_well().await?;
        killed.start_instances()?;
        let began = Instant::now();
        for instance in &mut killed.instances {
            instance.answers("/livez").await?;
        }
        self.stands_by(region, began).await
    }

    /// A region that was overtaken fences itself, keeps what only it has, and mirrors. What it kept.
    pub async fn stands_by(&mut self, region: usize, began: Instant) -> anyhow::Result<Tail> {
        let (name, pair) = (self.stage.name(region), self.stage.name(1 - region));
        self.stage.clients[region].standing_by().await?;
        println!("  {name} stands by, level with {pair} after {:.1} s", began.elapsed().as_secs_f64());
        let status = self.stage.clients[region].status().await?;
        let epoch = self.stage.clients[1 - region].epoch().await?;
        if status["active"] != pair || status["here"]["epoch"] != epoch {
            self.closing
                .add_finding(format!("{pair} is active under epoch {epoch}, and {name} says {status}"));
        }
        Tail::of(&status)
    }
}
