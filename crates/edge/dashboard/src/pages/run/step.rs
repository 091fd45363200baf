//! One step of a run: its request, its responses, and a curl command for the same call.

use api_types::{CallView, HttpView, RunDetail, SentMessageView, SentView, StepView};
use maud::{Markup, html};

use super::decisions::output;
use super::waterfall::{AttemptRecord, attempts};
use super::{pretty, run_path, state, step_path};
use crate::components;
use crate::context::{PageContext, encoded, place};
use crate::error::PageError;
use crate::page::{NavSection, Page};

const ATTEMPTS_MAX: usize = 100;

pub(super) async fn page(ctx: &PageContext, run: &RunDetail, name: &str) -> Result<Page, PageError> {
    let step = run.steps.iter().find(|step| step.name == name).ok_or(PageError::NotFound)?;
    let asked = ctx.query_value("work").unwrap_or_else(|| "do".to_owned());
    let path = format!("/v1/runs/{}/steps/{}/call", encoded(&run.summary.id), encoded(name));
    let call: CallView = ctx.get(&place(&path, [("work", Some(asked))])).await?;
    Ok(Page::new(&format!("Step {name}"), NavSection::Runs)
        .part(html! { p { "of run " a.id href=(run_path(&run.summary.id)) { (run.summary.id) } } })
        .live("step", state_section(run, step, &call))
        .part(request(&call)))
}

fn state_section(run: &RunDetail, step: &StepView, call: &CallView) -> Markup {
    let id = &run.summary.id;
    html! {
        (components::facts(&[
            ("State", components::badge(state(run, step))),
            ("Done by", html! { (step.by.as_deref().unwrap_or("–")) }),
            ("Attempts", html! { (step.attempts) }),
            ("Next attempt", step.next_attempt_at.map_or_else(|| html! { "–" }, components::time)),
        ]))
        @if let Some(reason) = &step.reason { p { (reason) } }
        @if call.works.len() > 1 {
            nav.tabs aria-label="Calls of this step" {
                @for work in &call.works {
                    a href=(step_path(id, &step.name, Some(work))) aria-current=[(*work == call.work).then_some("page")] {
                        (work.replace('_', " "))
                    }
                }
            }
        }
        (answers(run, step, &call.work))
    }
}

/// The responses. Only status, reason and output are stored, not the bodies.
fn answers(run: &RunDetail, step: &StepView, work: &str) -> Markup {
    let all = attempts(&run.timeline);
    let own: Vec<&AttemptRecord> =
        all.iter().filter(|each| each.step == step.name && each.work == work).collect();
    let omitted = own.len().saturating_sub(ATTEMPTS_MAX);
    html! {
        h2 { "Responses" }
        @if own.is_empty() {
            p.quiet { "No attempts yet." }
        } @else {
            @if omitted > 0 { p.quiet { (omitted) " older attempts are in the raw JSON." } }
            ol.timeline {
                @for attempt in own.iter().skip(omitted) { li { (answer(attempt)) } }
            }
        }
        @if let Some(output) = output(step).filter(|_| !work.starts_with("undo")) {
            h3 { "Output" }
            p.quiet { "The part of the response that later steps use." }
            (components::copyable("Output", &output))
        }
        p.quiet { "Only status, reason and output are stored, not the full response." }
    }
}

fn answer(attempt: &AttemptRecord) -> Markup {
    let took = attempt.ended.map(|ended| components::span((ended.0 - attempt.began.0).max(0) as f64));
    html! {
        "Attempt " (attempt.number) " " (components::badge(attempt.end.word()))
        @if let Some(status) = attempt.status { " " (status) }
        @if let Some(detail) = &attempt.detail { " " (detail) }
        span.quiet { " " (components::time(api_types::Time(attempt.began))) @if let Some(took) = took { ", took " (took) } }
        @if let Some(retry_at) = attempt.retry_at { ", next attempt " (components::time(api_types::Time(retry_at))) }
    }
}

/// The request: the same in every attempt, except for its trace id.
fn request(call: &CallView) -> Markup {
    html! {
        h2 { "Request" }
        @match &call.sent {
            SentView::Http(http) => (http_call(call, http)),
            SentView::Message(message) => (message_sent(message)),
            SentView::Start { workflow, id, body } => {
                p { "Starts the workflow " a href={ "/ui/workflows/" (encoded(workflow)) } { (workflow) }
                    @if let Some(id) = id { " with the id " span.id { (id) } } "." }
                (components::copyable("Body", &pretty(body)))
            },
            SentView::Problem(problem) => p { "The request cannot be rendered from the current state of the run: " (problem) },
        }
    }
}

fn http_call(call: &CallView, http: &HttpView) -> Markup {
    html! {
        p { code { (http.method) " " (http.url) } }
        p.quiet {
            "Attempt " (call.attempt) ", with secrets masked. Timeout "
            (components::span(http.timeout_ms as f64)) "."
            @if http.certificate { " Sent with a client certificate." }
        }
        div.scroll tabindex="0" role="region" aria-label="Headers" {
            table {
                thead { tr { th { "Header" } th { "Value" } } }
                tbody {
                    @for header in &http.headers { tr { td { (header.name) } td.id { (header.value) } } }
                }
            }
        }
        @if let Some(body) = &http.body { h3 { "Body" } (components::copyable("Body", &pretty(body))) }
        @if let Some(body) = &http.body_base64 { h3 { "Body, base64" } (components::copyable("Body, base64", body)) }
        h3 { "As curl" }
        (components::copyable("The call as a curl command", &curl(http)))
    }
}

fn message_sent(message: &SentMessageView) -> Markup {
    let properties = message.properties.iter().map(|(name, value)| format!("{name}: {value}"));
    let properties: Vec<String> = properties.collect();
    html! {
        p { "A message to " strong { (message.to) } @if let Some(at) = &message.at { " at " code { (at) } } }
        (components::facts(&[
            ("Message id", html! { span.id { (message.message_id) } }),
            ("Content type", html! { (message.content_type.as_deref().unwrap_or("–")) }),
            ("Properties", html! { (if properties.is_empty() { "–".to_owned() } else { properties.join(", ") }) }),
        ]))
        @if let Some(body) = &message.body { h3 { "Body" } (components::copyable("Body", &pretty(body))) }
        @if let Some(body) = &message.body_base64 { h3 { "Body, base64" } (components::copyable("Body, base64", body)) }
    }
}

/// A POSIX shell command that makes the same call.
fn curl(http: &HttpView) -> String {
    let mut lines = vec![format!("curl -gX {} {}", quoted(&http.method), quoted(&http.url))];
    lines.extend(
        http.headers
            .iter()
            .map(|header| format!("  -H {}", quoted(&format!("{}: {}", header.name, header.value)))),
    );
    if let Some(body) = &http.body {
        lines.push(format!("  --data-raw {}", quoted(body)));
    }
    if let Some(body) = &http.body_base64 {
        lines[0] = format!("printf %s {} | base64 -d | {}", quoted(body), lines[0]);
        lines.push("  --data-binary @-".to_owned());
    }
    lines.join(" \\\n")
}

/// The text quoted for a POSIX shell.
fn quoted(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._/:".contains(&byte);
    if !text.is_empty() && text.bytes().all(plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use api_types::HeaderView;

    use super::*;

    #[test]
    fn a_curl_command_says_to_the_shell_what_was_sent_and_nothing_else() {
        let http = HttpView {
            method: "POST".to_owned(),
            url: "http://svc/a?b=$(reboot)&c[]={1,2}".to_owned(),
            headers: vec![HeaderView { name: "x-own".to_owned(), value: "it's".to_owned() }],
            body: Some("{\"a\": \"`id`\"}".to_owned()),
            body_base64: None,
            timeout_ms: 1000,
            certificate: false,
        };
        let expected = "curl -gX POST 'http://svc/a?b=$(reboot)&c[]={1,2}' \\\n  -H 'x-own: it'\\''s' \\\n  --data-raw '{\"a\": \"`id`\"}'";
        assert_eq!(curl(&http), expected);
    }
}
