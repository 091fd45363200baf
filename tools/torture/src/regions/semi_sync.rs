//! Acknowledgements wait for the pair: no acknowledged request is lost with a region.

use std::time::{Duration, Instant};

use crate::load::Pace;
use crate::regions::RoundContext;
use crate::regions::stage::{EAST, WEST};

/// From the cut to the loss: requests of this time cannot be at the pair.
const CUT_FOR: Duration = Duration::from_secs(3);

impl RoundContext<'_> {
    pub async fn semi_sync(&mut self) -> anyhow::Result<usize> {
        let load = self.stage.load(EAST, Pace::GENTLE, self.dice);
        self.pause().await;
        let cut = Instant::now();
        self.stage.sites.cut_link()?;
        tokio::time::sleep(CUT_FOR).await;
        let acknowledged = self.stage.answers_of(EAST, cut).len();
        println!("  the link was cut for {CUT_FOR:?}: {acknowledged} acknowledged in this time");
        let loss = self.lose(EAST, 1).await?;
        if !loss.lost.is_empty() {
            let count = loss.lost.len();
            self.closing
                .add_finding(format!("{count} were lost although acknowledgements waited for the pair"));
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
