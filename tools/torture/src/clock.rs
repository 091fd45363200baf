//! The wall clock is set back and forward while jobs fire and runs retry.

mod target;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Context;
use bytes::Bytes;
use clap::Args;
use hyper::Method;
use serde_json::{Value, json};

use self::target::{Arrival, TimedTarget};
use crate::client::Client;
use crate::dice::Dice;
use crate::process::{ProcessEnvironment, Sortie};
use crate::report::{Closing, RoundResult};
use crate::rig::{Rig, TOKEN};

const LIBRARY: &str = "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1";
const COLLECTION: &str = "/v1/collections/clock";
/// How far the clock is ahead of the machine's in each phase, in seconds, and what the step is called.
const PHASES: [(i64, &str); 7] = [
    (0, "as it is"),
    (-HOUR, "an hour back"),
    (0, "an hour forward again"),
    (HOUR, "an hour ahead"),
    (2 * DAY, "two days ahead"),
    (2 * DAY - 90, "back across occurrences"),
    (2 * DAY, "forward across the same occurrences"),
];
const PHASE: Duration = Duration::from_secs(4);
const HOUR: i64 = 3600;
const DAY: i64 = 24 * HOUR;
/// The delay between two attempts of a step, and what it may be on a busy machine.
const RETRY_MS: u64 = 400;
const RETRY_MS_MAX: u64 = 20_000;
const ATTEMPTS: u32 = 4;
/// So many that none of them fails often enough for its breaker to open.
const SERVICES: usize = 24;
const PATIENCE: Duration = Duration::from_secs(60);

/// Set the wall clock of the server back and forward under load, and look for what fires twice, stalls or hurries
#[derive(Args)]
pub struct ClockJumps {
    #[command(flatten)]
    rig: Rig,
}

/// A job: its name, its rule, and what becomes of what it missed.
const JOBS: [(&str, &str, &str); 6] = [
    ("second-latest", "* * * * * *", "latest"),
    ("second-skip", "* * * * * *", "skip"),
    ("minute-latest", "* * * * *", "latest"),
    ("minute-skip", "* * * * *", "skip"),
    ("hour-latest", "0 * * * *", "latest"),
    ("hour-all", "0 * * * *", "all"),
];

impl ClockJumps {
    pub async fn run(self) -> anyhow::Result<RoundResult> {
        self.rig.within("clock", async |seed, directory| self.torture(seed, directory).await).await
    }

    async fn torture(&self, seed: u64, directory: &Path) -> anyhow::Result<RoundResult> {
        let mut closing = Closing::new("clock");
        if !library_is_there() {
            closing.skip("clock jumps: libfaketime is missing and cannot be installed".to_owned());
            return Ok(closing.print(seed));
        }
        let mut dice = Dice::new(seed);
        let wall = Wall { file: directory.join("wall") };
        wall.set(0)?;
        let surroundings = ProcessEnvironment::default()
            .with("LD_PRELOAD", LIBRARY)
            .with("FAKETIME_TIMESTAMP_FILE", wall.file.display())
            .with("FAKETIME_NO_CACHE", 1)
            .with("FAKETIME_DONT_FAKE_MONOTONIC", 1);
        let sortie = Sortie::new(&self.rig.bin, directory, TOKEN, &mut dice)?.surrounded_by(surroundings);
        let target = TimedTarget::start(ATTEMPTS, SERVICES).await?;
        let mut running = sortie.start()?;
        running.ready().await?;
        let mut client = Client::new(sortie.address, Some(TOKEN));
        prepare(&mut client, &target).await?;
        let mut runs = Vec::new();
        let mut jumps = Vec::new();
        for (ahead, name) in PHASES {
            jumps.push(Jump { at: Instant::now(), wall: now_secs()? + ahead, ahead, name });
            wall.set(ahead)?;
            let began = Instant::now();
            while began.elapsed() < PHASE {
                let path = format!("/v1/workflows/again-{}/runs", runs.len() % SERVICES);
                let sent = client.send(Method::POST, &path, "application/json", "{}".into()).await?;
                runs.push(sent.success()?.run()?.id);
                tokio::time::sleep(dice.milliseconds(50, 250)).await;
            }
            running.check_alive()?;
        }
        let ended = settle(&mut client, &runs, &mut closing).await?;
        let arrivals = target.arrivals();
        closing.count(PHASES.len() as u64 - 1, "jumps");
        closing.count(ended, "runs completed");
        let retries = check_retries(&arrivals, &mut closing);
        closing.count(retries, "retries in time");
        let occurrences = check_jobs(&arrivals, &jumps, &mut closing);
        closing.count(occurrences, "occurrences");
        Ok(closing.print(seed))
    }
}

/// The source of the server's wall-clock time.
struct Wall {
    file: PathBuf,
}

impl Wall {
    /// Renamed into place: the library reads it with every question for the time.
    fn set(&self, ahead: i64) -> anyhow::Result<()> {
        let draft = self.file.with_extension("draft");
        std::fs::write(&draft, format!("{ahead:+}\n")).context("writing the time")?;
        std::fs::rename(&draft, &self.file).context("setting the time")
    }
}

/// When the clock was set, and to what.
struct Jump {
    at: Instant,
    wall: i64,
    ahead: i64,
    name: &'static str,
}

fn library_is_there() -> bool {
    if Path::new(LIBRARY).exists() {
        return true;
    }
    println!("libfaketime is missing: installing it");
    let install = |arguments: &[&str]| {
        let apt = std::process::Command::new("apt-get").args(arguments).output();
        apt.is_ok_and(|output| output.status.success())
    };
    let installed = install(&["install", "-y", "libfaketime"])
        || (install(&["update"]) && install(&["install", "-y", "libfaketime"]));
    installed && Path::new(LIBRARY).exists()
}

async fn prepare(client: &mut Client, target: &TimedTarget) -> anyhow::Result<()> {
    for (number, address) in target.addresses.iter().enumerate() {
        let workflow = json!({
            "name": format!("again-{number}"),
            "services": { "target": { "url": format!("http://{address}"), "timeout": "20s" } },
            "steps": { "call": { "call": { "service": "target", "method": "POST", "path": "/again" } } },
            "retry": { "type": "fixed", "delay": format!("{RETRY_MS}ms"), "attempts": 20 },
        });
        let body = Bytes::from(workflow.to_string());
        client.send(Method::POST, "/v1/workflows", "application/json", body).await?.success()?;
    }
    let jobs = JOBS.map(|(name, cron, missed)| {
        json!({ "name": name, "properties": {
            "action": {
                "type": "http",
                "request": { "uri": format!("http://{}/job/{name}", target.addresses[0]), "method": "POST" },
                "retryPolicy": { "retryType": "none" },
            },
            "recurrence": { "cron": cron },
            "missed": missed,
            "overlap": "allow",
        }})
    });
    let import = Bytes::from(json!({ "collection": {}, "jobs": jobs }).to_string());
    let path = format!("{COLLECTION}/import");
    client
        .send(Method::POST, &path, "application/json", import)
        .await?
        .success()
        .context("importing the jobs")?;
    Ok(())
}

/// Waits for every run; those that do not complete are findings.
async fn settle(client: &mut Client, runs: &[String], closing: &mut Closing) -> anyhow::Result<u64> {
    let began = Instant::now();
    let mut completed = 0;
    for id in runs {
        loop {
            let answer = client.get(&format!("/v1/runs/{id}")).await?.success()?;
            let shown: Value = serde_json::from_slice(&answer.body)?;
            if shown["status"] == "completed" {
                completed += 1;
                break;
            }
            let ended = shown["status"] == "undone" || shown["status"] == "parked";
            if ended || began.elapsed() > PATIENCE {
                closing.add_finding(format!("run {id} does not complete: {shown}"));
                break;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
    Ok(completed)
}

/// The attempts of every run, by the monotonic clock.
fn check_retries(arrivals: &[Arrival], closing: &mut Closing) -> u64 {
    let mut by_key: BTreeMap<&str, Vec<Instant>> = BTreeMap::new();
    for arrival in arrivals.iter().filter(|arrival| arrival.path == "/again") {
        by_key.entry(&arrival.key).or_default().push(arrival.at);
    }
    let mut in_time = 0;
    for (key, times) in by_key {
        for pair in times.windows(2) {
            let waited = pair[1].duration_since(pair[0]).as_millis() as u64;
            // The first response was in transit for some of it; the clock has a resolution of a millisecond.
            if waited + 2 < RETRY_MS {
                closing.add_finding(format!("{key} was retried after {waited} ms instead of {RETRY_MS}"));
            } else if waited > RETRY_MS_MAX {
                closing.add_finding(format!("{key} was retried only after {waited} ms"));
            } else {
                in_time += 1;
            }
        }
        if times.len() != ATTEMPTS as usize {
            closing.add_finding(format!("{key} was tried {} times instead of {ATTEMPTS}", times.len()));
        }
    }
    in_time
}

/// Every job's occurrences: once each, in order, and those that a jump skipped as the job says.
fn check_jobs(arrivals: &[Arrival], jumps: &[Jump], closing: &mut Closing) -> u64 {
    let mut count = 0;
    for (name, cron, missed) in JOBS {
        let path = format!("/job/{name}");
        let mut fired: Vec<Fired> = Vec::new();
        let mut keys = BTreeSet::new();
        for arrival in arrivals.iter().filter(|arrival| arrival.path == path) {
            if !keys.insert(&arrival.key) {
                closing.add_finding(format!("{name}: {} was fired twice", arrival.key));
            }
            match planned_secs(&arrival.key) {
                Some(planned) => fired.push(Fired { planned, at: arrival.at }),
                None => closing.add_finding(format!("{name}: an unknown key {}", arrival.key)),
            }
        }
        count += fired.len() as u64;
        let period = match cron {
            "* * * * * *" => 1,
            "* * * * *" => 60,
            _ => HOUR,
        };
        check_phases(name, period, missed, &fired, jumps, closing);
    }
    count
}

struct Fired {
    planned: i64,
    at: Instant,
}

fn check_phases(
    name: &str,
    period: i64,
    missed: &str,
    fired: &[Fired],
    jumps: &[Jump],
    closing: &mut Closing,
) {
    // Nothing before the first phase is known to have been planned.
    let mut newest = jumps[0].wall;
    for (index, jump) in jumps.iter().enumerate() {
        let until = jumps.get(index + 1).map(|next| next.at);
        // What is fired as the clock is set may have been decided before.
        let here: Vec<i64> = fired
            .iter()
            .filter(|fired| fired.at >= jump.at && until.is_none_or(|until| fired.at < until))
            .map(|fired| fired.planned)
            .collect();
        let late = |planned: &&i64| **planned < jump.wall - 60;
        let gap = (jump.wall - 60) / period - newest / period;
        let caught_up = here.iter().filter(late).count() as i64;
        let expected = match missed {
            _ if gap <= 0 => 0..=0,
            "skip" => 0..=0,
            "all" => gap - 1..=gap + 1,
            _ => 0..=1,
        };
        if !expected.contains(&caught_up) {
            closing.add_finding(format!(
                "{name}: {caught_up} of {gap} missed occurrences were fired {} ({}), and not {expected:?}",
                jump.name, jump.ahead
            ));
        }
        if let Some(again) = here.iter().find(|planned| **planned <= newest && index > 0) {
            closing.add_finding(format!("{name}: {again} was fired {}, after {newest}", jump.name));
        }
        let wall_end = jump.wall + PHASE.as_secs() as i64;
        let goes_on = period == 1 && wall_end > newest + 2;
        if goes_on && !here.iter().any(|planned| *planned >= jump.wall - 1) {
            closing.add_finding(format!("{name}: nothing was fired {}", jump.name));
        }
        newest = here.iter().copied().chain([newest]).max().unwrap_or(newest);
    }
}

/// The planned time in a key: the job's own id, and steps of 100 ns since 1970.
fn planned_secs(key: &str) -> Option<i64> {
    let run = key.strip_suffix("/action/do")?;
    Some(run.split_once('.')?.1.parse::<i64>().ok()? / 10_000_000)
}

fn now_secs() -> anyhow::Result<i64> {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH)?;
    Ok(now.as_secs().try_into()?)
}
