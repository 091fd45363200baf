//! One step of a run: what it sends, what came back, and how to send it by hand.

use api_types::{CallView, HttpView, RunDetail, SentMessageView, SentView, StepView};
use maud::{Markup, html};

use super::decisions::output;
use super::waterfall::{AttemptRecord, attempts};
use super::{pretty, run_path, state, step_path};
use crate::page::{NavSection, Page};
use crate::pieces;
use crate::trouble::PageError;
use crate::visit::{Visit, encoded, place};

const ATTEMPTS_MAX: usize = 100;

pub(super) async fn page(visit: &Visit, run: &RunDetail, name: &str) -> Result<Page, PageError> {
    let step = run.steps.iter().find(|step| step.name == name).ok_or(PageError::NotFound)?;
    let asked = visit.query_value("work").unwrap_or_else(|| "do".to_owned());
    let path = format!("/v1/runs/{}/steps/{}/call", encoded(&run.summary.id), encoded(name));
    let call: CallView = visit.get(&place(&path, [("work", Some(asked))])).await?;
    Ok(Page::new(&format!("Step {name}"), NavSection::Runs)
        .part(html! { p { "of run " a.id href=(run_path(&run.summary.id)) { (run.summary.id) } } })
        .live("step", standing(run, step, &call))
        .part(request(&call)))
}

fn standing(run: &RunDetail, step: &StepView, call: &CallView) -> Markup {
    let id = &run.summary.id;
    html! {
        (pieces::facts(&[
            ("State", pieces::badge(state(run, step))),
            ("Done by", html! { (step.by.as_deref().unwrap_or("–")) }),
            ("Attempts", html! { (step.attempts) }),
            ("Next attempt", step.next_attempt_at.map_or_else(|| html! { "–" }, pieces::time)),
        ]))
        @if let Some(reason) = &step.reason { p { (reason) } }
        @if call.works.len() > 1 {
            nav.tabs aria-label="Works of this step" {
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

/// What came back. Of answers the status, a reason and the output are kept, not their bodies.
fn answers(run: &RunDetail, step: &StepView, work: &str) -> Markup {
    let all = attempts(&run.timeline);
    let own: Vec<&AttemptRecord> =
        all.iter().filter(|each| each.step == step.name && each.work == work).collect();
    let left_out = own.len().saturating_sub(ATTEMPTS_MAX);
    html! {
        h2 { "Answers" }
        @if own.is_empty() {
            p.quiet { "No attempt has begun." }
        } @else {
            @if left_out > 0 { p.quiet { (left_out) " older attempts are in the raw JSON." } }
            ol.timeline {
                @for attempt in own.iter().skip(left_out) { li { (answer(attempt)) } }
            }
        }
        @if let Some(output) = output(step).filter(|_| !work.starts_with("undo")) {
            h3 { "Output" }
            p.quiet { "What later steps get of the answer." }
            (pieces::copyable("Output", &output))
        }
        p.quiet { "Of an answer its status, its reason and the step's output are kept, not its whole body." }
    }
}

fn answer(attempt: &AttemptRecord) -> Markup {
    let took = attempt.ended.map(|ended| pieces::span((ended.0 - attempt.began.0).max(0) as f64));
    html! {
        "Attempt " (attempt.number) " " (pieces::badge(attempt.end.word()))
        @if let Some(status) = attempt.status { " " (status) }
        @if let Some(detail) = &attempt.detail { " " (detail) }
        span.quiet { " " (pieces::time(api_types::Time(attempt.began))) @if let Some(took) = took { ", took " (took) } }
        @if let Some(retry_at) = attempt.retry_at { ", next attempt " (pieces::time(api_types::Time(retry_at))) }
    }
}

/// What is sent, the same in every attempt but for its trace.
fn request(call: &CallView) -> Markup {
    html! {
        h2 { "Request" }
        @match &call.sent {
            SentView::Http(http) => (http_call(call, http)),
            SentView::Message(message) => (message_sent(message)),
            SentView::Start { workflow, id, body } => {
                p { "Starts the workflow " a href={ "/ui/workflows/" (encoded(workflow)) } { (workflow) }
                    @if let Some(id) = id { " with the id " span.id { (id) } } "." }
                (pieces::copyable("Body", &pretty(body)))
            },
            SentView::Problem(problem) => p { "It cannot be made of the run as it stands: " (problem) },
        }
    }
}

fn http_call(call: &CallView, http: &HttpView) -> Markup {
    html! {
        p { code { (http.method) " " (http.url) } }
        p.quiet {
            "As it is sent in attempt " (call.attempt) ", with secrets masked. An answer is waited for "
            (pieces::span(http.timeout_ms as f64)) "."
            @if http.certificate { " A client certificate is shown." }
        }
        div.scroll tabindex="0" role="region" aria-label="Headers" {
            table {
                thead { tr { th { "Header" } th { "Value" } } }
                tbody {
                    @for header in &http.headers { tr { td { (header.name) } td.id { (header.value) } } }
                }
            }
        }
        @if let Some(body) = &http.body { h3 { "Body" } (pieces::copyable("Body", &pretty(body))) }
        @if let Some(body) = &http.body_base64 { h3 { "Body, base64" } (pieces::copyable("Body, base64", body)) }
        h3 { "As curl" }
        (pieces::copyable("The call as a curl command", &curl(http)))
    }
}

fn message_sent(message: &SentMessageView) -> Markup {
    let properties = message.properties.iter().map(|(name, value)| format!("{name}: {value}"));
    let properties: Vec<String> = properties.collect();
    html! {
        p { "A message to " strong { (message.to) } @if let Some(at) = &message.at { " at " code { (at) } } }
        (pieces::facts(&[
            ("Message id", html! { span.id { (message.message_id) } }),
            ("Content type", html! { (message.content_type.as_deref().unwrap_or("–")) }),
            ("Properties", html! { (if properties.is_empty() { "–".to_owned() } else { properties.join(", ") }) }),
        ]))
        @if let Some(body) = &message.body { h3 { "Body" } (pieces::copyable("Body", &pretty(body))) }
        @if let Some(body) = &message.body_base64 { h3 { "Body, base64" } (pieces::copyable("Body, base64", body)) }
    }
}

/// A command for a POSIX shell that makes the same call.
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

/// A word for the shell, whatever is in it.
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
