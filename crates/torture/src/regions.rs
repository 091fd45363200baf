//! Two regions under load: a planned switch, the loss of the active one, and its return; with RTO and RPO.

mod desk;

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Context;
use bytes::Bytes;
use clap::Args;
use hyper::Method;
use serde_json::json;

use crate::client::Client;
use crate::cluster::jobs::{Jobs, now};
use crate::cluster::network::Network;
use crate::cluster::region::{Layout, Programs, Region};
use crate::cluster::trial::Trial;
use crate::cluster::{nats_server, pulse, settle};
use crate::dice::Dice;
use crate::report::{Closing, Verdict};
use crate::rig::Rig;

use self::desk::Desk;

/// Instances in each region: one may be missing.
const INSTANCES: usize = 2;
/// Jobs that fire every second all through it.
const JOBS: u32 = 4;
/// From the making of the one-time job to its time: the region is lost and replaced in between.
const JOB_DUE_SECS: u64 = 15;
/// The job is mirrored long before the region is lost.
const MIRRORED: Duration = Duration::from_secs(5);
/// How late an occurrence may be and still count as on time: less than what counts as missed.
const ON_TIME: Duration = Duration::from_secs(60);

/// Switch regions under load, lose the active one, let it return, and audit every promise
#[derive(Args)]
pub struct Regions {
    /// Seconds of load between the steps
    #[arg(long, default_value_t = 8)]
    seconds: u64,
    /// Answers wait for the pair: then nothing at all may be lost
    #[arg(long)]
    semi_sync: bool,
    /// The nats-server, 2.15 or newer; by default the one that `cargo xtask brokers` has installed
    #[arg(long, env = "SORTIE_NATS_SERVER", value_name = "PATH")]
    nats_server: Option<PathBuf>,
    #[command(flatten)]
    rig: Rig,
}

/// What is there all through it. East is at home.
struct Stage {
    east: Region,
    west: Region,
    trial: Trial,
    desks: [Desk; 2],
}

/// What the loss of a region has cost.
struct Loss {
    /// Acknowledged, and not known where it went on.
    lost: BTreeSet<String>,
    back: Option<Duration>,
}

impl Regions {
    pub async fn run(self) -> anyhow::Result<Verdict> {
        self.rig.within("region", async |seed, directory| self.torture(seed, directory).await).await
    }

    async fn torture(&self, seed: u64, directory: &Path) -> anyhow::Result<Verdict> {
        let mut closing = Closing::new("region");
        let mut dice = Dice::new(seed);
        let mut network = Network::make(&mut closing);
        let mut stage = self.open(seed, directory, &mut network).await?;
        let everywhere = [stage.east.addresses(), stage.west.addresses()].concat();
        let length = 5 * self.seconds + 2 * JOB_DUE_SECS;
        let jobs = Jobs::start(JOBS, length, &stage.east.addresses(), stage.trial.target.address).await?;
        let load = stage.trial.load(&everywhere, &mut dice);
        self.pause().await;
        self.planned_switch(&stage, 1, &mut closing).await?;
        self.pause().await;
        let loss = self.lose_west(&mut stage, &mut closing).await?;
        self.pause().await;
        let tail = self.west_returns(&mut stage, &mut closing).await?;
        self.planned_switch(&stage, 3, &mut closing).await?;
        self.pause().await;
        load.stop().await;
        self.audit(&stage, &loss, &tail, &mut closing).await?;
        jobs.judge(&everywhere, &stage.trial.target, &mut closing).await?;
        Ok(closing.print(seed))
    }

    async fn open(&self, seed: u64, directory: &Path, network: &mut Network) -> anyhow::Result<Stage> {
        let programs =
            Programs { sortie: self.rig.bin.clone(), nats: nats_server(self.nats_server.as_deref())? };
        let east = Layout::new("east", network, 11, INSTANCES)?;
        let west = Layout::new("west", network, 31, INSTANCES)?;
        let more = if self.semi_sync { "semi_sync = true\n" } else { "" };
        let mut regions = Vec::new();
        for (here, pair) in [(&east, &west), (&west, &east)] {
            let mut region = Region::new(here, Some((pair, more)), &programs, directory, None)?;
            region.start_nats()?;
            regions.push(region);
        }
        for region in &mut regions {
            region.nats_well().await?;
            region.start_instances()?;
        }
        let [mut east, mut west] = <[Region; 2]>::try_from(regions).ok().context("two were made")?;
        east.well().await?;
        for instance in &mut west.instances {
            instance.answers("/livez").await?;
        }
        let trial = Trial::start(&self.rig, seed, directory, network).await?;
        trial.apply(&east.addresses()).await?;
        let desks = [Desk::new("east", east.addresses()), Desk::new("west", west.addresses())];
        desks[1].standing_by().await?;
        Ok(Stage { east, west, trial, desks })
    }

    async fn pause(&self) {
        tokio::time::sleep(Duration::from_secs(self.seconds)).await;
    }

    /// From the active east to the west.
    async fn planned_switch(&self, stage: &Stage, round: usize, closing: &mut Closing) -> anyhow::Result<()> {
        let [_, west] = &stage.desks;
        west.standing_by().await?;
        let began = Instant::now();
        let said = west.promote(false).await?;
        let back = self.takes_requests(stage, &stage.west.addresses(), round, began, closing).await;
        println!("planned switch to west: {said}; requests taken again after {back}");
        stage.desks[0].standing_by().await
    }

    /// Kills all of the active west, brings the east to work by force, and sees a job through that came from the west.
    async fn lose_west(&self, stage: &mut Stage, closing: &mut Closing) -> anyhow::Result<Loss> {
        let due = now()?.as_secs() + JOB_DUE_SECS + self.seconds;
        self.make_job(stage, due).await?;
        tokio::time::sleep(MIRRORED).await;
        stage.west.kill_all()?;
        let began = Instant::now();
        let acknowledged: Vec<String> = stage.trial.posts.acknowledged();
        let said = stage.desks[0].promote(true).await?;
        let back = pulse::all_take_requests(&stage.east.addresses(), &stage.trial.posts, 2, began).await;
        let statuses = settle::statuses(&stage.east.addresses(), &acknowledged).await?;
        let lost: BTreeSet<String> =
            statuses.into_iter().filter(|(_, status)| status.is_none()).map(|(id, _)| id).collect();
        println!(
            "west lost, forced switch to east: {said}; RTO {}, RPO {} of {} acknowledged",
            told(back),
            lost.len(),
            acknowledged.len()
        );
        if back.is_none() {
            closing.accuse("after a forced switch some partition never took requests".to_owned());
        }
        self.see_job(stage, due, closing).await?;
        Ok(Loss { lost, back })
    }

    async fn make_job(&self, stage: &Stage, due: u64) -> anyhow::Result<()> {
        let start = jiff::Timestamp::from_second(due.try_into()?)?.to_string();
        let uri = format!("http://{}/drill", stage.trial.target.address);
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
        let addresses = stage.west.addresses();
        let made = settle::asked(&addresses, async |client: &mut Client| {
            client.send(Method::POST, path, "application/json", import.clone()).await?.success().map(drop)
        });
        made.await.context("making a job")
    }

    /// The job of the lost region runs in the other, at its time or as soon as that works.
    async fn see_job(&self, stage: &Stage, due: u64, closing: &mut Closing) -> anyhow::Result<()> {
        let until = Duration::from_secs(due) + ON_TIME;
        loop {
            let keys = stage.trial.target.calls().get("/drill").map_or(0, |keys| keys.len());
            if keys > 0 {
                let late = now()?.saturating_sub(Duration::from_secs(due));
                println!("the job of the lost region ran, seen {:.1} s after its time", late.as_secs_f64());
                if keys > 1 {
                    closing.accuse(format!("the job of the lost region ran under {keys} keys"));
                }
                return Ok(());
            }
            if now()? > until {
                closing
                    .accuse(format!("the job of the lost region did not run within {ON_TIME:?} of its time"));
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    /// It finds itself overtaken, keeps what the east never got, and mirrors. What it kept, as text.
    async fn west_returns(&self, stage: &mut Stage, closing: &mut Closing) -> anyhow::Result<String> {
        stage.west.start_nats()?;
        stage.west.nats_well().await?;
        stage.west.start_instances()?;
        let began = Instant::now();
        for instance in &mut stage.west.instances {
            instance.answers("/livez").await?;
        }
        stage.desks[1].standing_by().await?;
        let status = stage.desks[1].status().await?;
        let tail = &status["tail"];
        let streams = tail["streams"].as_array().map_or(0, Vec::len);
        let messages: u64 = tail["streams"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|stream| stream["messages"].as_u64())
            .sum();
        println!(
            "west returned: fenced, and level with east after {:.1} s; divergent tail: {messages} messages in {streams} streams",
            began.elapsed().as_secs_f64()
        );
        closing.count(messages, "messages in the divergent tail");
        let (active, epoch) = (&status["active"], stage.desks[0].epoch().await?);
        if *active != "east" || status["here"]["epoch"] != epoch {
            closing.accuse(format!("east is active under epoch {epoch}, and west says {status}"));
        }
        Ok(tail.to_string())
    }

    async fn audit(
        &self,
        stage: &Stage,
        loss: &Loss,
        tail: &str,
        closing: &mut Closing,
    ) -> anyhow::Result<()> {
        let addresses = stage.west.addresses();
        let kept: Vec<String> =
            stage.trial.posts.acknowledged().into_iter().filter(|id| !loss.lost.contains(id)).collect();
        let settled = settle::settle(&addresses, &kept).await?;
        let mut findings = stage.trial.audit(&addresses, &kept, settled).await?;
        // Their calls were made by the region that was lost.
        findings.invented.retain(|id| !loss.lost.contains(id));
        closing.audited(&stage.trial.posts, &findings);
        closing.count(loss.lost.len() as u64, "beyond the point of recovery");
        closing.count(loss.back.map_or(0, |back| back.as_millis() as u64), "ms to recover");
        if self.semi_sync && !loss.lost.is_empty() {
            closing.accuse(format!("{} were lost although answers waited for the pair", loss.lost.len()));
        }
        let unlisted: Vec<&String> = loss.lost.iter().filter(|id| !tail.contains(id.as_str())).collect();
        if !unlisted.is_empty() {
            closing.accuse(format!("lost, and not in the divergent tail: {unlisted:?}"));
        }
        Ok(())
    }

    async fn takes_requests(
        &self,
        stage: &Stage,
        addresses: &[SocketAddr],
        round: usize,
        began: Instant,
        closing: &mut Closing,
    ) -> String {
        let back = pulse::all_take_requests(addresses, &stage.trial.posts, round, began).await;
        if back.is_none() {
            closing.accuse("after a planned switch some partition never took requests".to_owned());
        }
        told(back)
    }
}

fn told(time: Option<Duration>) -> String {
    time.map_or("never".to_owned(), |time| format!("{:.1} s", time.as_secs_f64()))
}
