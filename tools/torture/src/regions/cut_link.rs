//! The line between two regions that are both well is cut, and a person makes the standby active by force: for a while
//! both work. Once they reach each other again the older one stops, stores what only it has, and mirrors.

use std::time::{Duration, Instant};

use crate::load::Pace;
use crate::regions::calls;
use crate::regions::loss::Loss;
use crate::regions::stage::{EAST, WEST};
use crate::regions::{RoundContext, duration_text};

/// How long both work at least.
const APART: Duration = Duration::from_secs(4);

impl RoundContext<'_> {
    pub async fn cut_link(&mut self) -> anyhow::Result<usize> {
        let east_load = self.stage.load(EAST, Pace::FAINT, self.dice);
        self.pause().await;
        let cut = Instant::now();
        self.stage.sites.cut_link()?;
        self.pause().await;
        let switched = self.force_west(cut).await?;
        let west_load = self.stage.load(WEST, Pace::FAINT, self.dice);
        tokio::time::sleep(self.pause.max(APART)).await;
        let apart = self.apart(EAST, cut).await?;
        let restored = Instant::now();
        self.check_both_worked(switched);
        self.stage.sites.restore_link()?;
        let tail = self.stands_by(EAST, restored).await?;
        let settled = Instant::now();
        let (lost, acknowledged) = self.lost_by(EAST, 1).await?;
        self.check_east(switched, restored);
        println!("  RPO {} of {acknowledged} acknowledged by east", lost.len());
        tail.check(&lost, self.closing);
        self.pause().await;
        self.check_silent(EAST, settled);
        self.planned_switch(EAST, 2).await?;
        self.pause().await;
        east_load.stop().await;
        west_load.stop().await;
        self.audit(EAST, &Loss { lost, apart }).await?;
        Ok(EAST)
    }

    /// Nothing is promoted by itself; then a person does it. From when on it was active.
    async fn force_west(&mut self, cut: Instant) -> anyhow::Result<Instant> {
        let west = &self.stage.clients[WEST];
        if west.active().await? {
            self.closing.add_finding("west is active without a decision".to_owned());
        }
        let began = Instant::now();
        let said = west.promote(true).await?;
        let switched = Instant::now();
        let back = self.stage.takes_requests(WEST, 1, began).await;
        println!(
            "  west was made active by force {:.1} s after the cut: {said}; RTO {} from the decision",
            (began - cut).as_secs_f64(),
            duration_text(back)
        );
        if back.is_none() {
            self.closing.add_finding("after a forced switch some partition never took requests".to_owned());
        }
        Ok(switched)
    }

    /// Otherwise nothing was tried.
    fn check_both_worked(&mut self, switched: Instant) {
        let counts = [EAST, WEST].map(|region| self.stage.answers_of(region, switched).len());
        println!("  while both were active, east acknowledged {} and west {}", counts[EAST], counts[WEST]);
        self.closing.count((counts[EAST] + counts[WEST]) as u64, "acknowledged while both were active");
        if counts.contains(&0) {
            self.closing.add_finding(format!("both regions were active, and acknowledged {counts:?}"));
        }
    }

    /// How long the overtaken region went on, and whether a service could know its calls.
    fn check_east(&mut self, switched: Instant, restored: Instant) {
        let (called, passed) = calls::after_the_other(&self.stage, EAST);
        if passed > 0 {
            self.closing
                .add_finding(format!("{passed} calls of east could not be distinguished from those of west"));
        }
        let last = self.stage.answers_of(EAST, switched).last().map(|yes| yes.at);
        let last = last.map(|at| at.saturating_duration_since(restored));
        println!(
            "  east acknowledged for the last time {} after the link was restored; of its calls {called} came after west's \
             first, and a service could refuse {}",
            duration_text(last),
            called - passed
        );
    }

    /// A standby region neither acknowledges requests nor makes calls.
    fn check_silent(&mut self, region: usize, since: Instant) {
        let name = self.stage.name(region);
        let answers = self.stage.answers_of(region, since).len();
        let calls = calls::times(&self.stage, region).iter().filter(|at| **at >= since).count();
        if answers + calls > 0 {
            self.closing
                .add_finding(format!("{name} stood by, acknowledged {answers} and made {calls} calls"));
        }
    }
}
