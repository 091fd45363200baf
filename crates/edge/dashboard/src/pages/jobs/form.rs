//! The controls of a job's form, and which of them a field of its document has.

use maud::{Markup, html};

use super::document::{CALL_FIELDS, CALLS, WEEK_DAYS};
use crate::pieces::controls::Controls;

const METHODS: [(&str, &str); 6] = [
    ("GET", "GET"),
    ("POST", "POST"),
    ("PUT", "PUT"),
    ("PATCH", "PATCH"),
    ("DELETE", "DELETE"),
    ("HEAD", "HEAD"),
];
const AUTHENTICATIONS: [(&str, &str); 4] = [
    ("", "not at all"),
    ("Basic", "with a user and a password"),
    ("ClientCertificate", "with a client certificate"),
    ("ActiveDirectoryOAuth", "with a token of Azure AD"),
];
const MODES: [(&str, &str); 4] = [
    ("every", "again and again"),
    ("cron", "by a cron expression"),
    ("at", "once, at a time"),
    ("once", "once, at the start or at once"),
];
const FREQUENCIES: [(&str, &str); 5] =
    [("minute", "minutes"), ("hour", "hours"), ("day", "days"), ("week", "weeks"), ("month", "months")];
const RETRIES: [(&str, &str); 4] = [
    ("", "as usual: 4 more times, 30 s apart"),
    ("none", "no retries"),
    ("fixed", "with the same delay each time"),
    ("exponential", "with growing delays"),
];
const MISSED: [(&str, &str); 4] = [
    ("", "as usual: the newest runs"),
    ("latest", "the newest of them runs"),
    ("all", "all of them run, the oldest first"),
    ("skip", "none of them runs"),
];
const OVERLAPS: [(&str, &str); 4] = [
    ("", "as usual: it is left out"),
    ("skip", "it is left out"),
    ("queue", "it waits for the one before"),
    ("allow", "both run side by side"),
];
const GAPS: [(&str, &str); 3] = [
    ("", "as usual: fires when the gap ends"),
    ("end", "fires when the gap ends"),
    ("skip", "does not fire"),
];
const REPEATS: [(&str, &str); 3] =
    [("", "as usual: fires the first time"), ("first", "fires the first time"), ("both", "fires both times")];
const STATES: [(&str, &str); 2] = [("enabled", "enabled: fires when it is due"), ("disabled", "disabled")];

const KEPT: &str = "Never shown. Leave it empty to keep the one that is stored.";

/// All controls but those of the name.
pub(super) fn controls(controls: &Controls) -> Markup {
    html! {
        (call("What it does", "", controls))
        (when(controls))
        fieldset {
            legend { "When it does not go to plan" }
            div.columns {
                (controls.choice("missed", "Occurrences that could not fire in time", "More than a minute late: the server was down.", &MISSED))
                (controls.choice("overlap", "An occurrence while another is under way", "", &OVERLAPS))
                (controls.line("jitter", "Jitter", "Each occurrence is put off by a part of this, like 5m."))
                (controls.choice("gap", "A local time that the clocks leave out", "", &GAPS))
                (controls.choice("repeat", "A local time that comes twice", "", &REPEATS))
                (controls.choice("state", "State", "", &STATES))
            }
        }
        details.error-action open[!controls.text("error_kind").is_empty()] {
            summary { "When all attempts have failed" }
            (call("Then", "error_", controls))
        }
    }
}

fn call(title: &str, prefix: &str, controls: &Controls) -> Markup {
    let at = |control: &str| format!("{prefix}{control}");
    let mut kinds = vec![
        ("http", "an HTTP call"),
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
            (controls.choice(&at("kind"), "Action", "Other actions (brokers, Azure queues) are written as JSON.", &kinds))
            div.for-http {
                div.columns {
                    (controls.choice(&at("method"), "Method", "", &METHODS))
                    (controls.line(&at("uri"), "URL", "http:// or https://"))
                }
                (controls.lines(&at("headers"), "Headers", "NAME: VALUE, one in each line.", 2))
                (controls.lines(&at("body"), "Body", "", 3))
                (authentication(prefix, controls))
            }
            div.for-workflow {
                (controls.line(&at("workflow_name"), "Workflow", ""))
                (controls.lines(&at("workflow_body"), "Request", "As JSON.", 4))
                (controls.line(&at("workflow_id"), "Id of the run", "May stay empty: then each occurrence starts a run of its own."))
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
                (controls.line(&at("retry_interval"), "Delay", "Like 30s; of growing delays the first."))
                (controls.line(&at("retry_count"), "Retries at most", "At most 20; 4 when empty."))
                (controls.line(&at("retry_max"), "Longest delay", "Where growing delays stop, like 1h."))
            }
        }
    }
}

fn authentication(prefix: &str, controls: &Controls) -> Markup {
    let at = |control: &str| format!("{prefix}{control}");
    html! {
        div.signs-in {
            (controls.choice(&at("auth"), "Signs in", "", &AUTHENTICATIONS))
            div.for-basic.columns {
                (controls.line(&at("auth_username"), "User", ""))
                (controls.secret(&at("auth_password"), "Password", KEPT))
            }
            div.for-certificate.columns {
                (controls.secret(&at("auth_pfx"), "Certificate (PKCS#12 in base64)", KEPT))
                (controls.secret(&at("auth_pfx_password"), "Password of the certificate", KEPT))
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
            legend { "When" }
            (controls.choice("mode", "Fires", "", &MODES))
            div.for-at { (controls.line("at", "Time", "Like 2026-12-24T18:00:00; without an offset it is read in the time zone.")) }
            div.for-every {
                div.columns {
                    (controls.line("interval", "Every", "A number; 1 when empty."))
                    (controls.choice("frequency", "Unit", "", &FREQUENCIES))
                    (controls.line("hours", "At hours", "Like 9, 17; of days, weeks and months."))
                    (controls.line("minutes", "At minutes", "Like 0, 30."))
                    (controls.line("month_days", "On days of the month", "Like 1, 15, -1; -1 is the last."))
                }
                fieldset.days {
                    legend { "On weekdays" }
                    @for day in WEEK_DAYS { (controls.flag(&format!("day_{day}"), day)) }
                }
            }
            div.for-cron { (controls.line("cron", "Cron expression", "Minute, hour, day, month, weekday, like 30 6 * * MON-FRI; a sixth field in front is the second.")) }
            div.columns {
                (controls.line("time_zone", "Time zone", "Like Europe/Berlin; UTC when empty."))
                div.for-start { (controls.line("start", "Not before", "Like 2026-12-01T00:00:00Z.")) }
                div.for-rule { (controls.line("end", "Not after", "Like 2027-12-01T00:00:00Z.")) }
                div.for-rule { (controls.line("count", "Occurrences in all", "No bound when empty.")) }
            }
        }
    }
}

/// The control that a field of the document has.
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
    use crate::pieces::controls::FieldValues;

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

    /// A control that is named in the document but not drawn would lose what stands in it.
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
