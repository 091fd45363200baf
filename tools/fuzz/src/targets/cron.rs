//! Cron expressions and other short texts with a rule: what is read is printed, and reads the same.

use kernel::recurrence::{check_zone, next, shortest_period};
use schedule::{
    Date, Duration, Moment, history_id, parse_history_filter, parse_history_id, parse_job_filter,
};
use types::{
    Cron, Gap, Key, Recurrence, Repeat, Rule, RunId, ServiceName, Span, StepName, Ticks, Timing, WorkflowName,
};

use crate::Target;
use crate::input::text;

pub const TARGET: Target = Target {
    name: "cron",
    run,
    seeds,
    words: &[
        "*",
        "*/",
        "L",
        "1-5",
        "MON",
        "FRI-SUN",
        "JAN",
        "@daily",
        "@every",
        "@reboot",
        ",",
        "#",
        "?",
        "W",
        "60",
        "7",
        "T",
        "Z",
        "+01:00",
        "PT",
        "P1D",
        "2016-02-29",
        "24:00:00",
        ".9999999",
        "state eq ",
        "status eq '",
        "1h",
        "ms",
        "Europe/Berlin",
    ],
    inputs: 1600,
};

fn run(bytes: &[u8]) {
    let Some(text) = text(bytes) else { return };
    match text.parse::<Cron>() {
        Ok(cron) => check_cron(cron),
        Err(problem) => assert!(!problem.to_string().is_empty()),
    }
    if let Ok(date) = text.parse::<Date>() {
        assert_eq!(date.to_string().parse::<Date>(), Ok(date), "{text:?} is {date}");
    }
    if let Ok(Moment::Instant(date)) = text.parse::<Moment>() {
        assert_eq!(text.parse::<Date>(), Ok(date));
    }
    if let Ok(duration) = text.parse::<Duration>() {
        assert_eq!(duration.as_str().parse::<Duration>().map(|again| again.span()), Ok(duration.span()));
    }
    if let Ok(span) = text.parse::<Span>() {
        assert_eq!(span.to_string().parse::<Span>().ok(), Some(span), "{text:?} is {span}");
    }
    if let Some((start, counter)) = parse_history_id(text) {
        assert_eq!(history_id(start, counter), text);
    }
    let _ = (parse_job_filter(text), parse_history_filter(text));
    // Who looks for the nearest of 600 names takes a while: only for what might be one.
    if text.contains('/') {
        let _ = check_zone(text).map_err(|unknown| assert!(unknown.to_string().len() < 1000));
    }
    for name in [
        RunId::new(text).map(|name| name.to_string()),
        Key::new(text).map(|name| name.to_string()),
        WorkflowName::new(text).map(|name| name.to_string()),
        ServiceName::new(text).map(|name| name.to_string()),
        StepName::new(text).map(|name| name.to_string()),
    ] {
        match name {
            Ok(name) => assert_eq!(name, text),
            Err(problem) => assert!(problem.to_string().len() < 1000),
        }
    }
}

fn check_cron(cron: Cron) {
    assert_eq!(cron.to_string().parse::<Cron>(), Ok(cron), "printed as {cron}");
    let recurrence = Some(Recurrence { rule: Rule::Cron(cron), count: None, end: None });
    let (gap, repeat, jitter) = (Gap::End, Repeat::First, Span::ZERO);
    let timing = Timing { start: None, recurrence, zone: None, gap, repeat, jitter };
    let now = Ticks(1_700_000_000 * Ticks::PER_SECOND);
    let period = shortest_period(&timing, now);
    let one = next(&timing, now, now);
    let two = one.and_then(|one| next(&timing, now, one));
    assert!(one.is_none_or(|one| one > now), "{cron}");
    if let (Some(one), Some(two), Some(period)) = (one, two, period) {
        assert!(
            two.0 - one.0 >= period.as_ms().cast_signed() * Ticks::PER_MS,
            "{cron} has a period of {period}"
        );
    }
}

fn seeds() -> Vec<Vec<u8>> {
    [
        "*/5 * * * *",
        "0 30 2 29 FEB *",
        "1 * * * * *",
        "*/20 0 12 * * *",
        "59 59 23 31 DEC SAT",
        "0 0 1,15,L * MON-FRI",
        "59 23 31 12 0",
        "@hourly",
        "15 10 * JAN-MAR 1-5/2",
        "2016-03-30T20:37:51.323981Z",
        "2026-10-25 02:30:00+01:00",
        "2026-10-25",
        "PT1H30M",
        "P1DT12H0.5S",
        "1.02:03:04.5",
        "90s",
        "1500ms",
        "00315537897599999999:00000000000000000007",
        "state eq Disabled",
        "status eq 'Failed'",
        "America/Argentina/Buenos_Aires",
        "order-17",
    ]
    .map(|text| text.as_bytes().to_vec())
    .into()
}
