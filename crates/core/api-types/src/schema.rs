//! How the types of the API describe themselves in its OpenAPI document.

use std::any::type_name;
use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use types::{DecisionKind, RunStatus, Span};

use crate::Time;

/// A type that can describe its JSON.
pub trait ApiSchema {
    /// Its schema, or a reference to it if it has a name.
    fn schema(components: &mut Components) -> Value;
}

/// A type whose JSON is an object, which can be flattened into another.
pub trait ApiObject {
    fn members(object: &mut ObjectSchema, components: &mut Components);
}

/// The schemas that have a name.
#[derive(Debug, Default)]
pub struct Components(BTreeMap<Cow<'static, str>, Component>);

#[derive(Debug)]
struct Component {
    /// The Rust type: two of them must not share a name.
    of: &'static str,
    schema: Value,
}

impl Components {
    /// Describes a type under a name, once, and refers to it.
    pub fn named<T: ?Sized>(
        &mut self,
        name: impl Into<Cow<'static, str>>,
        describe: impl FnOnce(&mut Components) -> Value,
    ) -> Value {
        let (name, of) = (name.into(), type_name::<T>());
        match self.0.get(&name) {
            Some(known) => assert_eq!(known.of, of, "two types are called {name}"),
            None => {
                // Before it is described: it may refer to itself.
                self.0.insert(name.clone(), Component { of, schema: Value::Null });
                let schema = describe(self);
                self.0.insert(name.clone(), Component { of, schema });
            }
        }
        json!({ "$ref": format!("#/components/schemas/{name}") })
    }

    /// The same for an object that refuses nothing.
    pub fn object<T: ApiObject + ?Sized>(&mut self, name: &'static str, description: &'static str) -> Value {
        self.named::<T>(name, |components| {
            let mut object = ObjectSchema::new(description);
            T::members(&mut object, components);
            object.finish()
        })
    }

    /// All of them, by name.
    pub fn into_schemas(self) -> Map<String, Value> {
        self.0.into_iter().map(|(name, component)| (name.into_owned(), component.schema)).collect()
    }
}

/// The schema of an object, member by member.
#[derive(Debug)]
pub struct ObjectSchema {
    description: &'static str,
    properties: Map<String, Value>,
    required: Vec<&'static str>,
    refuses_unknown: bool,
}

impl ObjectSchema {
    /// An object without members. An empty description is omitted.
    pub fn new(description: &'static str) -> ObjectSchema {
        ObjectSchema { description, properties: Map::new(), required: Vec::new(), refuses_unknown: false }
    }

    /// Adds a member. Generators ignore what is beside a reference, so a reference is not described again.
    pub fn member(
        &mut self,
        name: &'static str,
        required: bool,
        mut schema: Value,
        description: &str,
        keywords: &[(&str, Value)],
    ) {
        if let Some(members) = schema.as_object_mut().filter(|members| !members.contains_key("$ref")) {
            if !description.is_empty() {
                members.insert("description".to_owned(), description.into());
            }
            members.extend(keywords.iter().map(|(key, value)| ((*key).to_owned(), value.clone())));
        }
        // What an object says itself counts more than what is flattened into it.
        self.properties.entry(name).or_insert(schema);
        if required {
            self.required.push(name);
        }
    }

    /// Of the members so far, only these are always present.
    pub fn require_only(&mut self, names: &[&str]) {
        self.required.retain(|name| names.contains(name));
    }

    /// Members that are not described are refused.
    pub fn refuse_unknown(&mut self) {
        self.refuses_unknown = true;
    }

    pub fn finish(self) -> Value {
        let mut schema = json!({ "type": "object", "properties": self.properties });
        if !self.required.is_empty() {
            schema["required"] = json!(self.required);
        }
        if !self.description.is_empty() {
            schema["description"] = self.description.into();
        }
        if self.refuses_unknown {
            schema["additionalProperties"] = false.into();
        }
        schema
    }
}

/// A text that is one of these words.
pub fn words(words: &[&str], description: &str) -> Value {
    let mut schema = json!({ "type": "string", "enum": words });
    if !description.is_empty() {
        schema["description"] = description.into();
    }
    schema
}

/// A schema that null fits, too.
pub fn nullable(mut schema: Value) -> Value {
    if schema.get("$ref").is_some() {
        return json!({ "anyOf": [schema, { "type": "null" }] });
    }
    if let Some(kind) = schema.get("type").cloned() {
        schema["type"] = json!([kind, "null"]);
    }
    if let Some(values) = schema.get_mut("enum").and_then(Value::as_array_mut) {
        values.push(Value::Null);
    }
    schema
}

impl<T: ApiSchema> ApiSchema for Option<T> {
    fn schema(components: &mut Components) -> Value {
        nullable(T::schema(components))
    }
}

impl<T: ApiSchema> ApiSchema for Vec<T> {
    fn schema(components: &mut Components) -> Value {
        json!({ "type": "array", "items": T::schema(components) })
    }
}

impl<T: ApiSchema> ApiSchema for BTreeMap<String, T> {
    fn schema(components: &mut Components) -> Value {
        let value = T::schema(components);
        let any = value.as_object().is_some_and(Map::is_empty);
        json!({ "type": "object", "additionalProperties": if any { Value::Bool(true) } else { value } })
    }
}

impl ApiSchema for RunStatus {
    fn schema(components: &mut Components) -> Value {
        components.named::<RunStatus>("RunStatus", |_| {
            words(&RunStatus::ALL.map(RunStatus::as_str), "The status of a run.")
        })
    }
}

impl ApiSchema for DecisionKind {
    fn schema(components: &mut Components) -> Value {
        components.named::<DecisionKind>("DecisionKind", |_| {
            words(&DecisionKind::ALL.map(DecisionKind::name), "What a person can decide.")
        })
    }
}

/// The state of a step, a text in [`crate::StepView`].
pub(crate) enum StepState {}

impl ApiSchema for StepState {
    fn schema(components: &mut Components) -> Value {
        let states = [
            "waiting",
            "running",
            "retrying",
            "done",
            "refused",
            "failed",
            "unknown",
            "undoing",
            "undone",
            "undo_failed",
        ];
        components.named::<StepState>("StepState", |_| words(&states, "The state of a step."))
    }
}

/// What an instance does for clients, a text in [`crate::InstanceView`].
pub(crate) enum InstanceRole {}

/// The id of a run, where it is a text.
pub(crate) enum RunIdText {}

/// The properties that a filter asks for, by their names.
pub(crate) enum FilterProperties {}

/// The value of a property of a message.
pub(crate) enum PropertyValue {}

/// Types whose schema is the same wherever they are.
macro_rules! plain {
    ($($type:ty => $schema:tt,)*) => {
        $(impl ApiSchema for $type {
            fn schema(_: &mut Components) -> Value {
                json!($schema)
            }
        })*
    };
}

plain! {
    String => { "type": "string" },
    bool => { "type": "boolean" },
    f64 => { "type": "number" },
    u16 => { "type": "integer", "minimum": 0 },
    u32 => { "type": "integer", "minimum": 0 },
    u64 => { "type": "integer", "minimum": 0 },
    usize => { "type": "integer", "minimum": 0 },
    Time => { "type": "string", "format": "date-time" },
    Span => { "type": "string" },
    InstanceRole => { "type": "string", "enum": ["ingest", "engine", "rest"] },
    RunIdText => { "type": "string", "minLength": 1, "maxLength": 128, "pattern": "^[A-Za-z0-9._~:-]+$" },
    FilterProperties => {
        "type": "object",
        "propertyNames": { "pattern": "^[A-Za-z0-9_.-]{1,128}$" },
        "additionalProperties": { "type": ["string", "number", "boolean"] },
    },
    PropertyValue => { "type": ["string", "number", "boolean"] },
    // Any JSON.
    Value => {},
    Box<RawValue> => {},
}
