//! Bulk operations: their list, their progress, and the form to start one.

mod form;

use api_types::{BulkCount, BulkList, BulkPreview, BulkState, BulkView};
use http::Method;
use maud::{Markup, html};

use self::form::BulkForm;
use super::run::run_path;
use crate::components;
use crate::context::{PageContext, decoded, encoded};
use crate::error::PageError;
use crate::page::{NavSection, Page};
use crate::pages::FormOutcome;

pub(super) async fn show(ctx: &PageContext, rest: &[&str]) -> Result<Page, PageError> {
    match rest {
        [] => list(ctx).await,
        ["new"] => new(ctx).await,
        [id] => {
            let bulk: BulkView = ctx.get(&format!("/v1/bulk/{}", encoded(&decoded(id)?))).await?;
            Ok(one(&bulk))
        }
        _ => Err(PageError::NotFound),
    }
}

pub(super) async fn act(ctx: &PageContext, rest: &[&str]) -> Result<FormOutcome, PageError> {
    match rest {
        [] => begin(ctx).await,
        [id, "stop"] => {
            let id = decoded(id)?;
            let path = format!("/v1/bulk/{}/stop", encoded(&id));
            ctx.send(Method::POST, &path, &serde_json::Value::Null).await?;
            Ok(FormOutcome::Done { to: bulk_path(&id), message: "Stopping.".to_owned() })
        }
        _ => Err(PageError::NotFound),
    }
}

fn bulk_path(id: &str) -> String {
    format!("/ui/bulk/{}", encoded(id))
}

async fn list(ctx: &PageContext) -> Result<Page, PageError> {
    let BulkList { items } = ctx.get("/v1/bulk").await?;
    Ok(Page::new("Bulk", NavSection::Bulk)
        .part(html! { p.actions { a.button.primary href="/ui/bulk/new" { "New bulk operation" } } })
        .live("bulks", table(&items)))
}

fn table(bulks: &[BulkView]) -> Markup {
    if bulks.is_empty() {
        return components::empty(
            "No bulk operations",
            html! {
                "A bulk operation applies one action to many runs: for example, retry every run that an outage parked."
            },
        );
    }
    html! {
        div.scroll tabindex="0" role="region" aria-label="Bulk operations" {
            table {
                thead { tr {
                    th { "Operation" } th { "Action" } th { "State" } th { "Runs" } th.number { "Done" }
                    th.number { "Skipped" } th.number { "Failed" } th { "Started" } th { "By" }
                } }
                tbody {
                    @for bulk in bulks {
                        tr {
                            td { a.id href=(bulk_path(&bulk.id)) { (bulk.id) } }
                            td { (action(bulk)) }
                            td { (components::badge(state(bulk.state))) }
                            td.why { (selection(bulk)) }
                            td.number { (components::count(bulk.done)) }
                            td.number { (components::count(bulk.skipped.count)) }
                            td.number { (components::count(bulk.failed.count)) }
                            td { (components::time(bulk.started_at)) }
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

/// The action as text.
fn action(bulk: &BulkView) -> String {
    let decision = bulk.decision.map(|decision| decision.name().replace('_', " "));
    let step = bulk.step.as_ref().map(|step| format!("step {step}"));
    let parts = [Some(form::action_text(bulk.action).to_owned()), decision, step];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// The selection as text.
fn selection(bulk: &BulkView) -> String {
    let Some(select) = &bulk.select else { return "selected individually".to_owned() };
    let parts = [
        select.status.map(|status| status.to_string().replace('_', " ")),
        select.workflow.as_ref().map(|name| format!("of {name}")),
        select.key.as_ref().map(|key| format!("with key {key}")),
        select.reason.as_ref().map(|reason| format!("failed with “{reason}”")),
        select.from.map(|at| format!("from {at}")),
        select.to.map(|at| format!("to {at}")),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

fn one(bulk: &BulkView) -> Page {
    let again = html! { p { a href="/ui/bulk" { "All bulk operations" } } };
    Page::new(&format!("Bulk operation {}", bulk.id), NavSection::Bulk)
        .live("bulk", state_section(bulk))
        .part(again)
}

fn state_section(bulk: &BulkView) -> Markup {
    let question = format!("Stop bulk operation {}? Runs that it has already changed stay changed.", bulk.id);
    html! {
        p.why-line { (components::badge(state(bulk.state))) " " (action(bulk)) ": " (selection(bulk)) }
        @if let Some(waiting) = &bulk.waiting { p { "Waiting: " (waiting) } }
        (progress(bulk))
        (components::facts(&[
            ("Done", html! { (components::count(bulk.done)) }),
            ("Skipped", html! { (components::count(bulk.skipped.count)) }),
            ("Failed", html! { (components::count(bulk.failed.count)) }),
            ("Matched", html! { (bulk.matched.map_or_else(|| "counting".to_owned(), counted)) }),
            ("Rate limit", html! { (bulk.rate) @if bulk.rate == 1 { " run" } @else { " runs" } " per second" }),
            ("By", html! { (bulk.by) }),
            ("Started", components::time(bulk.started_at)),
            ("Ended", bulk.ended_at.map_or_else(|| html! { "–" }, components::time)),
        ]))
        @if !bulk.note.is_empty() { p { "Note: “" (bulk.note) "”" } }
        @if bulk.state == BulkState::Running {
            (components::button(&format!("{}/stop", bulk_path(&bulk.id)), "Stop", Some(&question), &[]))
        }
        @if !bulk.skipped.reasons.is_empty() {
            h2 { "Skipped" }
            ul { @for (reason, count) in &bulk.skipped.reasons { li { (reason.replace('_', " ")) ": " (components::count(*count)) } } }
        }
        (failures(bulk))
    }
}

fn counted(count: BulkCount) -> String {
    let more = if count.at_least { " or more" } else { "" };
    format!("{}{more}", components::count(count.count))
}

/// The progress, as a bar and as text.
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
            rect.track width="100%" height="100%" rx="4" {}
            @for (class, x, width) in bars {
                rect class=(class) x=(format!("{x:.2}%")) width=(format!("{width:.2}%")) height="100%" {}
            }
        }
        p.quiet { (components::count(through)) " of " (components::count(total)) " (" (percent) " %)" }
    }
}

fn failures(bulk: &BulkView) -> Markup {
    html! {
        @if !bulk.failed.sample.is_empty() {
            h2 { "Failed" }
            @if bulk.failed.count > bulk.failed.sample.len() as u64 {
                p.quiet { "The first " (bulk.failed.sample.len()) " of " (components::count(bulk.failed.count)) "." }
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

/// The form; with an action, also the result of a dry run.
async fn new(ctx: &PageContext) -> Result<Page, PageError> {
    let draft = BulkForm::of(|name| ctx.query_value(name), ctx.query_values("id"));
    if draft.action.is_none() {
        return Ok(page(&draft, html! {}));
    }
    // A user who submitted the selection without selecting a run did not mean all runs.
    if ctx.query_value("checked").is_some() && !draft.is_named() {
        let error = PageError::Form("id: no run is selected; select some, or use a query".to_owned());
        return Ok(page(&draft, components::problem(&error.problem())));
    }
    match try_dry(ctx, &draft).await {
        Ok(preview) => Ok(page(&draft, previewed(&draft, &preview))),
        Err(error @ (PageError::Form(_) | PageError::Problem(_))) => {
            Ok(page(&draft, components::problem(&error.problem())))
        }
        Err(error) => Err(error),
    }
}

async fn try_dry(ctx: &PageContext, draft: &BulkForm) -> Result<BulkPreview, PageError> {
    let answer = ctx.send(Method::POST, "/v1/bulk", &draft.request(true)?).await?;
    serde_json::from_value(answer).map_err(|error| PageError::Unreadable(error.to_string()))
}

async fn begin(ctx: &PageContext) -> Result<FormOutcome, PageError> {
    let draft = BulkForm::of(|name| ctx.field(name), ctx.fields("id"));
    let begun = match draft.request(false) {
        Ok(request) => ctx.send(Method::POST, "/v1/bulk", &request).await,
        Err(error) => Err(error),
    };
    match begun {
        Ok(answer) => {
            let id = answer["id"].as_str().unwrap_or_default();
            Ok(FormOutcome::Done { to: bulk_path(id), message: "Started.".to_owned() })
        }
        Err(error @ (PageError::Form(_) | PageError::Problem(_))) => {
            Ok(FormOutcome::Invalid(page(&draft, components::problem(&error.problem()))))
        }
        Err(error) => Err(error),
    }
}

fn page(draft: &BulkForm, above: Markup) -> Page {
    Page::new("New bulk operation", NavSection::Bulk).part(above).part(draft.form())
}

/// What would happen, and the button that starts it.
fn previewed(draft: &BulkForm, preview: &BulkPreview) -> Markup {
    let is_one = preview.matched == BulkCount { count: 1, at_least: false };
    let total = format!("{} {}", counted(preview.matched), if is_one { "run" } else { "runs" });
    let question = format!("{} {total}?", draft.action_text());
    html! {
        section.card #preview aria-label="Dry run" {
            h2 { "Dry run: " (total) }
            p.quiet { "Nothing has changed yet." }
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
                thead { tr { th { "Run" } th { "Workflow" } th { "Status" } th { "Reason" } th { "Result" } } }
                tbody {
                    @for run in &preview.sample {
                        tr {
                            td { a.id href=(run_path(&run.id)) { (run.id) } }
                            td { (run.workflow.as_deref().unwrap_or_default()) }
                            td { @if let Some(status) = run.status { (components::status(status)) } }
                            td.why { (run.reason.as_deref().unwrap_or_default()) }
                            td { (run.then) }
                        }
                    }
                }
            }
        }
        @if preview.matched.count > preview.sample.len() as u64 || preview.matched.at_least {
            p.quiet { "The first " (preview.sample.len()) " runs." }
        }
    }
}

#[cfg(test)]
mod tests;
