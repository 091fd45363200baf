//! Reads retry policies.

use types::{Retry, Span};

use super::fields::{Field, Fields};
use crate::yaml::YamlKind;
use types::problem::Report;

/// Whose policy it is: only undos wait by patience.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Of {
    Step,
    Undo,
}

const ATTEMPTS_MAX: u32 = 10_000;

pub(super) fn read(field: &Field<'_>, of: Of, report: &mut Report) -> Option<Retry> {
    let all = ["type", "delay", "first", "factor", "max", "attempts", "patience"];
    let fields = Fields::read(field, &all, report)?;
    let kind = fields.require("type", report)?.one_of(&["none", "fixed", "exponential"], report)?;
    let own: &[&str] = match kind {
        "none" => &["type"],
        "fixed" => &["type", "delay", "attempts"],
        _ => &["type", "first", "factor", "max", "attempts", "patience"],
    };
    for (name, at, value) in fields.iter() {
        if all.contains(&name) && !own.contains(&name) {
            report.add_at(at, &value.path, format!("has no meaning for a retry of type {kind}"));
        }
    }
    match kind {
        "none" => Some(Retry::None),
        "fixed" => {
            let delay = fields.require("delay", report).and_then(|field| field.span(report));
            let attempts = fields.count("attempts", ATTEMPTS_MAX, report).unwrap_or(5);
            Some(Retry::Fixed { delay: delay?, attempts })
        }
        _ => Some(exponential(&fields, of, report)),
    }
}

fn exponential(fields: &Fields<'_>, of: Of, report: &mut Report) -> Retry {
    let first = fields.span("first", report).unwrap_or(Span::from_ms(500));
    let default_max = if of == Of::Undo { Span::from_secs(3600) } else { Span::from_secs(60) };
    let max = fields.span("max", report).unwrap_or(default_max.max(first));
    if max < first
        && let Some(field) = fields.get("max")
    {
        field.wrong(format!("must not be shorter than the first delay, {first}"), report);
    }
    let factor_percent = factor(fields, report);
    let attempts = fields.count("attempts", ATTEMPTS_MAX, report);
    let patience = fields.span("patience", report);
    match (of, fields.get("patience"), attempts) {
        (Of::Step, Some(field), _) => field.wrong("only undos have patience; give attempts", report),
        (Of::Undo, Some(field), Some(_)) => field.wrong("give patience or attempts, not both", report),
        _ => {}
    }
    match (of, attempts) {
        (Of::Undo, None) => {
            let patience = patience.unwrap_or(Span::from_secs(24 * 3600));
            Retry::Patient { first, factor_percent, max, patience }
        }
        _ => Retry::Exponential { first, factor_percent, max, attempts: attempts.unwrap_or(5) },
    }
}

fn factor(fields: &Fields<'_>, report: &mut Report) -> u32 {
    let Some(field) = fields.get("factor") else { return 200 };
    let factor = match &field.node.kind {
        YamlKind::Number(number) => number.as_f64(),
        _ => None,
    };
    match factor.filter(|factor| (1.0..=100.0).contains(factor)) {
        // Between 100 and 10,000, so the cast is exact to the percent.
        Some(factor) => (factor * 100.0).round() as u32,
        None => {
            field.wrong("must be a number from 1 to 100", report);
            200
        }
    }
}
