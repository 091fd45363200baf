//! A job: its action and schedule, its next firings, its history, and how late it fired.

use http::Method;
use maud::{Markup, html};
use serde_json::{Value, json};

use super::{AttemptPage, Firings, JobAddress, JobDocument, collection_address, describe, history, lateness};
use crate::components;
use crate::context::{PageContext, encoded, place};
use crate::error::PageError;
use crate::page::{self, Page};
use crate::pages::FormOutcome;

/// Attempts per page.
const ROWS: usize = 20;
/// Attempts in the lateness chart.
const PLOTTED: usize = 100;
const FIRINGS: usize = 5;

const STATUSES: [(&str, &str); 3] = [("", "any"), ("completed", "completed"), ("failed", "failed")];

pub(super) async fn show(ctx: &PageContext, at: &JobAddress) -> Result<Page, PageError> {
    let job: JobDocument = ctx.get(&at.api()).await?;
    let firings: Firings = ctx.get(&format!("{}/preview?count={FIRINGS}", at.api())).await?;
    let newest: AttemptPage = ctx.get(&format!("{}/history?limit={PLOTTED}", at.api())).await?;
    let (cursor, status) = (ctx.query_value("cursor"), ctx.query_value("status"));
    let query = [("cursor", cursor.clone()), ("status", status.clone()), ("limit", Some(ROWS.to_string()))];
    let shown: AttemptPage = ctx.get(&place(&format!("{}/history", at.api()), query)).await?;
    let there =
        |cursor: Option<String>| place(&at.address(), [("status", status.clone()), ("cursor", cursor)]);
    let (first, next) = (cursor.is_some().then(|| there(None)), shown.next.map(|next| there(Some(next))));
    let zone = job.properties.get("timeZone").and_then(Value::as_str);
    Ok(Page::new(&job.name, page::NavSection::Jobs)
        .part(html! { p { "Job in collection " a href=(collection_address(&at.collection)) { (at.collection) } } })
        .live("job", facts(&job))
        .live("actions", actions(at, job.state()))
        .live("next", html! { h2 { "Next firings" } (history::firings(&firings, zone)) })
        .live("late", html! { h2 { "Lateness" } (lateness::drawn(&newest.items)) })
        .part(html! {
            h2 { "History" }
            form.search method="get" action=(at.address()) {
                (components::field("status", "Status", "", components::select("status", &STATUSES, status.as_deref())))
                button type="submit" { "Show" }
            }
        })
        .live("history", html! {
            (history::table(&shown.items))
            (components::pager(first.as_deref(), next.as_deref()))
        }))
}

fn facts(job: &JobDocument) -> Markup {
    let properties = &job.properties;
    let action = &properties["action"];
    let text = |place: &str| properties.pointer(place).and_then(Value::as_str);
    let time = |name: &str| job.time(name).map_or_else(|| html! { span.quiet { "–" } }, components::time);
    let counted = |name: &str| components::count(job.count(name));
    let mut does = vec![
        ("State", components::badge(job.state())),
        ("Action", html! { (describe::call(action)) }),
        ("Schedule", html! { (describe::when(properties)) }),
    ];
    does.extend(
        text("/startTime")
            .filter(|_| properties.get("recurrence").is_some())
            .map(|start| ("Starts", html! { (start) })),
    );
    does.extend(signs_in(action).map(|how| ("Authentication", html! { (how) })));
    does.push(("Retries", html! { (describe::retries(action)) }));
    if let Some(error) = action.get("errorAction") {
        does.push(("Error action", html! { (describe::call(error)) }));
    }
    does.push(("Missed occurrences", html! { (describe::missed(properties)) }));
    does.push(("Overlap", html! { (describe::overlap(properties)) }));
    does.extend(text("/jitter").map(|jitter| ("Jitter", html! { "up to " (describe::span(jitter)) })));
    let counts = [
        ("Next", time("nextExecutionTime")),
        ("Last", time("lastExecutionTime")),
        ("Occurrences", html! { (counted("occurrences")) }),
        ("Attempts", html! { (counted("executionCount")) }),
        ("Failed attempts", html! { (counted("failureCount")) }),
        ("Failed occurrences", html! { (counted("faultedCount")) }),
        ("Skipped occurrences", html! { (counted("skipped")) }),
        ("Missed", html! { (counted("missed")) }),
    ];
    html! {
        (components::facts(&does))
        (components::facts(&counts))
        details #document {
            summary { "JSON" }
            (components::copyable("Job as JSON", &serde_json::to_string_pretty(&json!({ "properties": super::document::writable(properties) })).unwrap_or_default()))
            small { "Secrets are never shown." }
        }
    }
}

/// The authentication, without the secret.
fn signs_in(action: &Value) -> Option<String> {
    let how = action.pointer("/request/authentication")?;
    let text = |name: &str| how.get(name).and_then(Value::as_str).unwrap_or_default();
    Some(match text("type") {
        "Basic" => format!("Basic, user {}", text("username")),
        "ClientCertificate" => format!(
            "certificate {}, valid until {}",
            text("certificateSubjectName"),
            text("certificateExpiration")
        ),
        "ActiveDirectoryOAuth" => {
            format!("OAuth token for {}, tenant {}", text("audience"), text("tenant"))
        }
        other => other.to_owned(),
    })
}

fn actions(at: &JobAddress, state: &str) -> Markup {
    let address = at.address();
    let delete = format!("Delete {} and its history? Runs in progress continue.", at.job);
    html! {
        div.actions {
            form.inline method="post" action={ (address) "/run" } { button.primary type="submit" { "Run now" } }
            @if state == "enabled" { (components::button(&format!("{address}/disable"), "Disable", None, &[])) }
            @else { (components::button(&format!("{address}/enable"), "Enable", None, &[])) }
            a.button href={ (address) "/edit" } { "Edit" }
            (components::button(&format!("{address}/delete"), "Delete", Some(&delete), &[]))
        }
    }
}

pub(super) async fn act(ctx: &PageContext, at: &JobAddress, what: &str) -> Result<FormOutcome, PageError> {
    match what {
        "run" => {
            let answer = ctx.send(Method::POST, &format!("{}/run", at.api()), &Value::Null).await?;
            let run = answer.get("run").and_then(Value::as_str).unwrap_or_default();
            Ok(FormOutcome::Done {
                to: format!("/ui/runs/{}", encoded(run)),
                message: format!("Started {}.", at.job),
            })
        }
        "enable" | "disable" => {
            let state = json!({ "properties": { "state": format!("{what}d") } });
            ctx.send(Method::PATCH, &at.api(), &state).await?;
            Ok(FormOutcome::Done { to: at.address(), message: format!("{} {what}d.", at.job) })
        }
        "delete" => {
            ctx.send(Method::DELETE, &at.api(), &Value::Null).await?;
            let to = collection_address(&at.collection);
            Ok(FormOutcome::Done { to, message: format!("Deleted {}.", at.job) })
        }
        _ => Err(PageError::NotFound),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_is_described_in_words_and_hostile_text_stays_text() {
        let hostile = "<script>x</script>";
        let properties = json!({
            "state": "enabled", "jitter": "PT5M", "missed": "all",
            "action": { "type": "Http", "request": { "method": "GET", "uri": hostile,
                        "authentication": { "type": "Basic", "username": hostile } },
                        "errorAction": { "type": "Queue", "queue": { "name": hostile, "message": "late" } } },
            "recurrence": { "cron": "0 3 * * *" }, "status": { "failureCount": 1234 }
        });
        let shown = facts(&JobDocument { name: hostile.to_owned(), collection: "c".to_owned(), properties })
            .into_string();
        assert!(!shown.contains("<script>"), "{shown}");
        let at = JobAddress { collection: "c".to_owned(), job: "j".to_owned() };
        for (state, offered, not) in [
            ("enabled", "/disable", "/enable"),
            ("disabled", "/enable", "/disable"),
            ("faulted", "/enable", "/disable"),
        ] {
            let shown = actions(&at, state).into_string();
            assert!(shown.contains(offered) && !shown.contains(not), "{state}: {shown}");
        }
        for part in ["every day at 03:00", "run all", "up to 5 min", "1,234", "sends to queue", "Basic, user"]
        {
            assert!(shown.contains(part), "{part}: {shown}");
        }
    }
}
