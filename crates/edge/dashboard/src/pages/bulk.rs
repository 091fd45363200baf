//! Bulks: what was done to many runs at once, how far it has come, and beginning one.

mod draft;

use api_types::{BulkCount, BulkList, BulkPreview, BulkState, BulkView};
use http::Method;
use maud::{Markup, html};

use self::draft::BulkForm;
use super::run::run_path;
use crate::page::{NavSection, Page};
use crate::pages::FormOutcome;
use crate::pieces;
use crate::trouble::PageError;
use crate::visit::{Visit, decoded, encoded};

pub(super) async fn show(visit: &Visit, rest: &[&str]) -> Result<Page, PageError> {
    match rest {
        [] => list(visit).await,
        ["new"] => new(visit).await,
        [id] => {
            let bulk: BulkView = visit.get(&format!("/v1/bulk/{}", encoded(&decoded(id)?))).await?;
            Ok(one(&bulk))
        }
        _ => Err(PageError::NotFound),
    }
}

pub(super) async fn act(visit: &Visit, rest: &[&str]) -> Result<FormOutcome, PageError> {
    match rest {
        [] => begin(visit).await,
        [id, "stop"] => {
            let id = decoded(id)?;
            let path = format!("/v1/bulk/{}/stop", encoded(&id));
            visit.send(Method::POST, &path, &serde_json::Value::Null).await?;
            Ok(FormOutcome::Done { to: bulk_path(&id), message: "It stops.".to_owned() })
        }
        _ => Err(PageError::NotFound),
    }
}

fn bulk_path(id: &str) -> String {
    format!("/ui/bulk/{}", encoded(id))
}

async fn list(visit: &Visit) -> Result<Page, PageError> {
    let BulkList { items } = visit.get("/v1/bulk").await?;
    Ok(Page::new("Bulk", NavSection::Bulk)
        .part(html! { p.actions { a.button.primary href="/ui/bulk/new" { "New bulk" } } })
        .live("bulks", table(&items)))
}

fn table(bulks: &[BulkView]) -> Markup {
    if bulks.is_empty() {
        return pieces::empty(
            "No bulks",
            html! {
                "A bulk does one thing to many runs: after an outage, retry all that are parked because of it."
            },
        );
    }
    html! {
        div.scroll tabindex="0" role="region" aria-label="Bulks" {
            table {
                thead { tr {
                    th { "Bulk" } th { "Action" } th { "State" } th { "Runs" } th.number { "Done" }
                    th.number { "Skipped" } th.number { "Failed" } th { "Started" } th { "By" }
                } }
                tbody {
                    @for bulk in bulks {
                        tr {
                            td { a.id href=(bulk_path(&bulk.id)) { (bulk.id) } }
                            td { (action(bulk)) }
                            td { (pieces::badge(state(bulk.state))) }
                            td.why { (selection(bulk)) }
                            td.number { (pieces::count(bulk.done)) }
                            td.number { (pieces::count(bulk.skipped.count)) }
                            td.number { (pieces::count(bulk.failed.count)) }
                            td { (pieces::time(bulk.started_at)) }
                            td { (bulk.by) }
                        }
                    }
                }
            }
        }
    }
}

fn state(state: BulkState) -> &'static str {
    match state {
        BulkState::Running => "running",
        BulkState::Stopped => "stopped",
        BulkState::Done => "done",
    }
}

/// What is done, in words.
fn action(bulk: &BulkView) -> String {
    let decision = bulk.decision.map(|decision| decision.name().replace('_', " "));
    let step = bulk.step.as_ref().map(|step| format!("step {step}"));
    let parts = [Some(draft::action_text(bulk.action).to_owned()), decision, step];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// Which runs are meant, in words.
fn selection(bulk: &BulkView) -> String {
    let Some(select) = &bulk.select else { return "named one by one".to_owned() };
    let parts = [
        select.status.map(|status| status.to_string().replace('_', " ")),
        select.workflow.as_ref().map(|name| format!("of {name}")),
        select.key.as_ref().map(|key| format!("with key {key}")),
        select.reason.as_ref().map(|reason| format!("because of “{reason}”")),
        select.from.map(|at| format!("from {at}")),
        select.to.map(|at| format!("to {at}")),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

fn one(bulk: &BulkView) -> Page {
    let again = html! { p { a href="/ui/bulk" { "All bulks" } } };
    Page::new(&format!("Bulk {}", bulk.id), NavSection::Bulk).live("bulk", standing(bulk)).part(again)
}

fn standing(bulk: &BulkView) -> Markup {
    let question = format!("Stop bulk {}? What it has done stays done.", bulk.id);
    html! {
        p.why-line { (pieces::badge(state(bulk.state))) " " (action(bulk)) ": " (selection(bulk)) }
        @if let Some(waiting) = &bulk.waiting { p { "It waits: " (waiting) } }
        (progress(bulk))
        (pieces::facts(&[
            ("Done", html! { (pieces::count(bulk.done)) }),
            ("Skipped", html! { (pieces::count(bulk.skipped.count)) }),
            ("Failed", html! { (pieces::count(bulk.failed.count)) }),
            ("Meant", html! { (bulk.matched.map_or_else(|| "being counted".to_owned(), counted)) }),
            ("At most", html! { (bulk.rate) @if bulk.rate == 1 { " run" } @else { " runs" } " a second" }),
            ("By", html! { (bulk.by) }),
            ("Started", pieces::time(bulk.started_at)),
            ("Ended", bulk.ended_at.map_or_else(|| html! { "–" }, pieces::time)),
        ]))
        @if !bulk.note.is_empty() { p { "Note: “" (bulk.note) "”" } }
        @if bulk.state == BulkState::Running {
            (pieces::button(&format!("{}/stop", bulk_path(&bulk.id)), "Stop", Some(&question), &[]))
        }
        @if !bulk.skipped.reasons.is_empty() {
            h2 { "Skipped" }
            ul { @for (reason, count) in &bulk.skipped.reasons { li { (reason.replace('_', " ")) ": " (pieces::count(*count)) } } }
        }
        (failures(bulk))
    }
}

fn counted(count: BulkCount) -> String {
    let more = if count.at_least { " or more" } else { "" };
    format!("{}{more}", pieces::count(count.count))
}

/// How far it is, as a bar and in words.
fn progress(bulk: &BulkView) -> Markup {
    let through = bulk.done + bulk.skipped.count + bulk.failed.count;
    let counted = bulk.matched.map_or(0, |matched| matched.count);
    let ended = bulk.state == BulkState::Done;
    let total = if ended { through.max(1) } else { counted.max(through).max(1) };
    let share = |count: u64| count as f64 / total as f64 * 100.0;
    let parts = [("done", bulk.done), ("skipped", bulk.skipped.count), ("failed", bulk.failed.count)];
    let mut x = 0.0;
    let bars: Vec<(&str, f64, f64)> = parts
        .into_iter()
        .map(|(class, count)| {
            let at = x;
            x += share(count);
            (class, at, share(count))
        })
        .collect();
    let percent = share(through).floor();
    html! {
        svg.progress role="progressbar" aria-label="Progress" aria-valuemin="0" aria-valuemax="100" aria-valuenow=(percent) {
            rect.ground width="100%" height="100%" rx="4" {}
            @for (class, x, width) in bars {
                rect class=(class) x=(format!("{x:.2}%")) width=(format!("{width:.2}%")) height="100%" {}
            }
        }
        p.quiet { (pieces::count(through)) " of " (pieces::count(total)) " (" (percent) " %)" }
    }
}

fn failures(bulk: &BulkView) -> Markup {
    html! {
        @if !bulk.failed.sample.is_empty() {
            h2 { "Failed" }
            @if bulk.failed.count > bulk.failed.sample.len() as u64 {
                p.quiet { "The first " (bulk.failed.sample.len()) " of " (pieces::count(bulk.failed.count)) "." }
            }
            div.scroll tabindex="0" role="region" aria-label="Failed" {
                table {
                    thead { tr { th { "Run" } th { "Problem" } } }
                    tbody {
                        @for failure in &bulk.failed.sample {
                            tr {
                                td { a.id href=(run_path(&failure.id)) { (failure.id) } }
                                td { (failure.problem) " " small { (failure.code) } }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// The form; with an action it was tried dry.
async fn new(visit: &Visit) -> Result<Page, PageError> {
    let draft = BulkForm::of(|name| visit.query_value(name), visit.query_values("id"));
    if draft.action.is_none() {
        return Ok(page(&draft, html! {}));
    }
    // Whoever meant the checked ones and checked none does not mean all.
    if visit.query_value("checked").is_some() && !draft.is_named() {
        let trouble = PageError::Form("id: no run was checked; check some, or select by a query".to_owned());
        return Ok(page(&draft, pieces::problem(&trouble.problem())));
    }
    match try_dry(visit, &draft).await {
        Ok(preview) => Ok(page(&draft, previewed(&draft, &preview))),
        Err(trouble @ (PageError::Form(_) | PageError::Problem(_))) => {
            Ok(page(&draft, pieces::problem(&trouble.problem())))
        }
        Err(trouble) => Err(trouble),
    }
}

async fn try_dry(visit: &Visit, draft: &BulkForm) -> Result<BulkPreview, PageError> {
    let answer = visit.send(Method::POST, "/v1/bulk", &draft.request(true)?).await?;
    serde_json::from_value(answer).map_err(|error| PageError::Unreadable(error.to_string()))
}

async fn begin(visit: &Visit) -> Result<FormOutcome, PageError> {
    let draft = BulkForm::of(|name| visit.field(name), visit.fields("id"));
    let begun = match draft.request(false) {
        Ok(request) => visit.send(Method::POST, "/v1/bulk", &request).await,
        Err(trouble) => Err(trouble),
    };
    match begun {
        Ok(answer) => {
            let id = answer["id"].as_str().unwrap_or_default();
            Ok(FormOutcome::Done { to: bulk_path(id), message: "It has begun.".to_owned() })
        }
        Err(trouble @ (PageError::Form(_) | PageError::Problem(_))) => {
            Ok(FormOutcome::Invalid(page(&draft, pieces::problem(&trouble.problem()))))
        }
        Err(trouble) => Err(trouble),
    }
}

fn page(draft: &BulkForm, above: Markup) -> Page {
    Page::new("New bulk", NavSection::Bulk).part(above).part(draft.form())
}

/// What would happen, and the button that lets it happen.
fn previewed(draft: &BulkForm, preview: &BulkPreview) -> Markup {
    let is_one = preview.matched == BulkCount { count: 1, at_least: false };
    let total = format!("{} {}", counted(preview.matched), if is_one { "run" } else { "runs" });
    let question = format!("{} {total}?", draft.action_text());
    html! {
        section.card #preview aria-label="Dry run" {
            h2 { "Dry run: " (total) }
            p.quiet { "Nothing has been changed." }
            @if !preview.sample.is_empty() { (sample(preview)) }
            @if preview.matched.count > 0 {
                form method="post" action="/ui/bulk" data-question=(question) {
                    (draft.hidden())
                    div.actions { button.primary type="submit" { (draft.action_text()) " " (total) } }
                }
            }
        }
    }
}

fn sample(preview: &BulkPreview) -> Markup {
    html! {
        div.scroll tabindex="0" role="region" aria-label="The first runs" {
            table {
                thead { tr { th { "Run" } th { "Workflow" } th { "Status" } th { "Why" } th { "Then" } } }
                tbody {
                    @for run in &preview.sample {
                        tr {
                            td { a.id href=(run_path(&run.id)) { (run.id) } }
                            td { (run.workflow.as_deref().unwrap_or_default()) }
                            td { @if let Some(status) = run.status { (pieces::status(status)) } }
                            td.why { (run.reason.as_deref().unwrap_or_default()) }
                            td { (run.then) }
                        }
                    }
                }
            }
        }
        @if preview.matched.count > preview.sample.len() as u64 || preview.matched.at_least {
            p.quiet { "The first " (preview.sample.len()) " of them." }
        }
    }
}

#[cfg(test)]
mod tests;
