//! Reads the fields of a map: the right ones, of the right type, with a problem for each that is not.

use types::Span;

use crate::yaml::{Node, YamlEntry, YamlKind, join};
use types::problem::{At, Report, did_you_mean, quote};

/// The fields of one map, all of them known.
pub struct Fields<'n> {
    /// The map's own dotted path.
    pub path: String,
    pub at: At,
    entries: &'n [YamlEntry],
}

/// One value and its dotted path.
#[derive(Clone)]
pub struct Field<'n> {
    pub path: String,
    pub node: &'n Node,
}

impl<'n> Fields<'n> {
    /// The fields of a map that has no others than `allowed`; a list of names in the order to show them.
    pub fn read(field: &Field<'n>, allowed: &[&str], report: &mut Report) -> Option<Fields<'n>> {
        let fields = Fields::read_any(field, report)?;
        for entry in fields.entries {
            if !allowed.contains(&entry.key.as_str()) {
                let hint = did_you_mean(&entry.key, allowed.iter().copied());
                let message = format!("unknown field; allowed here: {}{hint}", allowed.join(", "));
                report.add_at(entry.at, &join(&field.path, &entry.key), message);
            }
        }
        Some(fields)
    }

    /// The fields of a map whose names are the writer's own.
    pub fn read_any(field: &Field<'n>, report: &mut Report) -> Option<Fields<'n>> {
        match &field.node.kind {
            YamlKind::Map(entries) => Some(Fields { path: field.path.clone(), at: field.node.at, entries }),
            _ => {
                field.wrong_type("a map", report);
                None
            }
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = (&'n str, At, Field<'n>)> {
        self.entries.iter().map(|entry| {
            let field = Field { path: join(&self.path, &entry.key), node: &entry.value };
            (entry.key.as_str(), entry.at, field)
        })
    }

    /// A field's value; a field without one (`retry:`) counts as absent.
    pub fn get(&self, name: &str) -> Option<Field<'n>> {
        let entry = self.entries.iter().find(|entry| entry.key == name)?;
        let present = !matches!(entry.value.kind, YamlKind::Null);
        present.then(|| Field { path: join(&self.path, name), node: &entry.value })
    }

    pub fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    pub fn require(&self, name: &str, report: &mut Report) -> Option<Field<'n>> {
        let field = self.get(name);
        if field.is_none() {
            report.add_at(self.at, &join(&self.path, name), "the field is missing");
        }
        field
    }

    pub fn span(&self, name: &str, report: &mut Report) -> Option<Span> {
        self.get(name).and_then(|field| field.span(report))
    }

    pub fn flag(&self, name: &str, report: &mut Report) -> bool {
        let Some(field) = self.get(name) else { return false };
        match field.node.kind {
            YamlKind::Bool(value) => value,
            _ => {
                field.wrong_type("true or false", report);
                false
            }
        }
    }

    /// A whole number from `1` to `max`.
    pub fn count(&self, name: &str, max: u32, report: &mut Report) -> Option<u32> {
        let field = self.get(name)?;
        let whole = match &field.node.kind {
            YamlKind::Number(number) => number.as_u64(),
            _ => None,
        };
        let count = whole.and_then(|n| u32::try_from(n).ok()).filter(|n| (1..=max).contains(n));
        if count.is_none() {
            field.wrong(format!("must be a whole number from 1 to {max}"), report);
        }
        count
    }
}

impl<'n> Field<'n> {
    pub fn wrong(&self, message: impl Into<String>, report: &mut Report) {
        report.add_at(self.node.at, &self.path, message);
    }

    pub fn wrong_type(&self, expected: &str, report: &mut Report) {
        self.wrong(format!("must be {expected}, not {}", self.node.what()), report);
    }

    pub fn text(&self, report: &mut Report) -> Option<&'n str> {
        match &self.node.kind {
            YamlKind::Text(text) => Some(text),
            _ => {
                self.wrong_type("text", report);
                None
            }
        }
    }

    /// Text, or a number or boolean as it would be written.
    pub fn scalar(&self, report: &mut Report) -> Option<String> {
        match &self.node.kind {
            YamlKind::Text(text) => Some(text.clone()),
            YamlKind::Number(number) => Some(number.to_string()),
            YamlKind::Bool(value) => Some(value.to_string()),
            _ => {
                self.wrong_type("text", report);
                None
            }
        }
    }

    pub fn span(&self, report: &mut Report) -> Option<Span> {
        let text = match &self.node.kind {
            YamlKind::Text(text) => text.clone(),
            YamlKind::Number(number) => number.to_string(),
            _ => {
                self.wrong_type("a span of time like 30s", report);
                return None;
            }
        };
        match text.parse() {
            Ok(Span::ZERO) => {
                self.wrong("must be longer than nothing", report);
                None
            }
            Ok(span) => Some(span),
            Err(error) => {
                self.wrong(error.to_string(), report);
                None
            }
        }
    }

    pub fn list(&self, report: &mut Report) -> Vec<Field<'n>> {
        match &self.node.kind {
            YamlKind::List(items) => {
                let field = |(n, node)| Field { path: format!("{}[{n}]", self.path), node };
                items.iter().enumerate().map(field).collect()
            }
            _ => {
                self.wrong_type("a list", report);
                Vec::new()
            }
        }
    }

    /// A value read by a rule that says itself what is wrong.
    pub fn checked<T, E: ToString>(&self, value: Result<T, E>, report: &mut Report) -> Option<T> {
        value.map_err(|error| self.wrong(error.to_string(), report)).ok()
    }

    /// One of a few words.
    pub fn one_of(&self, words: &[&'static str], report: &mut Report) -> Option<&'static str> {
        let text = self.text(report)?;
        let word = words.iter().copied().find(|word| *word == text);
        if word.is_none() {
            let hint = did_you_mean(text, words.iter().copied());
            let message = format!("{} is not known; allowed: {}{hint}", quote(text), words.join(", "));
            self.wrong(message, report);
        }
        word
    }
}
