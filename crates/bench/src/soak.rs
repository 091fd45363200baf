//! `sortie bench soak`: the same load for long, to see whether anything grows.

mod setting;

use std::time::Duration;

use anyhow::Context;
use clap::Args;

use self::setting::SoakSetting;
use super::backlog::Account;
use super::chart::Chart;
use super::deliveries::{Deliveries, WORKFLOW};
use super::figures::{Figures, count};
use super::load::{Load, OPEN_CONNECTIONS, Stretch, drive};
use super::options::{DataDirectory, Picture};
use super::series;
use super::{progress, watch};

const WARM_UP_MAX: Duration = Duration::from_secs(5);
/// Points of the chart, at most.
const INTERVALS_MAX: u32 = 180;

/// Put the same load on for long, and see whether memory or latency grows
///
/// Whole deliveries come at a steady rate, answered or not. Memory and latency are looked at in each interval, and the
/// medians of the last third are compared with those of the first.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  sortie bench soak --minutes 30 --rate 2000 --chart soak.svg")]
pub struct Soak {
    /// Go on for this long
    #[arg(long, value_name = "N", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    minutes: u32,
    /// Go on for this many seconds instead
    #[arg(long, value_name = "N", conflicts_with = "minutes", value_parser = clap::value_parser!(u32).range(1..=600_000))]
    seconds: Option<u32>,
    /// Deliveries per second
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    rate: u32,
    /// Connections that stay open
    #[arg(long, value_name = "N", default_value_t = OPEN_CONNECTIONS, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    connections: u32,
    #[command(flatten)]
    picture: Picture,
    #[command(flatten)]
    place: DataDirectory,
}

impl Soak {
    pub async fn run(self, json: bool) -> anyhow::Result<()> {
        let measured = Duration::from_secs(self.seconds.unwrap_or(self.minutes * 60).into());
        let warm_up = WARM_UP_MAX.min(measured);
        let interval = (measured / INTERVALS_MAX).max(Duration::from_secs(1));
        let deliveries = Deliveries::start(&self.place, "").await?;
        let subject = &deliveries.subject;
        let sync = subject.sync()?;
        let stretch = Stretch { per_second: self.rate.into(), length: warm_up + measured };
        let load = Load { interval, ..Load::open(self.connections, warm_up, vec![stretch]) };
        let target = subject.target(WORKFLOW);
        let driving = progress::during("sortie", warm_up + measured, json, drive(&target, load, "bench"));
        let (measured, samples) = watch::during(subject, interval, driving).await.context("measuring")?;
        let bar = progress::bar("until all have ended", 0, json);
        let account = Account::settle(&mut subject.client()?, 0, &[&measured], &bar).await?;
        bar.finish_and_clear();
        drop(deliveries);
        let moments = series::moments(&measured, &samples, warm_up);
        let setting = SoakSetting::new(self.rate, &measured, account, moments);
        self.draw(&setting)?;
        Figures::new(None, &sync, setting).show(json)
    }

    fn draw(&self, setting: &SoakSetting) -> anyhow::Result<()> {
        let Some(path) = &self.picture.chart else { return Ok(()) };
        let chart = Chart {
            title: format!("{} deliveries per second, for long", count(self.rate)),
            subtitle: setting.verdict(),
            bands: Vec::new(),
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
