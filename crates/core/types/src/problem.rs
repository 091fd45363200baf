//! What is wrong with a text that a person wrote: where, in which field, and what would be right.

use std::fmt;

/// Problems reported for one text; more than this are counted, not listed.
const PROBLEMS_MAX: usize = 50;
/// A longer text is cut where a message quotes it.
const QUOTE_CHARS_MAX: usize = 120;

/// A position in the source, counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct At {
    pub line: u32,
    pub column: u32,
}

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Known for YAML, absent for JSON.
    pub line: Option<u32>,
    pub column: Option<u32>,
    /// The field as a dotted path, like `steps.drone.call.path` or `properties.hours[2]`; empty for the whole text.
    pub field: String,
    pub message: String,
}

/// Everything that is wrong with a text, in the order of the source. Never empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problems(Vec<Problem>);

impl Problems {
    /// A single problem, for what only the caller can check.
    pub fn one(field: impl Into<String>, message: impl Into<String>) -> Problems {
        Problems(vec![Problem { line: None, column: None, field: field.into(), message: message.into() }])
    }

    /// The first problem: enough for a message of one line.
    pub fn first(&self) -> &Problem {
        &self.0[0]
    }

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

/// One per line where lines are known, else in one sentence.
impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let separator = if self.0.iter().any(|problem| problem.line.is_some()) { "\n" } else { "; " };
        for (n, problem) in self.0.iter().enumerate() {
            if n > 0 {
                f.write_str(separator)?;
            }
            problem.fmt(f)?;
        }
        Ok(())
    }
}

impl std::error::Error for Problems {}

/// Collects problems while a text is read.
#[derive(Debug, Default)]
pub struct Report {
    problems: Vec<(Option<At>, Problem)>,
}

impl Report {
    /// Adds a problem of a field whose position is not known.
    pub fn add(&mut self, field: &str, message: impl Into<String>) {
        let problem = Problem { line: None, column: None, field: field.to_owned(), message: message.into() };
        self.problems.push((None, problem));
    }

    pub fn add_at(&mut self, at: At, field: &str, message: impl Into<String>) {
        let (line, column) = (Some(at.line), Some(at.column));
        let problem = Problem { line, column, field: field.to_owned(), message: message.into() };
        self.problems.push((Some(at), problem));
    }

    pub fn is_empty(&self) -> bool {
        self.problems.is_empty()
    }

    /// Whether something at or below this field was reported already.
    pub fn mentions(&self, field: &str) -> bool {
        self.problems.iter().any(|(_, problem)| {
            let rest = problem.field.strip_prefix(field);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
        })
    }

    /// `value` when nothing is wrong, else all that is. A reader that returns none has reported why.
    pub fn finish<T>(self, value: Option<T>) -> Result<T, Problems> {
        match value {
            Some(value) if self.problems.is_empty() => Ok(value),
            _ => Err(self.into_problems()),
        }
    }

    /// What was reported, of which there must be something.
    pub fn into_problems(mut self) -> Problems {
        assert!(!self.problems.is_empty(), "a reader that returns nothing has reported why");
        self.problems.sort_by_key(|(at, _)| *at);
        let more = self.problems.len().saturating_sub(PROBLEMS_MAX);
        self.problems.truncate(PROBLEMS_MAX);
        if more > 0 {
            self.add("", format!("and {more} more problems"));
        }
        Problems(self.problems.into_iter().map(|(_, problem)| problem).collect())
    }
}

/// The nearest of `names` to a mistyped `text` in any casing, as an ending of a message; empty when none is near.
pub fn did_you_mean<'a>(text: &str, names: impl IntoIterator<Item = &'a str>) -> String {
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
pub fn quote(text: &str) -> String {
    let max = QUOTE_CHARS_MAX;
    let mut cut: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(max).collect();
    if text.chars().nth(max).is_some() {
        cut.push('…');
    }
    format!("'{cut}'")
}
