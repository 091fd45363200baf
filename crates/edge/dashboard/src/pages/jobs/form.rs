//! The controls of the job form, and the mapping from document fields to controls.

use maud::{Markup, html};

use super::document::{CALL_FIELDS, CALLS, WEEK_DAYS};
use crate::components::controls::Controls;

const METHODS: [(&str, &str); 6] = [
    ("GET", "GET"),
    ("POST", "POST"),
    ("PUT", "PUT"),
    ("PATCH", "PATCH"),
    ("DELETE", "DELETE"),
    ("HEAD", "HEAD"),
];
const AUTHENTICATIONS: [(&str, &str); 4] = [
    ("", "none"),
    ("Basic", "Basic (user and password)"),
    ("ClientCertificate", "client certificate"),
    ("ActiveDirectoryOAuth", "OAuth token from Azure AD"),
];
const MODES: [(&str, &str); 4] = [
    ("every", "at an interval"),
    ("cron", "by cron expression"),
    ("at", "once, at a given time"),
    ("once", "once, immediately or at the start time"),
];
const FREQUENCIES: [(&str, &str); 5] =
    [("minute", "minutes"), ("hour", "hours"), ("day", "days"), ("week", "weeks"), ("month", "months")];
const RETRIES: [(&str, &str); 4] = [
    ("", "default: 4 retries, 30 s apart"),
    ("none", "no retries"),
    ("fixed", "fixed delay"),
    ("exponential", "exponential backoff"),
];
const MISSED: [(&str, &str); 4] = [
    ("", "default: run the latest"),
    ("latest", "run the latest"),
    ("all", "run all, oldest first"),
    ("skip", "run none"),
];
const OVERLAPS: [(&str, &str); 4] = [
    ("", "default: skip"),
    ("skip", "skip"),
    ("queue", "wait for the previous one"),
    ("allow", "run in parallel"),
];
const GAPS: [(&str, &str); 3] =
    [("", "default: fire when the gap ends"), ("end", "fire when the gap ends"), ("skip", "do not fire")];
const REPEATS: [(&str, &str); 3] =
    [("", "default: fire the first time"), ("first", "fire the first time"), ("both", "fire both times")];
const STATES: [(&str, &str); 2] = [("enabled", "enabled"), ("disabled", "disabled")];

const KEPT: &str = "Never shown. Leave empty to keep the stored value.";

/// All controls except the name.
pub(super) fn controls(controls: &Controls) -> Markup {
    html! {
        (call("Action", "", controls))
        (when(controls))
        fieldset {
            legend { "Missed and overlapping occurrences" }
            div.columns {
                (controls.choice("missed", "Missed occurrences", "More than a minute late, for example because the server was down.", &MISSED))
                (controls.choice("overlap", "When the previous occurrence is still running", "", &OVERLAPS))
                (controls.line("jitter", "Jitter", "Delays each occurrence by a random part of this, for example 5m."))
                (controls.choice("gap", "When daylight saving skips the time", "", &GAPS))
                (controls.choice("repeat", "When daylight saving repeats the time", "", &REPEATS))
                (controls.choice("state", "State", "", &STATES))
            }
        }
        details.error-action open[!controls.text("error_kind").is_empty()] {
            summary { "Error action (after the last failed attempt)" }
            (call("Then", "error_", controls))
        }
    }
}

fn call(title: &str, prefix: &str, controls: &Controls) -> Markup {
    let at = |control: &str| format!("{prefix}{control}");
    let mut kinds = vec![
        ("http", "HTTP request"),
        ("workflow", "start a workflow"),
        ("queue", "send to a queue"),
        ("topic", "send to a topic"),
    ];
    if !prefix.is_empty() {
        kinds.insert(0, ("", "nothing"));
    }
    html! {
        fieldset.call {
            legend { (title) }
            (controls.choice(&at("kind"), "Action", "For other actions (brokers, Azure queues), edit the job as JSON.", &kinds))
            div.for-http {
                div.columns {
                    (controls.choice(&at("method"), "Method", "", &METHODS))
                    (controls.line(&at("uri"), "URL", "http:// or https://"))
                }
                (controls.lines(&at("headers"), "Headers", "NAME: VALUE, one per line.", 2))
                (controls.lines(&at("body"), "Body", "", 3))
                (authentication(prefix, controls))
            }
            div.for-workflow {
                (controls.line(&at("workflow_name"), "Workflow", ""))
                (controls.lines(&at("workflow_body"), "Request", "As JSON.", 4))
                (controls.line(&at("workflow_id"), "Run id", "Optional. By default each occurrence starts a run with a new id."))
            }
            div.for-queue {
                (controls.line(&at("queue_name"), "Queue", ""))
                (controls.lines(&at("queue_message"), "Message", "", 3))
            }
            div.for-topic {
                (controls.line(&at("topic_name"), "Topic", ""))
                (controls.lines(&at("topic_message"), "Message", "", 3))
            }
            div.columns.retries {
                (controls.choice(&at("retry"), "Retries", "", &RETRIES))
                (controls.line(&at("retry_interval"), "Delay", "For example 30s; with exponential backoff, the first delay."))
                (controls.line(&at("retry_count"), "Max. retries", "Up to 20. Default: 4."))
                (controls.line(&at("retry_max"), "Max. delay", "Upper limit of exponential backoff, for example 1h."))
            }
        }
    }
}

fn authentication(prefix: &str, controls: &Controls) -> Markup {
    let at = |control: &str| format!("{prefix}{control}");
    html! {
        div.signs-in {
            (controls.choice(&at("auth"), "Authentication", "", &AUTHENTICATIONS))
            div.for-basic.columns {
                (controls.line(&at("auth_username"), "User", ""))
                (controls.secret(&at("auth_password"), "Password", KEPT))
            }
            div.for-certificate.columns {
                (controls.secret(&at("auth_pfx"), "Certificate (PKCS#12 in base64)", KEPT))
                (controls.secret(&at("auth_pfx_password"), "Certificate password", KEPT))
            }
            div.for-token.columns {
                (controls.line(&at("auth_tenant"), "Tenant", ""))
                (controls.line(&at("auth_audience"), "Audience", ""))
                (controls.line(&at("auth_client"), "Client id", ""))
                (controls.secret(&at("auth_secret"), "Secret", KEPT))
            }
        }
    }
}

fn when(controls: &Controls) -> Markup {
    html! {
        fieldset.when {
            legend { "Schedule" }
            (controls.choice("mode", "Fires", "", &MODES))
            div.for-at { (controls.line("at", "Time", "For example 2026-12-24T18:00:00. Without an offset, the time zone below applies.")) }
            div.for-every {
                div.columns {
                    (controls.line("interval", "Every", "A number. Default: 1."))
                    (controls.choice("frequency", "Unit", "", &FREQUENCIES))
                    (controls.line("hours", "At hours", "For example 9, 17. For days, weeks and months."))
                    (controls.line("minutes", "At minutes", "For example 0, 30."))
                    (controls.line("month_days", "On days of the month", "For example 1, 15, -1 (-1 is the last day)."))
                }
                fieldset.days {
                    legend { "On weekdays" }
                    @for day in WEEK_DAYS { (controls.flag(&format!("day_{day}"), day)) }
                }
            }
            div.for-cron { (controls.line("cron", "Cron expression", "Minute, hour, day, month, weekday, for example 30 6 * * MON-FRI. An optional first field sets seconds.")) }
            div.columns {
                (controls.line("time_zone", "Time zone", "For example Europe/Berlin. Default: UTC."))
                div.for-start { (controls.line("start", "Start time", "For example 2026-12-01T00:00:00Z.")) }
                div.for-rule { (controls.line("end", "End time", "For example 2027-12-01T00:00:00Z.")) }
                div.for-rule { (controls.line("count", "Max. occurrences", "Default: unlimited.")) }
            }
        }
    }
}

/// The control for a field of the document.
pub(super) fn control_of(field: &str) -> Option<String> {
    let field = field.strip_prefix("properties.").unwrap_or(field);
    if let Some(place) = field.strip_prefix("action.errorAction.") {
        return call_control(CALLS[1], place);
    }
    if let Some(place) = field.strip_prefix("action.") {
        return call_control(CALLS[0], place);
    }
    let name = match field.split(['[', '.']).collect::<Vec<_>>().as_slice() {
        ["timeZone"] => "time_zone",
        ["startTime"] => "start",
        ["clockChange", "gap", ..] => "gap",
        ["clockChange", "repeat", ..] => "repeat",
        ["recurrence", "endTime", ..] => "end",
        ["recurrence", "schedule", "monthDays", ..] => "month_days",
        ["recurrence", "schedule", "weekDays", ..] => "day_monday",
        ["recurrence", "schedule", name @ ("hours" | "minutes"), ..] => name,
        ["recurrence", name @ ("frequency" | "interval" | "cron" | "count"), ..] => name,
        ["recurrence"] => "frequency",
        [name @ ("at" | "missed" | "overlap" | "jitter" | "state"), ..] => name,
        ["cron"] => "cron",
        ["name"] => "name",
        _ => return None,
    };
    Some(name.to_owned())
}

fn call_control(prefix: &str, place: &str) -> Option<String> {
    let pointer = format!("/{}", place.replace('.', "/"));
    let found = CALL_FIELDS.iter().find(|(_, place)| *place == pointer).map(|(control, _)| *control);
    let found = found.or(match pointer.as_str() {
        "/request/authentication/password" => Some("auth_password"),
        "/request/authentication/pfx" => Some("auth_pfx"),
        "/request/authentication/secret" => Some("auth_secret"),
        "/request/authentication" => Some("auth"),
        "/retryPolicy" => Some("retry"),
        "/type" => Some("kind"),
        place if place.starts_with("/request/headers") => Some("headers"),
        place if place.starts_with("/workflow/body") => Some("workflow_body"),
        _ => None,
    });
    found.map(|control| format!("{prefix}{control}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::components::controls::FieldValues;

    #[test]
    fn a_field_of_the_document_leads_to_its_control() {
        for (field, control) in [
            ("properties.action.request.uri", "uri"),
            ("properties.action.errorAction.request.uri", "error_uri"),
            ("properties.action.errorAction.retryPolicy.retryInterval", "error_retry_interval"),
            ("properties.action.request.headers.X-A", "headers"),
            ("properties.recurrence.interval", "interval"),
            ("properties.recurrence.schedule.hours[1]", "hours"),
            ("properties.timeZone", "time_zone"),
            ("recurrence.cron", "cron"),
        ] {
            assert_eq!(control_of(field).as_deref(), Some(control), "{field}");
        }
        assert_eq!(control_of("properties.action.kafka.topic"), None);
    }

    /// A control that is mapped but not rendered would lose its value.
    #[test]
    fn every_control_of_the_document_is_drawn_once() {
        let drawn = controls(&Controls::new(FieldValues::new())).into_string();
        let mut names: Vec<String> = CALLS
            .iter()
            .flat_map(|prefix| CALL_FIELDS.iter().map(move |(name, _)| format!("{prefix}{name}")))
            .collect();
        names.extend(WEEK_DAYS.map(|day| format!("day_{day}")));
        for name in [
            "mode",
            "at",
            "start",
            "end",
            "count",
            "cron",
            "frequency",
            "interval",
            "hours",
            "minutes",
            "month_days",
            "time_zone",
            "missed",
            "overlap",
            "jitter",
            "gap",
            "repeat",
            "state",
            "kind",
            "headers",
            "workflow_body",
            "error_kind",
            "error_headers",
            "error_workflow_body",
        ] {
            names.push(name.to_owned());
        }
        for name in names {
            assert_eq!(drawn.matches(&format!(" name=\"{name}\"")).count(), 1, "{name}");
        }
    }
}
