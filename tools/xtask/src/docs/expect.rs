//! Compares what commands print with what a page says that they print.

use anyhow::{Context, bail, ensure};
use serde_json::Value;

use super::blocks::Output;

/// Stands for anything: within a line, or alone on a line for any number of lines.
const ANYTHING: &str = "…";

/// Whether an output is the one of the page; the error shows the first line that differs.
pub fn compare(expected: &Output, actual: &str) -> anyhow::Result<()> {
    match expected {
        Output::Text(text) => compare_text(text, actual),
        Output::Json(text) => {
            let expected: Value = serde_json::from_str(text).context("the JSON of the page")?;
            let actual: Value =
                serde_json::from_str(actual).with_context(|| format!("this is not valid JSON:\n{actual}"))?;
            ensure!(same_json(&expected, &actual), "the page has\n{expected:#}\nand there came\n{actual:#}");
            Ok(())
        }
    }
}

fn compare_text(expected: &str, actual: &str) -> anyhow::Result<()> {
    let expected_lines: Vec<String> = expected.trim_end().lines().map(plain).collect();
    let actual_lines: Vec<String> = actual.trim_end().lines().map(plain).collect();
    let mut furthest = 0;
    if same_lines(&expected_lines, &actual_lines, 0, &mut furthest) {
        return Ok(());
    }
    let wanted = expected.lines().nth(furthest).unwrap_or("nothing more");
    bail!("nothing fits the line of the page\n  {wanted}\nin what came:\n{actual}")
}

/// `furthest` becomes the number of the first expected line that nothing could fit.
fn same_lines(expected: &[String], actual: &[String], at: usize, furthest: &mut usize) -> bool {
    *furthest = (*furthest).max(at);
    match expected.split_first() {
        None => actual.is_empty(),
        Some((line, rest)) if line == ANYTHING => {
            (0..=actual.len()).any(|skipped| same_lines(rest, &actual[skipped..], at + 1, furthest))
        }
        Some((line, rest)) => actual.split_first().is_some_and(|(first, others)| {
            same_line(line, first) && same_lines(rest, others, at + 1, furthest)
        }),
    }
}

fn same_line(expected: &str, actual: &str) -> bool {
    let mut pieces = expected.split(ANYTHING).map(str::trim);
    let first = pieces.next().unwrap_or_default();
    let Some(mut rest) = actual.strip_prefix(first) else { return false };
    let mut pieces = pieces.peekable();
    if pieces.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(piece) = pieces.next() {
        if pieces.peek().is_none() {
            return rest.ends_with(piece);
        }
        let Some(at) = rest.find(piece) else { return false };
        rest = &rest[at + piece.len()..];
    }
    true
}

fn same_json(expected: &Value, actual: &Value) -> bool {
    match (expected, actual) {
        (Value::String(expected), _) if expected == ANYTHING => true,
        (Value::String(expected), Value::String(actual)) => same_line(&plain(expected), &plain(actual)),
        (Value::Array(expected), Value::Array(actual)) => {
            expected.len() == actual.len() && expected.iter().zip(actual).all(|(a, b)| same_json(a, b))
        }
        (Value::Object(expected), Value::Object(actual)) => {
            let open = expected.contains_key(ANYTHING);
            let named = expected.iter().filter(|(name, _)| *name != ANYTHING);
            (open || expected.len() == actual.len())
                && named
                    .into_iter()
                    .all(|(name, value)| actual.get(name).is_some_and(|it| same_json(value, it)))
        }
        _ => expected == actual,
    }
}

/// A line without what differs from run to run and from machine to machine: the width of columns, durations of less
/// than a minute in the words of the command line, and times of day in UTC.
fn plain(line: &str) -> String {
    let words: Vec<&str> = line.split_whitespace().collect();
    let kept = words.iter().enumerate().map(|(index, word)| {
        let (bare, sign) = word.split_at(word.trim_end_matches([',', '.', ':', ';', ')']).len());
        let before = index.checked_sub(1).and_then(|before| words.get(before));
        let after = words.get(index + 1);
        match bare {
            date if is_date(date) && after.is_some_and(|time| is_time(time)) => "DATE".to_owned(),
            time if is_time(time) && before.is_some_and(|date| is_date(date)) => format!("TIME{sign}"),
            span if is_duration(span) => format!("SPAN{sign}"),
            _ => (*word).to_owned(),
        }
    });
    kept.collect::<Vec<_>>().join(" ")
}

/// `2026-11-15`, before a time.
fn is_date(word: &str) -> bool {
    shape(word) == "dddd-dd-dd"
}

/// `23:51:57` or `23:51:57.613`, perhaps followed by a punctuation mark.
fn is_time(word: &str) -> bool {
    matches!(shape(word.trim_end_matches([',', ';', ')'])).as_str(), "dd:dd:dd" | "dd:dd:dd.ddd")
}

/// `7ms` or `1.20s`. A whole number of seconds is not a duration here but a setting.
fn is_duration(word: &str) -> bool {
    let word = word.trim_start_matches('(');
    let number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    match (word.strip_suffix("ms"), word.strip_suffix('s').and_then(|word| word.split_once('.'))) {
        (Some(ms), _) => number(ms),
        (None, Some((seconds, parts))) => number(seconds) && number(parts),
        (None, None) => false,
    }
}

fn shape(word: &str) -> String {
    word.chars().map(|char| if char.is_ascii_digit() { 'd' } else { char }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(expected: &str, actual: &str) -> bool {
        compare(&Output::Text(expected.to_owned()), actual).is_ok()
    }

    fn json(expected: &str, actual: &str) -> bool {
        compare(&Output::Json(expected.to_owned()), actual).is_ok()
    }

    #[test]
    fn times_durations_and_spaces_may_differ() {
        assert!(text("a  done   7ms\n", "a done 1.20s"));
        assert!(text(
            "ended  2026-11-15 23:51:57.620 UTC, after 7ms",
            "ended 2027-01-01 00:00:00.001 UTC, after 12ms"
        ));
        assert!(text("after …: why", "after 7ms: why"));
        assert!(!text("a done 7ms", "a undone 7ms"));
    }

    #[test]
    fn what_a_page_promises_may_not_differ() {
        assert!(!text("every 30s", "every 31s"));
        assert!(!text("2027-03-28T01:00:00Z", "2027-03-28T02:00:00Z"));
        assert!(!text("a\nb", "a"));
        assert!(!text("a", "a\nb"));
    }

    #[test]
    fn an_ellipsis_stands_for_anything() {
        assert!(text("id … at …\n…\nend", "id 7 at home\nx\ny\nend"));
        assert!(text("a\n…", "a"));
        assert!(!text("a … c", "a b d"));
        assert!(!text("…\nend", "x\ny"));
    }

    #[test]
    fn json_is_compared_by_its_values() {
        assert!(json(r#"{"a": 1, "b": "…"}"#, r#"{"b":[2],"a":1}"#));
        assert!(json(r#"{"a": "x…z", "…": "…"}"#, r#"{"a":"x y z","c":3}"#));
        assert!(!json(r#"{"a": 1}"#, r#"{"a":1,"b":2}"#));
        assert!(!json(r#"{"a": [1]}"#, r#"{"a":[1,2]}"#));
    }
}
