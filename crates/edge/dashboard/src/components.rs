//! Components that pages are built from.

pub(crate) mod chart;
pub(crate) mod controls;

use api_types::{Problem, Time};
use maud::{Markup, html};
use types::RunStatus;

/// A state as a coloured label; the text says the same as the colour.
pub(crate) fn badge(word: &str) -> Markup {
    let tone = match word {
        "completed" | "done" | "running" | "closed" | "enabled" | "active" => "good",
        "parked" | "failed" | "faulted" | "stopped" | "open" | "undo_failed" | "given_up" | "fenced"
        | "paused" => "bad",
        "undoing" | "retrying" | "half_open" | "refused" | "unknown" | "unowned" | "late"
        | "forced_closed" => "warn",
        _ => "calm",
    };
    html! { span.badge.(tone) { (word.replace('_', " ")) } }
}

pub(crate) fn status(status: RunStatus) -> Markup {
    badge(&status.to_string())
}

/// A time, relative to now and kept up to date by the script; the tooltip has the exact time.
pub(crate) fn time(at: Time) -> Markup {
    let text = at.to_string();
    html! { time datetime=(text) title=(text) { (text.replacen('T', " ", 1).split('.').next().unwrap_or(&text)) } }
}

/// A duration in milliseconds, formatted for people.
pub(crate) fn span(ms: f64) -> String {
    match ms {
        ms if ms < 0.95 => format!("{ms:.2} ms"),
        ms if ms < 9.95 => format!("{ms:.1} ms"),
        ms if ms < 999.5 => format!("{ms:.0} ms"),
        ms if ms < 59_950.0 => format!("{:.1} s", ms / 1000.0),
        ms if ms < 3_570_000.0 => format!("{:.0} min", ms / 60_000.0),
        ms if ms < 171_000_000.0 => format!("{:.1} h", ms / 3_600_000.0),
        ms => format!("{:.0} d", ms / 86_400_000.0),
    }
}

/// A count with thousands separators.
pub(crate) fn count(count: u64) -> String {
    let digits = count.to_string();
    let groups: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().map(|group| std::str::from_utf8(group).expect("digits")).collect();
    groups.join(",")
}

/// An error box.
pub(crate) fn problem(problem: &Problem) -> Markup {
    html! {
        div.problem role="alert" {
            strong { (problem.title) }
            p { (problem.detail) }
            @if !problem.errors.is_empty() {
                ul {
                    @for error in &problem.errors {
                        li {
                            @if let Some(line) = error.line { "line " (line) ": " }
                            @if let Some(field) = error.field.as_ref().or(error.pointer.as_ref()) {
                                code { (field) } " "
                            }
                            (error.message)
                        }
                    }
                }
            }
        }
    }
}

/// A labelled form field; the id of the control is `name`. A control with a hint refers to it: see
/// [`described`].
pub(crate) fn field(name: &str, label: &str, hint: &str, control: Markup) -> Markup {
    html! {
        div.field {
            label for=(name) { (label) }
            (control)
            (self::hint(name, hint))
        }
    }
}

/// The `aria-describedby` of a control: the ids of its hint and of its errors.
pub(crate) fn described(name: &str, hint: &str, wrong: &[&str]) -> Option<String> {
    let hint = (!hint.is_empty()).then(|| beside(name, "hint"));
    let wrong = (!wrong.is_empty()).then(|| beside(name, "wrong"));
    let ids: Vec<String> = hint.into_iter().chain(wrong).collect();
    (!ids.is_empty()).then(|| ids.join(" "))
}

/// The id of a control's hint or errors. `aria-describedby` is a list separated by blanks, so an id has none.
fn beside(name: &str, what: &str) -> String {
    format!("{}-{what}", name.replace(char::is_whitespace, "_"))
}

/// The hint of a field.
pub(crate) fn hint(name: &str, hint: &str) -> Markup {
    html! { @if !hint.is_empty() { small id=(beside(name, "hint")) { (hint) } } }
}

/// The errors of a field.
pub(crate) fn wrong(name: &str, messages: &[&str]) -> Markup {
    html! {
        @if !messages.is_empty() {
            div id=(beside(name, "wrong")) { @for message in messages { p.wrong { (message) } } }
        }
    }
}

/// A dropdown.
pub(crate) fn select(name: &str, options: &[(&str, &str)], chosen: Option<&str>) -> Markup {
    html! { select id=(name) name=(name) { (self::options(options, chosen.unwrap_or_default())) } }
}

fn options(options: &[(&str, &str)], chosen: &str) -> Markup {
    html! { @for (value, text) in options { option value=(value) selected[chosen == *value] { (text) } } }
}

/// A dropdown whose current value may be missing from the list: it is added, because showing the form must not change
/// the value.
pub(crate) fn choice(name: &str, options: &[(&str, &str)], chosen: &str, hint: &str) -> Markup {
    choice_with((name, name), options, chosen, described(name, hint, &[]), None)
}

fn choice_with(
    (id, name): (&str, &str),
    options: &[(&str, &str)],
    chosen: &str,
    described: Option<String>,
    invalid: Option<&str>,
) -> Markup {
    let mut options = options.to_vec();
    if !options.iter().any(|(value, _)| *value == chosen) {
        options.push((chosen, if chosen.is_empty() { "choose…" } else { chosen }));
    }
    html! {
        select id=(id) name=(name) aria-invalid=[invalid] aria-describedby=[described] { (self::options(&options, chosen)) }
    }
}

/// A button that submits one action, after a confirmation if there is a question.
pub(crate) fn button(action: &str, text: &str, question: Option<&str>, fields: &[(&str, &str)]) -> Markup {
    html! {
        form.inline method="post" action=(action) data-question=[question] {
            @for (name, value) in fields { input type="hidden" name=(name) value=(value); }
            button type="submit" { (text) }
        }
    }
}

/// Text with a copy button.
pub(crate) fn copyable(label: &str, text: &str) -> Markup {
    html! {
        div.copyable {
            pre tabindex="0" aria-label=(label) { code { (text) } }
            button type="button" data-copy aria-label={ "Copy: " (label) } { "Copy" }
        }
    }
}

/// A list of names and values.
pub(crate) fn facts(facts: &[(&str, Markup)]) -> Markup {
    html! {
        dl.facts { @for (name, value) in facts { div { dt { (name) } dd { (value) } } } }
    }
}

/// The empty state of a list: why it is empty, and what to do.
pub(crate) fn empty(title: &str, hint: Markup) -> Markup {
    html! { div.empty { strong { (title) } p { (hint) } } }
}

/// Links to the next page of a list and back to the first.
pub(crate) fn pager(first: Option<&str>, next: Option<&str>) -> Markup {
    html! {
        @if first.is_some() || next.is_some() {
            nav.pager aria-label="Pages of this list" {
                @if let Some(first) = first { a href=(first) rel="first" { "Newest" } }
                @if let Some(next) = next { a href=(next) rel="next" { "Older" } }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_and_counts_read_well() {
        let spans = [0.1234, 5.0, 12.34, 1500.0, 90_000.0, 7_200_000.0, 200_000_000.0].map(span);
        assert_eq!(spans, ["0.12 ms", "5.0 ms", "12 ms", "1.5 s", "2 min", "2.0 h", "2 d"]);
        assert_eq!([0, 999, 1000, 1_234_567].map(count), ["0", "999", "1,000", "1,234,567"]);
    }

    // guards: 54
    #[test]
    fn foreign_text_stays_text() {
        let shown = badge("<script>alert(1)</script>").into_string();
        assert!(!shown.contains("<script>"), "{shown}");
    }
}
