//! `sortie bench overload`: more work than can be done, up to four times as much.

mod setting;

use std::time::Duration;

use anyhow::Context;
use clap::Args;

use self::setting::{OverloadSetting, Step};
use super::backlog::Account;
use super::chart::Chart;
use super::comparison::{Comparison, Side};
use super::deliveries::{Deliveries, WORKFLOW};
use super::figures::{Figures, thousands};
use super::load::{Load, Measured, OPEN_CONNECTIONS, Stretch, Target, drive};
use super::options::{Picture, Place};
use super::series::{self, Moment};
use super::workflow::deliver;
use super::{bare, progress, watch};

const SECOND: Duration = Duration::from_secs(1);
/// What is offered, in multiples of what can be done.
const STEPS: [f64; 7] = [0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0];
/// Names of requests, by step: one run never takes the ids of another.
const NAMES: [&str; STEPS.len()] = ["s1", "s2", "s3", "s4", "s5", "s6", "s7"];

/// Measure what more work than can be done does, up to four times as much
///
/// First measures how many whole deliveries per second can be done. Then deliveries come at half of that rate, and
/// in steps at up to four times as much, answered or not. The backlog is bounded, so the server has to refuse: it
/// must go on with what it has accepted, refuse the rest at once and say when to come again, and lose nothing.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  sortie bench overload\n  sortie bench overload --seconds 20 --chart overload.svg"
)]
pub struct Overload {
    /// Seconds of each step
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=3600))]
    seconds: u32,
    /// Accepted requests that may wait; as many as can be done in two seconds, by default
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(100..=10_000_000))]
    backlog: Option<u32>,
    /// Connections that stay open
    #[arg(long, value_name = "N", default_value_t = OPEN_CONNECTIONS, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    connections: u32,
    #[command(flatten)]
    picture: Picture,
    #[command(flatten)]
    place: Place,
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
        let (mut loads, mut series): (Vec<Measured>, Vec<Moment>) = Default::default();
        for (factor, name) in STEPS.into_iter().zip(NAMES) {
            let step = self.measure(&target, factor * capacity, name, json);
            let (measured, samples) = watch::during(subject, SECOND, step).await?;
            let begin = f64::from(self.seconds) * loads.len() as f64;
            let moments = series::moments(&measured, &samples, Duration::ZERO).into_iter();
            // Answers that came later belong to the next step on the page.
            let moments = moments.take(self.seconds as usize);
            series.extend(moments.map(|moment| Moment { second: begin + moment.second, ..moment }));
            loads.push(measured);
        }
        let bar = progress::bar("until all have ended", 0, json);
        let all: Vec<&Measured> = loads.iter().collect();
        let account = Account::settle(&mut subject.client()?, 0, &all, &bar).await?;
        bar.finish_and_clear();
        drop(deliveries);

        let (_bare_server, target) = bare::start(&target).await?;
        let bare = self.measure(&target, STEPS[STEPS.len() - 1] * capacity, "bare", json).await?;
        let steps = STEPS.iter().zip(&loads).map(|(factor, load)| Step::new(*factor, load, self.seconds));
        let setting =
            OverloadSetting::new(capacity, backlog, self.connections, steps.collect(), account, series);
        self.draw(&setting)?;
        let pair = (last_side(&loads), bare.side());
        let comparison = Comparison::new("requests/s", bare::NAME, vec![pair]);
        Figures::new(Some(comparison), &sync, setting).show(json)
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

    async fn measure(
        &self,
        target: &Target,
        per_second: f64,
        name: &'static str,
        json: bool,
    ) -> anyhow::Result<Measured> {
        let length = Duration::from_secs(self.seconds.into());
        let load = Load::open(self.connections, Duration::ZERO, vec![Stretch { per_second, length }]);
        progress::during(name, length, json, drive(target, load, name)).await.context("measuring a step")
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
                thousands(setting.capacity)
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

/// What stands beside the bare server: the highest step.
fn last_side(loads: &[Measured]) -> Side {
    loads.last().map(Measured::side).unwrap_or(Side {
        throughput: 0.0,
        p50_ms: 0.0,
        p99_ms: 0.0,
        p999_ms: 0.0,
    })
}
