//! What is wrong with a definition: where, in which field, and what would be right.

use std::fmt;

use crate::limits::PROBLEMS_MAX;

/// A place in the source, counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct At {
    pub line: u32,
    pub column: u32,
}

/// One thing that is wrong with a definition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    pub line: Option<u32>,
    pub column: Option<u32>,
    /// The field as a dotted path, like `steps.drone.call.path`; empty for the whole text.
    pub field: String,
    pub message: String,
}

/// Everything that is wrong with a definition, in the order of the source. Never empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problems(Vec<Problem>);

impl Problems {
    /// The problems, first to last.
    pub fn iter(&self) -> impl Iterator<Item = &Problem> {
        self.0.iter()
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = self.line {
            write!(f, "line {line}: ")?;
        }
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
                f.write_str("\n")?;
            }
            problem.fmt(f)?;
        }
        Ok(())
    }
}

impl std::error::Error for Problems {}

/// Collects problems while a definition is read.
#[derive(Default)]
pub struct Report {
    problems: Vec<(Option<At>, Problem)>,
}

impl Report {
    pub fn add(&mut self, at: At, field: &str, message: impl Into<String>) {
        let (line, column) = (Some(at.line), Some(at.column));
        let problem = Problem { line, column, field: field.to_owned(), message: message.into() };
        self.problems.push((Some(at), problem));
    }

    pub(crate) fn add_without_place(&mut self, message: impl Into<String>) {
        let problem = Problem { line: None, column: None, field: String::new(), message: message.into() };
        self.problems.push((None, problem));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.problems.is_empty()
    }

    /// `value` when nothing is wrong, else all that is.
    pub fn finish<T>(self, value: Option<T>) -> Result<T, Problems> {
        match value {
            Some(value) if self.problems.is_empty() => Ok(value),
            _ => Err(self.into_problems()),
        }
    }

    fn into_problems(mut self) -> Problems {
        assert!(!self.problems.is_empty(), "a reader that returns nothing has reported why");
        self.problems.sort_by_key(|(at, _)| *at);
        let more = self.problems.len().saturating_sub(PROBLEMS_MAX);
        let mut problems: Vec<_> =
            self.problems.into_iter().map(|(_, problem)| problem).take(PROBLEMS_MAX).collect();
        if more > 0 {
            let message = format!("and {more} more problems");
            problems.push(Problem { line: None, column: None, field: String::new(), message });
        }
        Problems(problems)
    }
}

/// The nearest of `names` to a mistyped `text`, as an ending of a message; empty when none is near.
pub fn did_you_mean<'a>(text: &str, names: impl IntoIterator<Item = &'a str>) -> String {
    let near = |name: &&str| distance(text, name) <= (name.len() / 3).max(1);
    let best = names.into_iter().filter(near).min_by_key(|name| distance(text, name));
    best.map_or_else(String::new, |name| format!("; did you mean '{name}'?"))
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
    let max = crate::limits::QUOTE_CHARS_MAX;
    let mut cut: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(max).collect();
    if text.chars().nth(max).is_some() {
        cut.push('…');
    }
    format!("'{cut}'")
}
