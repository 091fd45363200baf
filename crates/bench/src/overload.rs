//! `sortie bench overload`: more work than can be done, up to four times as much.

mod setting;

use std::time::Duration;

use anyhow::Context;
use clap::Args;

use self::setting::{Bounds, LoadStep, OverloadSetting};
use super::backlog::Account;
use super::chart::Chart;
use super::comparison::Comparison;
use super::deliveries::{Deliveries, WORKFLOW};
use super::figures::{Figures, thousands};
use super::load::{Load, Measured, OPEN_CONNECTIONS, Stretch, Target, drive, side};
use super::options::{DataDirectory, Picture};
use super::workflow::deliver;
use super::{bare, progress, series, watch};

const SECOND: Duration = Duration::from_secs(1);
/// What is offered, in multiples of what can be done.
const STEPS: [f64; 7] = [0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0];

/// Measure overload: up to four times the work that the server can do
///
/// First measures how many whole deliveries per second can be done. Then deliveries come at half of that rate, and
/// in steps at up to four times as much, answered or not. The backlog is bounded, so the server has to refuse: it
/// must continue with what it has accepted, reject the rest at once with a Retry-After, and lose nothing.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  sortie bench overload\n  sortie bench overload --seconds 20 --chart overload.svg"
)]
pub struct Overload {
    /// Seconds of each step
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=3600))]
    seconds: u32,
    /// Accepted requests that may wait; default: as many as can be done in two seconds
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(100..=10_000_000))]
    backlog: Option<u32>,
    /// Connections that stay open
    #[arg(long, value_name = "N", default_value_t = OPEN_CONNECTIONS, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    connections: u32,
    #[command(flatten)]
    picture: Picture,
    #[command(flatten)]
    place: DataDirectory,
}

impl Overload {
    pub async fn run(self, json: bool) -> anyhow::Result<()> {
        let capacity = self.capacity(json).await?;
        let backlog = self.backlog.unwrap_or(((capacity * 2.0) as u32).max(100));
        let settings = format!("[limits]\nunfinished_runs_max = {backlog}\n");
        let deliveries = Deliveries::start(&self.place, &settings).await?;
        let subject = &deliveries.subject;
        let sync = subject.sync()?;
        let target = subject.target(WORKFLOW);
        let load = self.measure("sortie", &target, capacity, &STEPS, json);
        let (measured, samples) = watch::during(subject, SECOND, load).await?;
        let bar = progress::bar("until all have ended", 0, json);
        let account = Account::settle(&mut subject.client()?, 0, &[&measured], &bar).await?;
        bar.finish_and_clear();
        drop(deliveries);

        let (_bare_server, target) = bare::start(&target).await?;
        let highest = STEPS[STEPS.len() - 1];
        let bare = self.measure(bare::NAME, &target, capacity, &[highest], json).await?;
        let part = |place: usize| {
            let length = self.length();
            let place = u32::try_from(place).unwrap_or(u32::MAX);
            measured.between(length * place, length * (place + 1))
        };
        let steps = STEPS.iter().enumerate();
        let steps = steps.map(|(place, factor)| LoadStep::new(*factor, &part(place), self.seconds)).collect();
        let series = series::moments(&measured, &samples, Duration::ZERO);
        let bounds = Bounds { capacity, backlog_max: backlog, connections: self.connections };
        let setting = OverloadSetting::new(bounds, &measured, steps, account, series);
        self.draw(&setting)?;
        let last = part(STEPS.len() - 1);
        let sortie = side(&last.latencies, last.accepted as f64 / f64::from(self.seconds));
        let comparison = Comparison::new("requests/s", bare::NAME, vec![(sortie, bare.side())]);
        Figures::new(Some(comparison), &sync, setting).show(json)
    }

    fn length(&self) -> Duration {
        Duration::from_secs(self.seconds.into())
    }

    /// Deliveries per second that this machine can do.
    async fn capacity(&self, json: bool) -> anyhow::Result<f64> {
        let deliveries = Deliveries::start(&self.place, "").await?;
        let mut client = deliveries.subject.client()?;
        let bar = progress::bar("what can be done", 3, json);
        // Small runs first: how many are done in the time of a step is not known yet.
        let (mut runs, mut per_second) = (500, 0.0);
        for name in ["c1", "c2", "c3"] {
            per_second = f64::from(runs) / deliver(&mut client, runs, name, &bar).await?;
            let seconds = f64::from(self.seconds.min(5));
            runs = (per_second * seconds) as u32 + 1;
        }
        bar.finish_and_clear();
        Ok(per_second)
    }

    /// Offers multiples of what can be done, one after the other.
    async fn measure(
        &self,
        name: &'static str,
        target: &Target,
        capacity: f64,
        steps: &[f64],
        json: bool,
    ) -> anyhow::Result<Measured> {
        let stretch = |factor: &f64| Stretch { per_second: factor * capacity, length: self.length() };
        let load = Load::open(self.connections, Duration::ZERO, steps.iter().map(stretch).collect());
        let time = load.measured;
        let measured = progress::during(name, time, json, drive(target, load, "bench")).await;
        measured.with_context(|| format!("measuring {name}"))
    }

    fn draw(&self, setting: &OverloadSetting) -> anyhow::Result<()> {
        let Some(path) = &self.picture.chart else { return Ok(()) };
        let seconds = f64::from(self.seconds);
        let band = |(place, factor): (usize, &f64)| {
            (place as f64 * seconds, (place as f64 + 1.0) * seconds, format!("{factor} x"))
        };
        let every_other = |(place, _): &(usize, &f64)| place % 2 == 1;
        let chart = Chart {
            title: format!(
                "Offered up to 4 times the {} runs per second that can be done",
                thousands(setting.bounds.capacity)
            ),
            subtitle: setting.verdict(),
            bands: STEPS.iter().enumerate().filter(every_other).map(band).collect(),
            panels: vec![
                series::rate_panel(&setting.series),
                series::latency_panel(&setting.series),
                series::waiting_panel(&setting.series),
            ],
        };
        std::fs::write(path, chart.render()).with_context(|| format!("writing {}", path.display()))
    }
}
