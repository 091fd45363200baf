//! Reads YAML (and so JSON) into a tree in which every value knows its line.

use std::collections::BTreeMap;
use std::ops::Range;

use granit_parser::{Event, Parser, ScalarStyle, Span, Tag};
use serde_json::Number;

use crate::limits::SOURCE_DEPTH_MAX;
use types::problem::{At, Report};

/// A value of the source and where it stands.
#[derive(Debug)]
pub struct Node {
    pub at: At,
    /// The bytes of a scalar in the source.
    pub bytes: Range<usize>,
    pub kind: YamlKind,
}

#[derive(Debug)]
pub enum YamlKind {
    Null,
    Bool(bool),
    Number(Number),
    Text(String),
    List(Vec<Node>),
    Map(Vec<YamlEntry>),
}

/// A field of a map, in the order written.
#[derive(Debug)]
pub struct YamlEntry {
    pub key: String,
    pub at: At,
    pub value: Node,
}

impl Node {
    /// What the value is, for messages.
    pub fn what(&self) -> &'static str {
        match self.kind {
            YamlKind::Null => "nothing",
            YamlKind::Bool(_) => "a boolean",
            YamlKind::Number(_) => "a number",
            YamlKind::Text(_) => "text",
            YamlKind::List(_) => "a list",
            YamlKind::Map(_) => "a map",
        }
    }

    /// The value as JSON, without its places.
    pub fn to_json(&self) -> serde_json::Value {
        use serde_json::Value;
        match &self.kind {
            YamlKind::Null => Value::Null,
            YamlKind::Bool(value) => Value::Bool(*value),
            YamlKind::Number(number) => Value::Number(number.clone()),
            YamlKind::Text(text) => Value::String(text.clone()),
            YamlKind::List(items) => Value::Array(items.iter().map(Node::to_json).collect()),
            YamlKind::Map(entries) => {
                Value::Object(entries.iter().map(|e| (e.key.clone(), e.value.to_json())).collect())
            }
        }
    }
}

/// The one document of `source`, or `None` with at least one problem reported.
pub fn read(source: &str, report: &mut Report) -> Option<Node> {
    let options = granit_parser::options! {
        disallow_directives: true,
        emit_comments: false,
        flow_nesting_limit: SOURCE_DEPTH_MAX,
        block_nesting_limit: SOURCE_DEPTH_MAX,
    };
    let mut builder = Builder { open: Vec::new(), root: None, documents: 0, report };
    for next in Parser::new_from_str_with_options(source, options) {
        match next {
            Ok((event, span)) => builder.take(event, span),
            Err(error) => {
                let marker = *error.marker();
                builder.report.add_at(at(marker.line(), marker.col()), "", error.info());
                return None;
            }
        }
    }
    let root = builder.root.take();
    if root.is_none() && report.is_empty() {
        report.add("", "the definition is empty");
    }
    root.filter(|_| report.is_empty())
}

/// Builds the tree from the parser's events, with a stack of its own: nesting costs no native stack.
struct Builder<'r> {
    open: Vec<Open>,
    root: Option<Node>,
    documents: usize,
    report: &'r mut Report,
}

enum Open {
    List { at: At, items: Vec<Node> },
    Map { at: At, entries: Vec<YamlEntry>, key: Option<(String, At)> },
}

impl Builder<'_> {
    fn take(&mut self, event: Event<'_>, span: Span) {
        let here = at(span.start.line(), span.start.col());
        match event {
            Event::DocumentStart(..) => {
                self.documents += 1;
                if self.documents == 2 {
                    self.report.add_at(here, "", "a definition is one document; remove what follows '---'");
                }
            }
            Event::Scalar(text, style, anchor, tag) => {
                self.refuse_anchor(anchor, here);
                let kind = self.scalar(text.into_owned(), style, tag.as_deref(), here);
                let bytes = span.byte_range().unwrap_or(0..0);
                self.put(Node { at: here, bytes, kind });
            }
            Event::SequenceStart(_, anchor, tag) => {
                self.refuse_anchor(anchor, here);
                self.refuse_tag(tag.as_deref(), here);
                self.begin(Open::List { at: here, items: Vec::new() }, here);
            }
            Event::MappingStart(_, anchor, tag) => {
                self.refuse_anchor(anchor, here);
                self.refuse_tag(tag.as_deref(), here);
                self.begin(Open::Map { at: here, entries: Vec::new(), key: None }, here);
            }
            Event::SequenceEnd | Event::MappingEnd => self.end(),
            Event::Alias(_) | Event::UnresolvedAlias(_) => {
                self.report.add_at(here, "", "aliases (*name) are not supported; write the value out");
                self.put(Node { at: here, bytes: 0..0, kind: YamlKind::Null });
            }
            _ => {}
        }
    }

    fn begin(&mut self, open: Open, here: At) {
        if self.open.len() == SOURCE_DEPTH_MAX {
            self.report.add_at(here, "", format!("values nest deeper than {SOURCE_DEPTH_MAX} levels"));
        }
        self.open.push(open);
    }

    fn end(&mut self) {
        let node = match self.open.pop() {
            Some(Open::List { at, items }) => Node { at, bytes: 0..0, kind: YamlKind::List(items) },
            Some(Open::Map { at, entries, .. }) => {
                self.refuse_duplicates(&entries);
                Node { at, bytes: 0..0, kind: YamlKind::Map(entries) }
            }
            None => return,
        };
        self.put(node);
    }

    fn refuse_duplicates(&mut self, entries: &[YamlEntry]) {
        let mut first = BTreeMap::new();
        for entry in entries {
            if let Some(earlier) = first.insert(entry.key.as_str(), entry.at) {
                let field = join(&self.path(), &entry.key);
                let message = format!("the field is given twice, first on line {}", earlier.line);
                self.report.add_at(entry.at, &field, message);
            }
        }
    }

    /// The dotted path of the value that is being read.
    fn path(&self) -> String {
        self.open.iter().fold(String::new(), |path, open| match open {
            Open::List { items, .. } => format!("{path}[{}]", items.len()),
            Open::Map { key: Some((key, _)), .. } => join(&path, key),
            Open::Map { key: None, .. } => path,
        })
    }

    fn put(&mut self, node: Node) {
        match self.open.last_mut() {
            None if self.root.is_none() => self.root = Some(node),
            None => {}
            Some(Open::List { items, .. }) => items.push(node),
            Some(Open::Map { entries, key, .. }) => match key.take() {
                Some((key, at)) => entries.push(YamlEntry { key, at, value: node }),
                None => *key = Some((key_of(&node, self.report), node.at)),
            },
        }
    }

    fn scalar(&mut self, text: String, style: ScalarStyle, tag: Option<&Tag>, here: At) -> YamlKind {
        if tag.is_some_and(|tag| tag.is_yaml_core_schema_tag("str")) {
            return YamlKind::Text(text);
        }
        self.refuse_tag(tag, here);
        if style == ScalarStyle::Plain { plain(text) } else { YamlKind::Text(text) }
    }

    fn refuse_tag(&mut self, tag: Option<&Tag>, here: At) {
        if let Some(tag) = tag {
            let message = format!("tag {} is not supported", types::problem::quote(&tag.original()));
            self.report.add_at(here, "", message);
        }
    }

    fn refuse_anchor(&mut self, anchor: usize, here: At) {
        if anchor != 0 {
            self.report.add_at(here, "", "anchors (&name) are not supported; write the value out");
        }
    }
}

/// The path of a field inside `path`.
pub fn join(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

fn at(line: usize, column: usize) -> At {
    let number = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    At { line: number(line), column: number(column.saturating_add(1)) }
}

fn key_of(node: &Node, report: &mut Report) -> String {
    match &node.kind {
        YamlKind::Text(text) => text.clone(),
        // `on: …` and `1: …` read as text: a field's name is never anything else.
        YamlKind::Bool(value) => value.to_string(),
        YamlKind::Number(number) => number.to_string(),
        YamlKind::Null | YamlKind::List(_) | YamlKind::Map(_) => {
            report.add_at(node.at, "", format!("the name of a field must be text, not {}", node.what()));
            String::new()
        }
    }
}

/// A plain scalar by YAML's core schema.
fn plain(text: String) -> YamlKind {
    match text.as_str() {
        "" | "~" | "null" | "Null" | "NULL" => YamlKind::Null,
        "true" | "True" | "TRUE" => YamlKind::Bool(true),
        "false" | "False" | "FALSE" => YamlKind::Bool(false),
        _ => number(&text).map_or(YamlKind::Text(text), YamlKind::Number),
    }
}

fn number(text: &str) -> Option<Number> {
    let radix = |prefix, radix| text.strip_prefix(prefix).map(|digits| u64::from_str_radix(digits, radix));
    if let Some(whole) = radix("0x", 16).or_else(|| radix("0o", 8)) {
        return whole.ok().map(Number::from);
    }
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let starts_well = digits.starts_with(|c: char| c.is_ascii_digit())
        || digits.strip_prefix('.').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    if !starts_well || !digits.bytes().all(|b| b.is_ascii_digit() || b".eE+-".contains(&b)) {
        return None;
    }
    if digits.bytes().all(|b| b.is_ascii_digit()) {
        let whole = text.parse::<i64>().map(Number::from).or_else(|_| text.parse::<u64>().map(Number::from));
        if let Ok(whole) = whole {
            return Some(whole);
        }
    }
    text.parse::<f64>().ok().and_then(Number::from_f64)
}
