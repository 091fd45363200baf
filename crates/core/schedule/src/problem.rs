//! What is wrong with a document: in which field, and what would be right.

use std::fmt;

/// More problems than this are counted, not listed.
const PROBLEMS_MAX: usize = 50;
/// A longer text is cut where a message quotes it.
const QUOTE_CHARS_MAX: usize = 60;

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The field as a path, like `properties.recurrence.schedule.hours[2]`; empty for the whole text.
    pub field: String,
    pub message: String,
}

/// Everything that is wrong with what was read. Never empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problems(Vec<Problem>);

impl Problems {
    /// A single problem, for what only the caller can check.
    pub fn one(field: impl Into<String>, message: impl Into<String>) -> Problems {
        Problems(vec![Problem { field: field.into(), message: message.into() }])
    }

    /// The first problem: enough for a message of one line.
    pub fn first(&self) -> &Problem {
        &self.0[0]
    }

    /// The problems, in the order they were found.
    pub fn iter(&self) -> impl Iterator<Item = &Problem> {
        self.0.iter()
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.field.is_empty() {
            write!(f, "{}: ", self.field)?;
        }
        f.write_str(&self.message)
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, problem) in self.0.iter().enumerate() {
            if n > 0 {
                f.write_str("; ")?;
            }
            problem.fmt(f)?;
        }
        Ok(())
    }
}

impl std::error::Error for Problems {}

/// Collects problems while something is read.
#[derive(Default)]
pub(crate) struct Report {
    problems: Vec<Problem>,
}

impl Report {
    pub(crate) fn add(&mut self, field: &str, message: impl Into<String>) {
        self.problems.push(Problem { field: field.to_owned(), message: message.into() });
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.problems.is_empty()
    }

    /// Whether something at or below this field was reported already.
    pub(crate) fn mentions(&self, field: &str) -> bool {
        self.problems.iter().any(|problem| {
            problem
                .field
                .strip_prefix(field)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
        })
    }

    /// `value` when nothing is wrong, else all that is.
    pub(crate) fn finish<T>(self, value: T) -> Result<T, Problems> {
        if self.problems.is_empty() { Ok(value) } else { Err(self.into_problems()) }
    }

    pub(crate) fn into_problems(mut self) -> Problems {
        assert!(!self.problems.is_empty(), "whoever gives up has reported why");
        let more = self.problems.len().saturating_sub(PROBLEMS_MAX);
        if more > 0 {
            self.problems.truncate(PROBLEMS_MAX);
            self.add("", format!("and {more} more problems"));
        }
        Problems(self.problems)
    }
}

/// The nearest of `names` to a mistyped `text`, as an ending of a message; empty when none is near.
pub(crate) fn did_you_mean<'a>(text: &str, names: impl IntoIterator<Item = &'a str>) -> String {
    let text = text.to_lowercase();
    let near = |name: &'a str| {
        let distance = distance(&text, &name.to_lowercase());
        (distance <= (name.len() / 3).max(1)).then_some((distance, name))
    };
    let best = names.into_iter().filter_map(near).min_by_key(|(distance, _)| *distance);
    best.map_or_else(String::new, |(_, name)| format!("; did you mean '{name}'?"))
}

/// The number of letters to insert, drop or change. Names are short, and longer texts are never near.
fn distance(a: &str, b: &str) -> usize {
    if a.len() > 80 || b.len() > 80 {
        return usize::MAX;
    }
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, cb) in b.iter().enumerate() {
            let change = diagonal + usize::from(ca != *cb);
            diagonal = row[j + 1];
            row[j + 1] = change.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

/// A text as it appears in messages: on one line, cut, in quotes.
pub(crate) fn quote(text: &str) -> String {
    let mut cut: String =
        text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(QUOTE_CHARS_MAX).collect();
    if text.chars().nth(QUOTE_CHARS_MAX).is_some() {
        cut.push('…');
    }
    format!("'{cut}'")
}

/// The path of a member below `path`.
pub(crate) fn below(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}
