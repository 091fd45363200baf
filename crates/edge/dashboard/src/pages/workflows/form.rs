//! Form fields for a JSON Schema. Constraints that fields cannot express are checked by the API, and values that
//! fields cannot hold are entered as JSON.

mod fill;
mod show;
#[cfg(test)]
mod tests;

use serde_json::{Map, Value};

pub(super) use fill::{at_fields, fill, read};
pub(super) use show::fields;

pub(super) use crate::components::controls::FieldValues;

/// Fields of a form at most; anything beyond is entered as JSON.
const FIELDS_MAX: usize = 200;
/// Nesting depth of fieldsets.
const DEPTH_MAX: usize = 6;
/// Options of a dropdown at most.
const CHOICES_MAX: usize = 200;
/// Length of a chain of references at most.
const REFERENCES_MAX: usize = 8;

/// A field of the form.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct FormField {
    /// The JSON pointer of its value in the body.
    pub pointer: String,
    /// The name of the member.
    pub member: String,
    pub label: String,
    pub hint: String,
    pub required: bool,
    pub nullable: bool,
    pub default: Option<Value>,
    pub kind: FieldKind,
}

/// The kind of control.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum FieldKind {
    Text {
        format: Option<String>,
        long: bool,
    },
    Number,
    Flag,
    Choice(Vec<Value>),
    Group(Vec<FormField>),
    /// A list, one item per line.
    Lines(ItemKind),
    /// Anything that has no control of its own.
    Json,
}

/// The type of the items of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ItemKind {
    Text,
    Number,
}

impl FormField {
    /// The name and id of its control.
    pub(super) fn name(&self) -> String {
        format!("f{}", self.pointer)
    }
}

/// The fields of the object that a schema describes; none if it has none or does not describe an object.
pub(super) fn from_schema(schema: &Value) -> Option<Vec<FormField>> {
    let mut reader = SchemaReader { root: schema, left: FIELDS_MAX };
    let object = reader.resolved(schema)?;
    let fields = reader.members(object, "", 0)?;
    (!fields.is_empty()).then_some(fields)
}

struct SchemaReader<'a> {
    root: &'a Value,
    left: usize,
}

impl<'a> SchemaReader<'a> {
    /// Resolves references within this document.
    fn resolved(&self, schema: &'a Value) -> Option<&'a Map<String, Value>> {
        let mut at = schema.as_object()?;
        for _ in 0..REFERENCES_MAX {
            let Some(reference) = at.get("$ref").and_then(Value::as_str) else { return Some(at) };
            at = self.root.pointer(reference.strip_prefix('#')?)?.as_object()?;
        }
        None
    }

    /// The fields of an object's members, required ones first.
    fn members(&mut self, object: &'a Map<String, Value>, at: &str, depth: usize) -> Option<Vec<FormField>> {
        let kinds = types(object);
        if depth > DEPTH_MAX || !(kinds.is_empty() || kinds.contains(&"object")) {
            return None;
        }
        let members = object.get("properties")?.as_object()?;
        if members.len() > self.left {
            return None;
        }
        self.left -= members.len();
        let listed = object.get("required").and_then(Value::as_array);
        let needed = |name: &str| listed.is_some_and(|listed| listed.iter().any(|item| item == name));
        let field = |(name, schema): (&String, &'a Value)| {
            let pointer = format!("{at}/{}", name.replace('~', "~0").replace('/', "~1"));
            self.field(name, schema, pointer, needed(name), depth)
        };
        let mut fields: Vec<FormField> = members.iter().map(field).collect();
        fields.sort_by_key(|field| !field.required);
        Some(fields)
    }

    fn field(
        &mut self,
        name: &str,
        schema: &'a Value,
        pointer: String,
        required: bool,
        depth: usize,
    ) -> FormField {
        let resolved = self.resolved(schema);
        let said = |key: &str| {
            let near = schema.get(key).or_else(|| resolved.and_then(|schema| schema.get(key)));
            near.and_then(Value::as_str).filter(|text| !text.is_empty())
        };
        let default = schema.get("default").or_else(|| resolved.and_then(|schema| schema.get("default")));
        let kind = resolved.and_then(|schema| self.kind(schema, &pointer, depth)).unwrap_or(FieldKind::Json);
        FormField {
            label: said("title").unwrap_or(name).to_owned(),
            hint: said("description").unwrap_or_default().to_owned(),
            default: default.cloned().or_else(|| constant(&kind, required)),
            nullable: resolved.is_some_and(|schema| types(schema).contains(&"null")),
            member: name.to_owned(),
            pointer,
            required,
            kind,
        }
    }

    fn kind(&mut self, schema: &'a Map<String, Value>, pointer: &str, depth: usize) -> Option<FieldKind> {
        if ["oneOf", "anyOf", "allOf", "not", "if", "$dynamicRef"].iter().any(|key| schema.contains_key(*key))
        {
            return None;
        }
        if let Some(only) = schema.get("const") {
            return Some(FieldKind::Choice(vec![only.clone()]));
        }
        if let Some(choices) = schema.get("enum") {
            let choices = choices.as_array()?;
            return (1..=CHOICES_MAX).contains(&choices.len()).then(|| FieldKind::Choice(choices.clone()));
        }
        let kinds: Vec<&str> = types(schema).into_iter().filter(|kind| *kind != "null").collect();
        match kinds.as_slice() {
            ["boolean"] => Some(FieldKind::Flag),
            ["number" | "integer"] | ["number", "integer"] | ["integer", "number"] => Some(FieldKind::Number),
            ["object"] => self.members(schema, pointer, depth + 1).map(FieldKind::Group),
            ["array"] => self.lines(schema).map(FieldKind::Lines),
            // With several types, text is the common case; values of other types are entered as JSON.
            kinds
                if kinds.contains(&"string")
                    && !kinds.iter().any(|kind| matches!(*kind, "object" | "array")) =>
            {
                let long = schema.get("maxLength").and_then(Value::as_u64).is_some_and(|most| most > 2000);
                let format = schema.get("format").and_then(Value::as_str).map(str::to_owned);
                Some(FieldKind::Text { format, long })
            }
            _ => None,
        }
    }

    fn lines(&self, schema: &'a Map<String, Value>) -> Option<ItemKind> {
        if schema.contains_key("prefixItems") {
            return None;
        }
        let item = self.resolved(schema.get("items")?)?;
        if ["oneOf", "anyOf", "allOf", "not", "if"].iter().any(|key| item.contains_key(*key)) {
            return None;
        }
        match types(item).as_slice() {
            ["string"] => Some(ItemKind::Text),
            ["number" | "integer"] => Some(ItemKind::Number),
            _ => None,
        }
    }
}

/// The types that a schema allows.
fn types(schema: &Map<String, Value>) -> Vec<&str> {
    match schema.get("type") {
        Some(Value::String(kind)) => vec![kind],
        Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

/// A required constant needs no input.
fn constant(kind: &FieldKind, required: bool) -> Option<Value> {
    match kind {
        FieldKind::Choice(choices) if required && choices.len() == 1 => choices.first().cloned(),
        _ => None,
    }
}
