//! Tests of the conversion between documents and forms.

use proptest::prelude::*;

use super::*;

#[track_caller]
fn survives(written: Value) {
    let texts = texts(&written).unwrap_or_else(|| panic!("the form can represent {written}"));
    assert_eq!(document(&texts), Ok(written));
}

#[test]
fn the_usual_jobs_are_forms() {
    let http = json!({ "type": "Http", "request": { "method": "GET", "uri": "http://x/" } });
    survives(json!({ "action": http, "state": "enabled" }));
    survives(
        json!({ "action": http, "at": "2026-12-24T18:00:00", "timeZone": "Europe/Berlin", "state": "enabled" }),
    );
    survives(
        json!({ "action": http, "recurrence": { "cron": "0 3 * * *", "count": 3 }, "state": "disabled" }),
    );
    survives(json!({
        "action": {
            "type": "Https",
            "request": { "method": "POST", "uri": "https://x/", "headers": { "A": "b: c", "D": "" }, "body": " {}\n",
                         "authentication": { "type": "Basic", "username": "u" } },
            "retryPolicy": { "retryType": "exponential", "retryInterval": "PT15S", "retryCount": 6, "maxRetryInterval": "PT10M" },
            "errorAction": { "type": "Queue", "queue": { "name": "alarms", "message": "no report" },
                             "retryPolicy": { "retryType": "none" } }
        },
        "recurrence": { "frequency": "month", "interval": 2, "count": 12, "endTime": "2027-12-01T00:00:00Z",
                        "schedule": { "monthDays": [1, -1], "hours": [9, 17], "minutes": [0], "weekDays": ["monday", "friday"] } },
        "startTime": "2026-12-01T00:00:00Z", "clockChange": { "gap": "skip", "repeat": "both" },
        "missed": "all", "overlap": "queue", "jitter": "PT5M", "timeZone": "Europe/Berlin", "state": "enabled"
    }));
    survives(json!({
        "action": { "type": "Workflow", "workflow": { "name": "w", "id": "i", "body": { "a": [1.5, null, "x\r\n"] } } },
        "state": "enabled"
    }));
}

#[test]
fn what_the_form_cannot_say_is_edited_as_json() {
    let with = |name: &str, value: Value| {
        let mut job = json!({ "action": { "type": "Http", "request": { "method": "GET", "uri": "http://x/" } }, "state": "enabled" });
        let (parent, name) = name.rsplit_once('/').expect("a pointer");
        job.pointer_mut(parent)
            .and_then(Value::as_object_mut)
            .expect("an object")
            .insert(name.to_owned(), value);
        job
    };
    for job in [
        with("/unknown", json!(1)),
        with("/action/unknown", json!(1)),
        with("/action/request/unknown", json!(1)),
        with("/action/request/body", json!("two\r\nlines")),
        with("/action/request/uri", json!(" http://x/")),
        with("/action/request/headers", json!({ "a b:c": "d" })),
        with("/action/request/headers", json!({ "a": "two\nlines" })),
        with(
            "/recurrence",
            json!({ "frequency": "month", "schedule": { "monthlyOccurrences": [{ "day": "friday" }] } }),
        ),
        with("/recurrence", json!({ "frequency": "week", "schedule": { "weekDays": ["friday", "monday"] } })),
        with("/recurrence", json!({ "cron": "* * * * *", "frequency": "hour" })),
        with("/action/request/authentication", json!({ "type": "Other" })),
        with("/action/retryPolicy", json!({ "retryType": "none", "retryCount": 3 })),
        json!({ "action": { "type": "Kafka", "kafka": { "servers": "x:1", "topic": "t", "message": "m" } }, "state": "enabled" }),
        json!({ "action": { "type": "Queue", "queue": { "name": "q", "message": "m",
                "brokeredMessageProperties": { "label": "x" } } }, "state": "enabled" }),
    ] {
        assert_eq!(texts(&job), None, "{job}");
    }
}

#[test]
fn read_only_members_are_not_written_again() {
    let shown = json!({
        "action": { "type": "Https", "request": { "method": "GET", "uri": "https://x/", "authentication": {
            "type": "ClientCertificate", "certificateThumbprint": "t", "certificateExpiration": "e", "certificateSubjectName": "s" } } },
        "state": "faulted", "status": { "failureCount": 1 }
    });
    let written = writable(&shown);
    assert_eq!(written["state"], "enabled");
    assert_eq!(written["action"]["request"]["authentication"], json!({ "type": "ClientCertificate" }));
    survives(written);
}

#[test]
fn what_cannot_be_read_is_reported_at_its_control() {
    let filled = [
        ("kind", "http"),
        ("headers", "no colon"),
        ("mode", "every"),
        ("hours", "nine"),
        ("error_kind", "workflow"),
        ("error_workflow_body", "{"),
    ];
    let filled: FieldValues = filled.map(|(name, text)| (name.to_owned(), text.to_owned())).into();
    let wrong: Vec<String> =
        document(&filled).expect_err("three are wrong").into_iter().map(|(name, _)| name).collect();
    assert_eq!(wrong, ["headers", "error_workflow_body", "hours"]);
}

/// What a user may type or choose in a control.
fn typed(name: &'static str) -> BoxedStrategy<String> {
    let words = |words: &'static [&'static str]| prop::sample::select(words).prop_map(str::to_owned).boxed();
    match name {
        "kind" => words(&["http", "workflow", "queue", "topic"]),
        "error_kind" => words(&["", "http", "workflow", "queue", "topic"]),
        "mode" => words(&["every", "cron", "at", "once"]),
        "auth" | "error_auth" => words(&["", "Basic", "ClientCertificate", "ActiveDirectoryOAuth"]),
        "retry" | "error_retry" => words(&["", "none", "fixed", "exponential"]),
        "hours" | "minutes" | "month_days" => words(&["", "1", "9, 17", "0,30", " -1 "]),
        "interval" | "count" | "retry_count" | "error_retry_count" => words(&["", "1", "12", "many"]),
        "workflow_body" | "error_workflow_body" => words(&["", "{}", "[1,2]", "\"x\"", "{\"a\": null}"]),
        "headers" | "error_headers" => words(&["", "A: b", "A: b\nC:d", "X:"]),
        name if name.starts_with("day_") => words(&["", "true"]),
        _ => prop_oneof![Just(String::new()), "[a-z0-9:/. -]{1,12}"].boxed(),
    }
}

const NAMES: [&str; 40] = [
    "kind",
    "method",
    "uri",
    "body",
    "headers",
    "auth",
    "auth_username",
    "auth_tenant",
    "auth_audience",
    "auth_client",
    "workflow_name",
    "workflow_id",
    "workflow_body",
    "queue_name",
    "queue_message",
    "topic_name",
    "topic_message",
    "retry",
    "retry_interval",
    "retry_count",
    "retry_max",
    "error_kind",
    "error_uri",
    "error_auth",
    "error_retry",
    "error_workflow_body",
    "mode",
    "at",
    "cron",
    "frequency",
    "interval",
    "hours",
    "minutes",
    "month_days",
    "day_monday",
    "day_sunday",
    "start",
    "end",
    "count",
    "time_zone",
];

proptest! {
    /// A document made with the form, shown in the form and saved again, is unchanged.
    #[test]
    fn a_document_of_the_form_survives_the_form(values in NAMES.map(typed)) {
        let filled: FieldValues = NAMES.iter().zip(values).map(|(name, text)| ((*name).to_owned(), text)).collect();
        let written = document(&filled).expect("these values are valid");
        let shown = texts(&written);
        prop_assert!(shown.is_some(), "the form made {written} and cannot show it");
        prop_assert_eq!(document(&shown.unwrap_or_default()), Ok(written));
    }
}
