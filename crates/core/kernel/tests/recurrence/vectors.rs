//! The documented examples and recorded answers of Azure Scheduler.

use kernel::recurrence::{first, preview};
use serde_json::Value;
use types::{Frequency, Monthly, Schedule, Span, WeekDay};

use crate::{at, every, scheduled, show_all, timing};

#[test]
fn every_recorded_case_fires_when_azure_scheduler_fired() {
    let path =
        concat!(env!("CARGO_MANIFEST_DIR"), "/../../../testdata/azure-scheduler/25_recurrence_vectors.json");
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let file: Value = serde_json::from_str(&text).unwrap();
    let cases = file["vectors"].as_array().unwrap();
    for case in cases {
        let frequency = frequency(case["frequency"].as_str().unwrap());
        let interval = u32::try_from(case["interval"].as_u64().unwrap()).unwrap();
        let rule = match &case["schedule"] {
            Value::Null => every(interval, frequency),
            schedule => scheduled(interval, frequency, read(schedule)),
        };
        let timing = timing(case["startTime"].as_str(), rule);
        let now = at(case["now"].as_str().unwrap());
        let immediately = now + Span::from_secs(20);
        let expected: Vec<&str> =
            case["expected_first"].as_array().unwrap().iter().map(|at| at.as_str().unwrap()).collect();
        let planned = preview(&timing, now, immediately, expected.len());
        assert_eq!(show_all(planned.iter().map(|planned| planned.at)), expected, "{}", case["id"]);
        assert_eq!(first(&timing, now, immediately), Some(planned[0].at), "{}", case["id"]);
    }
    println!("{} recorded cases", cases.len());
    assert_eq!(cases.len(), 36);
}

/// More recorded answers: their jobs all start on Monday, 2015-07-13.
#[test]
fn weekly_and_monthly_jobs_fire_when_azure_scheduler_fired() {
    let hours =
        Schedule { hours: vec![5, 10, 15, 20], minutes: vec![0, 10, 20, 30, 40, 50], ..Schedule::default() };
    let monday = Schedule { week_days: vec![WeekDay::Monday], ..hours.clone() };
    let days = Schedule { month_days: vec![15, 30], ..hours.clone() };
    let firsts = [WeekDay::Monday, WeekDay::Friday].map(|day| Monthly { day, occurrence: Some(1) });
    let weekdays = Schedule { monthly: firsts.to_vec(), ..hours };
    let cases = [
        (Frequency::Week, monday, "2016-04-04T05:00:00Z"),
        (Frequency::Month, days, "2016-03-30T20:00:00Z"),
        (Frequency::Month, weekdays, "2016-04-01T05:00:00Z"),
    ];
    let now = at("2016-03-30T19:36:08Z");
    for (frequency, schedule, expected) in cases {
        let timing = timing(Some("2015-07-13T00:00:00Z"), scheduled(1, frequency, schedule));
        assert_eq!(first(&timing, now, now), Some(at(expected)), "{timing:?}");
    }
}

fn frequency(text: &str) -> Frequency {
    match text {
        "minute" => Frequency::Minute,
        "hour" => Frequency::Hour,
        "day" => Frequency::Day,
        "week" => Frequency::Week,
        "month" => Frequency::Month,
        _ => panic!("no frequency: {text}"),
    }
}

fn read(schedule: &Value) -> Schedule {
    let list = |name: &str| schedule[name].as_array().cloned().unwrap_or_default();
    let number = |value: &Value| value.as_i64().unwrap();
    Schedule {
        minutes: list("minutes").iter().map(|value| number(value) as u8).collect(),
        hours: list("hours").iter().map(|value| number(value) as u8).collect(),
        week_days: list("weekDays").iter().map(week_day).collect(),
        month_days: list("monthDays").iter().map(|value| number(value) as i8).collect(),
        monthly: list("monthlyOccurrences")
            .iter()
            .map(|rule| Monthly {
                day: week_day(&rule["day"]),
                occurrence: rule["occurrence"].as_i64().map(|nth| nth as i8),
            })
            .collect(),
    }
}

fn week_day(name: &Value) -> WeekDay {
    let named = |day: &WeekDay| format!("{day:?}").eq_ignore_ascii_case(name.as_str().unwrap());
    WeekDay::ALL.into_iter().find(named).unwrap_or_else(|| panic!("no day: {name}"))
}
