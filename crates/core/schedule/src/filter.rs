//! The `$filter` of lists: one comparison, as the published SDKs write it.

use types::JobState;

use crate::problem::{Problems, did_you_mean, quote};
use crate::spelling::HistoryStatus;

const FIELD: &str = "$filter";
const JOB_STATES: [(&str, JobState); 4] = [
    ("Enabled", JobState::Enabled),
    ("Disabled", JobState::Disabled),
    ("Faulted", JobState::Faulted),
    ("Completed", JobState::Completed),
];
const STATUSES: [(&str, HistoryStatus); 3] = [
    ("Completed", HistoryStatus::Completed),
    ("Failed", HistoryStatus::Failed),
    ("Postponed", HistoryStatus::Postponed),
];

/// `state eq Disabled`, with or without quotes.
pub fn parse_job_filter(text: &str) -> Result<JobState, Problems> {
    choose(text, &["state"], &JOB_STATES)
}

/// `status eq 'Failed'`; the classic API called it `state`.
pub fn parse_history_filter(text: &str) -> Result<HistoryStatus, Problems> {
    choose(text, &["status", "state"], &STATUSES)
}

fn choose<T: Copy>(text: &str, fields: &[&str], values: &[(&str, T)]) -> Result<T, Problems> {
    let names = || values.iter().map(|(name, _)| *name);
    let form = || {
        let names = names().collect::<Vec<_>>().join(", ");
        Problems::one(FIELD, format!("{} is not '{} eq …' with one of {names}", quote(text), fields[0]))
    };
    let mut parts = text.split_whitespace();
    let (Some(field), Some(operator), Some(value), None) =
        (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return Err(form());
    };
    let known = fields.iter().any(|name| name.eq_ignore_ascii_case(field));
    if !known || !operator.eq_ignore_ascii_case("eq") {
        return Err(form());
    }
    let unquoted = value.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\'')).unwrap_or(value);
    let chosen = values.iter().find(|(name, _)| name.eq_ignore_ascii_case(unquoted));
    chosen.map(|(_, chosen)| *chosen).ok_or_else(|| {
        let hint = did_you_mean(unquoted, names());
        let names = names().collect::<Vec<_>>().join(", ");
        Problems::one(FIELD, format!("{} is not one of {names}{hint}", quote(unquoted)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_are_read_with_and_without_quotes() {
        for text in ["state eq Disabled", "State EQ 'disabled'", "  state  eq  DISABLED "] {
            assert_eq!(parse_job_filter(text), Ok(JobState::Disabled), "{text}");
        }
        for text in ["status eq 'Failed'", "status eq failed", "state eq failed"] {
            assert_eq!(parse_history_filter(text), Ok(HistoryStatus::Failed), "{text}");
        }
    }

    #[test]
    fn a_filter_that_is_not_understood_says_what_would_be() {
        let message = |text| parse_job_filter(text).expect_err(text).to_string();
        assert_eq!(
            message("state ne Enabled"),
            "$filter: 'state ne Enabled' is not 'state eq …' with one of Enabled, Disabled, Faulted, Completed"
        );
        assert_eq!(
            message("state eq 'Disabld'"),
            "$filter: 'Disabld' is not one of Enabled, Disabled, Faulted, Completed; did you mean 'Disabled'?"
        );
        for text in ["", "state", "status eq Enabled", "state eq Enabled and state eq Disabled", "state eq '"]
        {
            assert!(parse_job_filter(text).is_err(), "{text}");
        }
    }
}
