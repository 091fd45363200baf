//! `sortie bench schedule`: how many jobs a server holds, and how punctually it fires them.

mod lateness;
mod load;
mod setting;
mod target;
mod timers;

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, ensure};
use clap::Args;
use schedule::Date;
use terminal::machine;
use tokio::time::Instant;
use types::{Ticks, Timestamp};

use self::lateness::Lateness;
use self::load::{Load, check};
use self::setting::ScheduleSetting;
use self::target::{Plan, Serving, Target};
use super::backlog::Progress;
use super::comparison::{Comparison, Side};
use super::figures::Figures;
use super::options::DataDirectory;
use super::subject::Subject;
use super::{load as generator, progress};
use crate::UsageError;
use crate::client::ApiClient;

/// What every call carries.
const BODY: &str = "the time has come";
/// Connections of the bare loop.
const BARE_CONNECTIONS: u32 = 128;
/// From the end of loading to the first call that is due.
const SETTLE_MS: i64 = 4_000;
/// Calls that do not come for this long do not come at all.
const STALL_MAX: Duration = Duration::from_secs(20);
const POLL: Duration = Duration::from_millis(50);
/// After the restart, nothing that was done may come again.
const REPEATS_WAIT: Duration = Duration::from_secs(3);

/// Measure how many jobs a server holds, and how punctually it fires them
///
/// Loads jobs by import: most of them daily and far ahead, the others due one by one in the measured seconds.
/// Latencies are from the time that a call was due to its arrival at the target. A bare loop of timers in memory
/// makes the same calls in the same run. At the end the server is killed and started again.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  sortie bench schedule --jobs 1000000 --rate 10000 --seconds 20")]
pub struct Schedule {
    /// The total number of jobs
    #[arg(long, value_name = "N", default_value_t = 250_000, value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    jobs: u32,
    /// Jobs that are due in each measured second
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    rate: u32,
    /// Measure for this long
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=3600))]
    seconds: u32,
    #[command(flatten)]
    place: DataDirectory,
}

/// What was measured of the server beside its calls.
struct Held {
    load_seconds: f64,
    memory_empty: u64,
    memory_loaded: u64,
}

impl Schedule {
    pub async fn run(self, json: bool) -> anyhow::Result<()> {
        let due = u64::from(self.rate) * u64::from(self.seconds);
        let calls = u32::try_from(due).ok().filter(|calls| *calls <= self.jobs).ok_or_else(|| {
            UsageError(format!("--rate times --seconds is {due}, more than the {} of --jobs", self.jobs))
        })?;
        let subject = Subject::start(&self.place, "").await?;
        let sync = subject.sync()?;
        let target = Target::listen().await?;
        let (plan, held) = self.load(&subject, &target, calls, json).await?;
        let serving = target.serve(plan);
        let mut client = subject.client()?;
        let before = Lateness::of(&mut client).await?;
        wait(&serving, plan, "sortie", json).await;
        let server_lateness = Lateness::of(&mut client).await?.since(&before);
        let memory_after = subject.memory_bytes()?;
        settle(&mut client).await?;

        let begun = Instant::now();
        let subject = subject.kill().start().await?;
        check(&subject, self.jobs).await?;
        let restart_seconds = begun.elapsed().as_secs_f64();
        let memory_restarted = subject.memory_bytes()?;
        tokio::time::sleep(REPEATS_WAIT).await;
        drop(subject);

        let (lateness, early) = serving.lateness();
        let sortie = generator::side(&lateness, serving.per_second());
        let (arrived, repeated) = (serving.came(), serving.repeated());
        drop(serving);
        let bare = self.measure_bare(calls, json).await?;
        let setting = ScheduleSetting {
            jobs: self.jobs,
            rate: self.rate,
            seconds: self.seconds,
            due: calls,
            lost: u64::from(calls) - arrived,
            repeated,
            early,
            max_ms: lateness.max() as f64 / 1000.0,
            server_p50_ms: server_lateness.ms_at(0.5),
            server_p99_ms: server_lateness.ms_at(0.99),
            server_max_ms: server_lateness.ms_at(1.0),
            load_seconds: held.load_seconds,
            memory_empty_bytes: held.memory_empty,
            memory_loaded_bytes: held.memory_loaded,
            memory_after_bytes: memory_after,
            memory_per_job_bytes: held.memory_loaded.saturating_sub(held.memory_empty) / u64::from(self.jobs),
            restart_seconds,
            memory_restarted_bytes: memory_restarted,
        };
        let comparison = Comparison::new("firings/s", "bare timers", vec![(sortie, bare)]);
        Figures::new(Some(comparison), &sync, setting).show(json)
    }

    /// First the jobs that are due much later: their rate says when the others can be due.
    async fn load(
        &self,
        subject: &Subject,
        target: &Target,
        calls: u32,
        json: bool,
    ) -> anyhow::Result<(Plan, Held)> {
        let memory_empty = subject.memory_bytes()?;
        let addresses = target.addresses.clone();
        let place = Arc::new(move |number: u32| addresses[number as usize % addresses.len()]);
        let bar = progress::bar("loading jobs", u64::from(self.jobs), json);
        let begun = Instant::now();
        let (far, tomorrow) = (self.jobs - calls, machine::now().0 + 24 * 3600 * 1000);
        let address = place.clone();
        let far_ahead = move |number: u32| {
            let start = tomorrow + i64::from(number) * 86_400_000 / i64::from(far);
            let recurrence = r#","recurrence":{"frequency":"day"}"#;
            properties(&format!("http://{}/far/{number}", address(number)), start, recurrence)
        };
        Load { name: "far", jobs: far, properties: Arc::new(far_ahead) }.run(subject, &bar).await?;
        let seconds_each = if far > 0 { begun.elapsed().as_secs_f64() / f64::from(far) } else { 0.001 };
        let loading_ms = (seconds_each * f64::from(calls) * 2000.0) as i64;
        let begin_ms = machine::now().0 + loading_ms + SETTLE_MS;
        let plan = Plan { calls, per_second: self.rate, begin_ms };
        let due_soon =
            move |call: u32| properties(&format!("http://{}/{call}", place(call)), plan.due_ms(call), "");
        Load { name: "due", jobs: calls, properties: Arc::new(due_soon) }.run(subject, &bar).await?;
        let load_seconds = begun.elapsed().as_secs_f64();
        bar.finish_and_clear();
        ensure!(machine::now().0 < begin_ms, "loading took so long that jobs were due before it ended");
        check(subject, self.jobs).await?;
        let memory_loaded = subject.memory_bytes()?;
        Ok((plan, Held { load_seconds, memory_empty, memory_loaded }))
    }

    async fn measure_bare(&self, calls: u32, json: bool) -> anyhow::Result<Side> {
        let target = Target::listen().await?;
        let addresses = target.addresses.clone();
        let plan = Plan { calls, per_second: self.rate, begin_ms: machine::now().0 + 500 };
        let serving = target.serve(plan);
        let (driven, ()) = tokio::join!(
            timers::drive(&addresses, plan, BARE_CONNECTIONS),
            wait(&serving, plan, "bare timers", json)
        );
        driven.context("measuring the bare loop")?;
        Ok(generator::side(&serving.lateness().0, serving.per_second()))
    }
}

fn properties(uri: &str, start_ms: i64, recurrence: &str) -> String {
    let start = Date(Ticks::from(Timestamp(start_ms)));
    format!(
        r#"{{"startTime":"{start}","action":{{"type":"Http","request":{{"uri":"{uri}","method":"POST","body":"{BODY}"}}}}{recurrence}}}"#
    )
}

/// Waits until the server has persisted the outcomes of its calls: a call whose outcome is lost is made again.
async fn settle(client: &mut ApiClient) -> anyhow::Result<()> {
    let begun = Instant::now();
    while Progress::of(client).await?.unfinished > 0 {
        ensure!(begun.elapsed() < STALL_MAX, "calls have come, but their runs do not end");
        tokio::time::sleep(POLL).await;
    }
    Ok(())
}

/// Waits until all calls of a plan have come, or no more do.
async fn wait(serving: &Serving, plan: Plan, name: &'static str, json: bool) {
    let bar = progress::bar(name, u64::from(plan.calls), json);
    let end_ms = plan.due_ms(plan.calls);
    let (mut last, mut moved_at) = (0, Instant::now());
    loop {
        let came = serving.came();
        bar.set_position(came);
        if came >= u64::from(plan.calls) {
            break;
        }
        if came != last || machine::now().0 < end_ms {
            (last, moved_at) = (came, Instant::now());
        }
        if moved_at.elapsed() > STALL_MAX {
            break;
        }
        tokio::time::sleep(POLL).await;
    }
    bar.finish_and_clear();
}
