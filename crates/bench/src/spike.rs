//! `sortie bench spike`: a load that grows to a multiple within a moment, and falls back.

mod setting;

use std::time::Duration;

use anyhow::Context;
use clap::Args;
use tokio::time::Instant;

use self::setting::SpikeSetting;
use super::backlog::Account;
use super::chart::Chart;
use super::comparison::Comparison;
use super::deliveries::{Deliveries, WORKFLOW};
use super::figures::{Figures, count};
use super::load::{Load, Measured, OPEN_CONNECTIONS, Stretch, Target, drive, side};
use super::options::{DataDirectory, Picture};
use super::watch::{self, Sample};
use super::{bare, progress, series};

const SECOND: Duration = Duration::from_secs(1);
const WARM_UP: Duration = Duration::from_secs(2);
/// A spike is held when it refuses nothing and 99 % of its answers come within this time.
const P99_MS_MAX: f64 = 500.0;
/// How finely --search looks, in multiples of the usual rate, and how long it tries each.
const SEARCH_STEP: f64 = 0.25;
const SEARCH_SECONDS_MAX: u32 = 10;

/// Measure what a spike does: a load that grows to a multiple within a moment, and falls back
///
/// Deliveries come at a rate of their own, answered or not, and latency counts from the time each was due. While the
/// spike lasts they may wait for their five calls, but none may be refused or lost: at the end the bench waits until
/// all have ended, and counts them. A bare hyper server is put through the same spike in the same run.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  sortie bench spike\n  sortie bench spike --rate 2000 --spike-rate 10000 --during 10 --chart spike.svg"
)]
pub struct Spike {
    /// Requests per second before and after
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    rate: u32,
    /// Requests per second in the spike
    #[arg(long, value_name = "N", default_value_t = 50_000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    spike_rate: u32,
    /// Seconds before the spike; as long as the spike, but 10 at most, by default
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=3600))]
    before: Option<u32>,
    /// Seconds that the spike lasts
    #[arg(long, alias = "seconds", value_name = "N", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=3600))]
    during: u32,
    /// Seconds after the spike; as long as the spike, but 10 at most, by default
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=3600))]
    after: Option<u32>,
    /// Connections that stay open
    #[arg(long, value_name = "N", default_value_t = OPEN_CONNECTIONS, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    connections: u32,
    /// When the spike is not held, look for the highest multiple that is
    #[arg(long)]
    search: bool,
    #[command(flatten)]
    picture: Picture,
    #[command(flatten)]
    place: DataDirectory,
}

/// The parts of a spike.
#[derive(Debug, Clone, Copy)]
struct Plan {
    rate: f64,
    spike_rate: f64,
    before: Duration,
    during: Duration,
    after: Duration,
    connections: u32,
}

impl Plan {
    fn load(&self) -> Load {
        let stretch = |per_second, length| Stretch { per_second, length };
        let stretches = vec![
            stretch(self.rate, WARM_UP + self.before),
            stretch(self.spike_rate, self.during),
            stretch(self.rate, self.after),
        ];
        Load::open(self.connections, WARM_UP, stretches)
    }

    fn length(&self) -> Duration {
        WARM_UP + self.before + self.during + self.after
    }

    /// What 99 % of the answers in the spike took at most.
    fn spike_p99_ms(&self, measured: &Measured) -> f64 {
        side(&measured.between(self.before, self.before + self.during).latencies, 0.0).p99_ms
    }

    fn is_held(&self, measured: &Measured) -> bool {
        measured.refused == 0 && measured.failed == 0 && self.spike_p99_ms(measured) < P99_MS_MAX
    }
}

impl Spike {
    pub async fn run(self, json: bool) -> anyhow::Result<()> {
        let plan = self.plan();
        let deliveries = Deliveries::start(&self.place, "").await?;
        let subject = &deliveries.subject;
        let sync = subject.sync()?;
        let target = subject.target(WORKFLOW);
        let (measured, samples) =
            watch::during(subject, SECOND, measure("sortie", &target, plan, json)).await?;
        let begun = Instant::now();
        let bar = progress::bar("until all have ended", 0, json);
        let account = Account::settle(&mut subject.client()?, 0, &[&measured], &bar).await?;
        bar.finish_and_clear();
        let drain_seconds = begun.elapsed().as_secs_f64();
        drop(deliveries);

        let (_bare_server, target) = bare::start(&target).await?;
        let bare = measure(bare::NAME, &target, plan, json).await?;
        let held = plan.is_held(&measured);
        let highest_held = match held {
            false if self.search => self.search(plan, json).await?,
            _ => None,
        };
        let setting = SpikeSetting::new(plan, &measured, &samples, account, drain_seconds, highest_held);
        self.draw(plan, &setting)?;
        let pair = (measured.side(), bare.side());
        let comparison = Comparison::new("requests/s", bare::NAME, vec![pair]);
        Figures::new(Some(comparison), &sync, setting).show(json)
    }

    fn plan(&self) -> Plan {
        let beside = self.during.min(10);
        let seconds = |count: u32| Duration::from_secs(count.into());
        Plan {
            rate: self.rate.into(),
            spike_rate: self.spike_rate.into(),
            before: seconds(self.before.unwrap_or(beside)),
            during: seconds(self.during),
            after: seconds(self.after.unwrap_or(beside)),
            connections: self.connections,
        }
    }

    /// Bisects between a rate that is sustained and one that is not, with a new server for each attempt.
    async fn search(&self, plan: Plan, json: bool) -> anyhow::Result<Option<f64>> {
        let (mut held, mut broken) = (None, plan.spike_rate / plan.rate);
        loop {
            let low = held.unwrap_or(0.0);
            let middle = ((low + broken) / 2.0 / SEARCH_STEP).round() * SEARCH_STEP;
            if middle <= low || middle >= broken {
                return Ok(held);
            }
            let short = Duration::from_secs(self.during.min(SEARCH_SECONDS_MAX).into());
            let plan =
                Plan { spike_rate: plan.rate * middle, before: SECOND, during: short, after: SECOND, ..plan };
            let deliveries = Deliveries::start(&self.place, "").await?;
            let target = deliveries.subject.target(WORKFLOW);
            let measured = measure("searching", &target, plan, json).await?;
            match plan.is_held(&measured) {
                true => held = Some(middle),
                false => broken = middle,
            }
        }
    }

    fn draw(&self, plan: Plan, setting: &SpikeSetting) -> anyhow::Result<()> {
        let Some(path) = &self.picture.chart else { return Ok(()) };
        let (from, until) = (plan.before.as_secs_f64(), (plan.before + plan.during).as_secs_f64());
        let (rate, spike_rate) = (count(self.rate), count(self.spike_rate));
        let chart = Chart {
            title: format!("A spike from {rate} to {spike_rate} requests per second"),
            subtitle: setting.verdict(),
            bands: vec![(from, until, "spike".to_owned())],
            panels: vec![
                series::latency_panel(&setting.series),
                series::rate_panel(&setting.series),
                series::waiting_panel(&setting.series),
                series::memory_panel(&setting.series),
            ],
        };
        std::fs::write(path, chart.render()).with_context(|| format!("writing {}", path.display()))
    }
}

async fn measure(name: &'static str, target: &Target, plan: Plan, json: bool) -> anyhow::Result<Measured> {
    let measured = progress::during(name, plan.length(), json, drive(target, plan.load(), "bench")).await;
    measured.with_context(|| format!("measuring {name}"))
}
