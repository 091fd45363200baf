//! A witness at a third place decides when the two regions do not see each other.

use std::time::{Duration, Instant};

use anyhow::{Context, ensure};

use crate::load::Pace;
use crate::regions::loss::Loss;
use crate::regions::stage::{EAST, WEST};
use crate::regions::{RoundContext, calls, duration_text};

/// What is acknowledged between the cut and the loss of a region: it is lost with it.
const UNMIRRORED: usize = 20;
/// How long that may take.
const PATIENCE: Duration = Duration::from_secs(60);
/// From the cut to a look at the runs of a region that will be overtaken: those that were open have ended.
const RUNS_END: Duration = Duration::from_secs(6);
/// A region that could not renew a lease for this long would stop.
const LEASES_RUN_OUT: Duration = Duration::from_secs(40);

impl RoundContext<'_> {
    /// Both see the witness: the active region continues, and the other one cannot be promoted.
    pub async fn witness_cut_link(&mut self) -> anyhow::Result<usize> {
        let load = self.stage.load(EAST, Pace::FAINT, self.dice);
        self.pause().await;
        let epoch = self.stage.clients[EAST].epoch().await?;
        let cut = Instant::now();
        self.stage.sites.cut_link()?;
        // It waits for longer than the lease lives before it gives up.
        match self.stage.clients[WEST].refused(true).await? {
            Some(said) => println!("  a change by force was refused after {}: {said}", ago(cut)),
            None => self.closing.add_finding("a change by force was not refused by the witness".to_owned()),
        }
        let refused = Instant::now();
        let back = self.stage.takes_requests(EAST, 1, refused).await;
        let (east, west) = (self.stage.answers_of(EAST, cut).len(), self.stage.answers_of(WEST, cut).len());
        println!("  the link was cut for {}: east acknowledged {east}, west {west}", ago(cut));
        if back.is_none() {
            self.closing.add_finding("the active region did not continue while the link was cut".to_owned());
        }
        let status = self.stage.clients[WEST].status().await?;
        let here = &status["here"];
        if here["role"] != "standby" || here["epoch"] != epoch || west > 0 {
            self.closing.add_finding(format!("west was promoted although the active region lives: {status}"));
        }
        if !here["promotion"].is_null() {
            self.closing.add_finding(format!("a promotion that was refused is in progress: {status}"));
        }
        self.stage.sites.restore_link()?;
        self.planned_switch(WEST, 2).await?;
        self.pause().await;
        load.stop().await;
        self.audit(WEST, &Loss::default()).await?;
        Ok(WEST)
    }

    /// The active region is killed after a moment in which nothing was mirrored: the other one takes over by itself.
    pub async fn witness_loss(&mut self) -> anyhow::Result<usize> {
        let load = self.stage.load(EAST, Pace::FAINT, self.dice);
        self.pause().await;
        let cut = Instant::now();
        self.stage.sites.cut_link()?;
        while self.stage.answers_of(EAST, cut).len() < UNMIRRORED {
            ensure!(cut.elapsed() < PATIENCE, "east does not continue while the link is cut");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        let apart = self.apart(EAST, cut).await?;
        self.stage.regions[EAST].kill_all()?;
        let killed = Instant::now();
        let back = self.stage.takes_requests(WEST, 1, killed).await;
        let (lost, acknowledged) = self.lost_by(EAST, 1).await?;
        println!(
            "  east lost {:.1} s after the line; west promoted itself: RTO {}, RPO {} of {acknowledged} acknowledged",
            (killed - cut).as_secs_f64(),
            duration_text(back),
            lost.len()
        );
        if back.is_none() {
            self.closing.add_finding("the standby did not take over automatically".to_owned());
        }
        if lost.is_empty() {
            self.closing.add_finding("nothing was lost: what was not mirrored was not tried".to_owned());
        }
        // Not before: the kernel goes on sending for a process that was killed, as that of a lost machine does not.
        self.stage.sites.restore_link()?;
        let tail = self.returns(EAST).await?;
        tail.check(&lost, self.closing);
        self.pause().await;
        load.stop().await;
        self.audit(WEST, &Loss { lost, apart }).await?;
        Ok(WEST)
    }

    /// The active region is healthy, and reaches neither its pair nor the witness: it stops before the other one starts.
    pub async fn witness_cut_off(&mut self) -> anyhow::Result<usize> {
        let load = self.stage.load(EAST, Pace::FAINT, self.dice);
        self.pause().await;
        let cut = Instant::now();
        self.stage.sites.cut_link()?;
        self.stage.sites.cut_witness(EAST)?;
        tokio::time::sleep(RUNS_END).await;
        let apart = self.apart(EAST, cut).await?;
        let back = self.stage.takes_requests(WEST, 1, cut).await;
        if back.is_none() {
            self.closing.add_finding("the standby did not take over automatically".to_owned());
        }
        println!(
            "  east cut off from its pair and the witness; west promoted itself: RTO {}",
            duration_text(back)
        );
        // Clients press on both for a while.
        self.pause().await;
        let restored = Instant::now();
        self.stage.sites.restore_witness(EAST)?;
        self.stage.sites.restore_link()?;
        let tail = self.stands_by(EAST, restored).await?;
        let (lost, acknowledged) = self.lost_by(EAST, 1).await?;
        println!("  RPO {} of {acknowledged} acknowledged by east", lost.len());
        tail.check(&lost, self.closing);
        self.pause().await;
        self.check_one_after_the_other(cut);
        load.stop().await;
        self.audit(WEST, &Loss { lost, apart }).await?;
        Ok(WEST)
    }

    /// The witness is lost: the active region continues with its pair's consent, and so does an instance that is started then.
    pub async fn witness_gone(&mut self) -> anyhow::Result<usize> {
        let load = self.stage.load(EAST, Pace::FAINT, self.dice);
        self.pause().await;
        let killed = Instant::now();
        self.stage.witness.as_mut().context("the round has a witness")?.kill()?;
        let instance = &mut self.stage.regions[EAST].instances[0];
        instance.kill()?;
        instance.start()?;
        tokio::time::sleep(LEASES_RUN_OUT).await;
        instance.well().await?;
        let later = Instant::now();
        let back = self.stage.takes_requests(EAST, 1, later).await;
        let answers = self.stage.answers_of(EAST, killed);
        let silence = answers.windows(2).map(|pair| pair[1].at - pair[0].at).max();
        let west = self.stage.answers_of(WEST, killed).len();
        println!(
            "  without a witness for {}: east acknowledged {}, silent for {} at most; west {west}",
            ago(killed),
            answers.len(),
            duration_text(silence)
        );
        if back.is_none() || west > 0 {
            self.closing.add_finding("the active region did not continue without the witness".to_owned());
        }
        match self.stage.clients[WEST].refused(false).await? {
            Some(said) => println!("  a planned switch was refused: {said}"),
            None => self.closing.add_finding("there was a switch without the witness".to_owned()),
        }
        if !self.stage.clients[EAST].active().await? {
            self.closing.add_finding("a switch that was refused stopped the active region".to_owned());
        }
        let witness = self.stage.witness.as_mut().context("the round has a witness")?;
        witness.start()?;
        witness.well().await?;
        self.planned_switch(WEST, 2).await?;
        self.pause().await;
        load.stop().await;
        self.audit(WEST, &Loss::default()).await?;
        Ok(WEST)
    }

    /// There is no moment at which both acknowledge, nor one at which both call.
    fn check_one_after_the_other(&mut self, cut: Instant) {
        let answered = [EAST, WEST].map(|region| {
            self.stage.answers_of(region, cut).into_iter().map(|yes| yes.at).collect::<Vec<_>>()
        });
        let called = [EAST, WEST].map(|region| calls::times(&self.stage, region));
        for (what, [east, west]) in [("acknowledged", answered), ("called", called)] {
            let (last, first) = (east.last().copied(), west.first().copied());
            let after = |at: Option<Instant>| duration_text(at.map(|at| at.saturating_duration_since(cut)));
            println!("  after the cut east {what} until {}, west from {}", after(last), after(first));
            if let (Some(last), Some(first)) = (last, first)
                && last >= first
            {
                let overlap = (last - first).as_secs_f64();
                self.closing.add_finding(format!("east {what} for {overlap:.1} s after west had begun to"));
            }
        }
    }
}

fn ago(since: Instant) -> String {
    duration_text(Some(since.elapsed()))
}
