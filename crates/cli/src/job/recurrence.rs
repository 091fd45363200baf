//! A recurrence as text.

use schedule::When;

use super::view::JobProperties;

/// `every day at 03:00, Europe/Berlin, 10 times`
pub fn describe(job: &JobProperties) -> String {
    let when = When {
        start_time: job.start_time,
        recurrence: job.recurrence.clone(),
        at: job.at,
        time_zone: job.time_zone.clone(),
    };
    when.to_string()
}

pub fn plural(count: impl Into<u64>, word: &str) -> String {
    if count.into() == 1 { word.to_owned() } else { format!("{word}s") }
}
