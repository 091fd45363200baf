//! A planned switch, the loss of the active region with a change by force, its return, and a planned switch back.

use std::time::{Duration, Instant};

use anyhow::Context;
use bytes::Bytes;
use hyper::Method;
use serde_json::json;

use crate::client::Client;
use crate::cluster::jobs::now;
use crate::cluster::settle;
use crate::load::Pace;
use crate::regions::loss::Loss;
use crate::regions::stage::{EAST, WEST};
use crate::regions::{RoundContext, duration_text};

/// From the making of the one-time job to its time: the region is lost and replaced in between.
pub const JOB_DUE_SECS: u64 = 15;
/// The job is mirrored long before the region is lost.
const MIRRORED: Duration = Duration::from_secs(5);
/// How late an occurrence may be and still count as on time: less than what counts as missed.
const ON_TIME: Duration = Duration::from_secs(60);

impl RoundContext<'_> {
    pub async fn switches(&mut self) -> anyhow::Result<usize> {
        let load = self.stage.load(EAST, Pace::GENTLE, self.dice);
        self.pause().await;
        self.planned_switch(WEST, 1).await?;
        self.pause().await;
        let due = now()?.as_secs() + JOB_DUE_SECS + self.pause.as_secs();
        self.make_job(due).await?;
        tokio::time::sleep(MIRRORED).await;
        let loss = self.lose(WEST, 2).await?;
        self.see_job(due).await?;
        self.pause().await;
        let tail = self.returns(WEST).await?;
        tail.check(&loss.lost, self.closing);
        self.planned_switch(WEST, 3).await?;
        self.pause().await;
        load.stop().await;
        self.audit(WEST, &loss).await?;
        Ok(WEST)
    }

    /// To the standby region.
    pub async fn planned_switch(&mut self, to: usize, number: usize) -> anyhow::Result<()> {
        let stage = &self.stage;
        stage.clients[to].standing_by().await?;
        let began = Instant::now();
        let said = stage.clients[to].promote(false).await?;
        let back = stage.takes_requests(to, number, began).await;
        println!(
            "  planned switch to {}: {said}; requests taken again after {}",
            stage.name(to),
            duration_text(back)
        );
        if back.is_none() {
            self.closing.add_finding("after a planned switch some partition never took requests".to_owned());
        }
        self.stage.clients[1 - to].standing_by().await
    }

    /// Kills all of the active region, and brings the other one to work by force.
    pub async fn lose(&mut self, active: usize, number: usize) -> anyhow::Result<Loss> {
        let other = 1 - active;
        self.stage.regions[active].kill_all()?;
        let began = Instant::now();
        let said = self.stage.clients[other].promote(true).await?;
        let back = self.stage.takes_requests(other, number, began).await;
        let (lost, acknowledged) = self.lost_by(active, number).await?;
        println!(
            "  {} lost, forced switch to {}: {said}; RTO {}, RPO {} of {acknowledged} acknowledged there",
            self.stage.name(active),
            self.stage.name(other),
            duration_text(back),
            lost.len()
        );
        if back.is_none() {
            self.closing.add_finding("after a forced switch some partition never took requests".to_owned());
        }
        Ok(Loss { lost, ..Loss::default() })
    }

    async fn make_job(&self, due: u64) -> anyhow::Result<()> {
        let start = jiff::Timestamp::from_second(due.try_into()?)?.to_string();
        let uri = format!("http://{}/drill", self.stage.trial.target.address);
        let job = json!({ "name": "drill", "properties": {
            "startTime": start,
            "action": {
                "type": "http",
                "request": { "uri": uri, "method": "POST" },
                "retryPolicy": { "retryType": "fixed", "retryInterval": "00:00:00.2000000", "retryCount": 20 },
            },
        }});
        let import = Bytes::from(json!({ "collection": {}, "jobs": [job] }).to_string());
        let path = "/v1/collections/drill/import";
        let addresses = self.stage.addresses(WEST);
        let made = settle::asked(&addresses, async |client: &mut Client| {
            client.send(Method::POST, path, "application/json", import.clone()).await?.success().map(drop)
        });
        made.await.context("making a job")
    }

    /// The job of the lost region runs in the other, at its time or as soon as that works.
    async fn see_job(&mut self, due: u64) -> anyhow::Result<()> {
        let until = Duration::from_secs(due) + ON_TIME;
        loop {
            let keys = self.stage.trial.target.calls().get("/drill").map_or(0, |keys| keys.len());
            if keys > 0 {
                let late = now()?.saturating_sub(Duration::from_secs(due));
                println!("  the job of the lost region ran, seen {:.1} s after its time", late.as_secs_f64());
                if keys > 1 {
                    self.closing.add_finding(format!("the job of the lost region ran under {keys} keys"));
                }
                return Ok(());
            }
            if now()? > until {
                let what = format!("the job of the lost region did not run within {ON_TIME:?} of its time");
                self.closing.add_finding(what);
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
}
