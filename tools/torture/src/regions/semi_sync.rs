//! Answers wait for the pair: whatever is lost with a region, nothing that was acknowledged is.

use std::time::{Duration, Instant};

use crate::load::Pace;
use crate::regions::RoundContext;
use crate::regions::stage::{EAST, WEST};

/// From the cut to the loss: what came in meanwhile cannot be at the pair.
const CUT_FOR: Duration = Duration::from_secs(3);

impl RoundContext<'_> {
    pub async fn semi_sync(&mut self) -> anyhow::Result<usize> {
        let load = self.stage.load(EAST, Pace::GENTLE, self.dice);
        self.pause().await;
        let cut = Instant::now();
        self.stage.sites.cut_link()?;
        tokio::time::sleep(CUT_FOR).await;
        let meanwhile = self.stage.answers_of(EAST, cut).len();
        println!("  the line was cut for {CUT_FOR:?}: {meanwhile} acknowledged meanwhile");
        let loss = self.lose(EAST, 1).await?;
        if !loss.lost.is_empty() {
            let count = loss.lost.len();
            self.closing.accuse(format!("{count} were lost although answers waited for the pair"));
        }
        self.stage.sites.restore_link()?;
        let tail = self.returns(EAST).await?;
        tail.check(&loss.lost, self.closing);
        self.pause().await;
        load.stop().await;
        self.audit(WEST, &loss).await?;
        Ok(WEST)
    }
}
