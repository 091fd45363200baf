//! `sortie job preview`: the next firings of an existing job or of a schedule.

use api_types::Time;
use clap::Args;
use schedule::Date;
use serde::Deserialize;
use serde_json::json;
use types::Timestamp;

use super::JSON;
use super::name::JobName;
use super::timing::{Timing, date};
use super::view::{JobItem, local, second, time};
use crate::client::{self, Call};
use crate::failure::Failure;
use crate::screen::{Screen, Tone};
use crate::session::Session;
use crate::table::{Cell, Column, TextTable};
use crate::when;

/// Show when a job will fire: an existing job, or one you describe
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  sortie job preview ops/report\n  sortie job preview --cron '30 2 * * *' --time-zone Europe/Berlin --now 2027-03-27 --count 3"
)]
pub struct Preview {
    /// The job, as COLLECTION/JOB; without it the options describe the schedule
    #[arg(conflicts_with_all = ["cron", "every", "at", "start", "end", "time_zone", "jitter", "now"])]
    job: Option<JobName>,
    #[command(flatten)]
    timing: Timing,
    /// The number of firings to list
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=1000))]
    count: u32,
    /// Pretend that it is this time
    #[arg(long, value_name = "TIME", value_parser = date)]
    now: Option<String>,
}

/// The times of the firings, and those affected by a clock change.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Firings {
    pub occurrences: Vec<Date>,
    #[serde(default)]
    clock_changes: Vec<ClockChangeView>,
}

#[derive(Debug, Deserialize)]
struct ClockChangeView {
    occurrence: Date,
    change: String,
}

impl Preview {
    pub async fn run(self, mut session: Session) -> anyhow::Result<()> {
        let (answer, zone, now) = match &self.job {
            Some(job) => {
                let shown: JobItem = job.send(&mut session, Call::get(job.path(""))).await?.value()?;
                let path = client::query(&job.path("/preview"), &[("count", Some(self.count.to_string()))]);
                (session.client.send(Call::get(path)).await?, shown.properties.time_zone, None)
            }
            None if !self.timing.recurs() && self.timing.at.is_none() && self.timing.start.is_none() => {
                let text = "name a job, or describe a schedule with --cron, --every, --at or --start";
                return Err(Failure::Usage(text.to_owned()).into());
            }
            None => {
                let mut body = json!({ "count": self.count });
                self.timing.write(&mut body);
                if let Some(now) = &self.now {
                    body["now"] = now.as_str().into();
                }
                let answer = session.client.send(Call::post("/v1/preview", JSON, body.to_string())).await?;
                let now = self.now.as_ref().and_then(|now| now.parse::<Date>().ok());
                (answer, self.timing.time_zone.clone(), now)
            }
        };
        session.show(&answer, || {
            let firings: Firings = answer.value()?;
            if firings.occurrences.is_empty() {
                return Ok("No more firings.\n".to_owned());
            }
            let now = now.map_or_else(when::now, |now| now.0.floor());
            Ok(render(&firings, zone.as_deref(), now, &session.screen))
        })
    }
}

pub fn render(firings: &Firings, zone: Option<&str>, now: Timestamp, screen: &Screen) -> String {
    let mut table = TextTable::new([
        Column::whole("WHEN (UTC)"),
        Column::text("LOCAL").major(),
        Column::number("IN"),
        Column::text("CLOCKS"),
    ])
    .indented(2);
    for occurrence in &firings.occurrences {
        let change = firings.clock_changes.iter().find(|change| change.occurrence == *occurrence);
        table.row([
            Cell::new(second(*occurrence)),
            Cell::new(zone.and_then(|zone| local(*occurrence, zone)).unwrap_or_default()),
            Cell::toned(Tone::Faint, when::between(Time(now), time(*occurrence))),
            Cell::toned(Tone::Attention, change.map_or("", |change| change.change.as_str())),
        ]);
    }
    table.render(screen)
}
