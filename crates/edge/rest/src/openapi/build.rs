//! Schemas of bodies that no type of the API stands for: drafts whose members are read one by one.

use api_types::{ApiSchema, Components, nullable, words};
use serde_json::{Value, json};

/// A schema that is being described.
pub(super) struct Schema(Value);

/// A member of an object.
pub(super) struct Member {
    name: &'static str,
    required: bool,
    schema: Value,
}

/// Declares types that exist only in the document, under their own name or under another.
macro_rules! described {
    (@name $type:ident) => { stringify!($type) };
    (@name $type:ident $name:literal) => { $name };
    ($($(#[doc = $doc:literal])* $type:ident $(= $name:literal)? ($components:ident) => $schema:expr;)*) => {
        $(
            $(#[doc = $doc])*
            pub(crate) enum $type {}

            impl api_types::ApiSchema for $type {
                fn schema($components: &mut api_types::Components) -> serde_json::Value {
                    $components.named::<$type>(described!(@name $type $($name)?), |$components| {
                        let _ = &$components;
                        $schema.describe(concat!($($doc,)* "").trim()).into()
                    })
                }
            }
        )*
    };
}
pub(super) use described;

/// An object with these members.
pub(super) fn object(members: impl IntoIterator<Item = Member>) -> Schema {
    let (mut properties, mut required) = (serde_json::Map::new(), Vec::new());
    for member in members {
        if member.required {
            required.push(member.name);
        }
        properties.insert(member.name.to_owned(), member.schema);
    }
    let mut schema = json!({ "type": "object", "properties": properties });
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    Schema(schema)
}

/// A member that is always there, or must be given.
pub(super) fn required(name: &'static str, schema: Schema) -> Member {
    Member { name, required: true, schema: schema.0 }
}

/// A member that may be absent.
pub(super) fn optional(name: &'static str, schema: Schema) -> Member {
    Member { name, required: false, schema: schema.0 }
}

pub(super) fn text() -> Schema {
    Schema(json!({ "type": "string" }))
}

pub(super) fn one_of(values: &[&str]) -> Schema {
    Schema(words(values, ""))
}

pub(super) fn time() -> Schema {
    Schema(json!({ "type": "string", "format": "date-time" }))
}

pub(super) fn integer() -> Schema {
    Schema(json!({ "type": "integer" }))
}

pub(super) fn boolean() -> Schema {
    Schema(json!({ "type": "boolean" }))
}

/// An object whose members are not known.
pub(super) fn anything_named() -> Schema {
    Schema(json!({ "type": "object" }))
}

/// Any JSON.
pub(super) fn anything() -> Schema {
    Schema(json!({}))
}

/// An object whose members have any names, and values like this.
pub(super) fn map_of(values: Schema) -> Schema {
    Schema(json!({ "type": "object", "additionalProperties": values.0 }))
}

pub(super) fn list_of(items: Schema) -> Schema {
    Schema(json!({ "type": "array", "items": items.0 }))
}

/// The schema of a type.
pub(super) fn of<T: ApiSchema>(components: &mut Components) -> Schema {
    Schema(T::schema(components))
}

/// A schema under a name that is only known when the document is made. One declaration owns all names of that kind.
pub(super) fn named(
    components: &mut Components,
    name: String,
    describe: impl FnOnce(&mut Components) -> Schema,
) -> Schema {
    Schema(components.named::<Schema>(name, |components| describe(components).0))
}

impl Schema {
    pub(super) fn or_null(self) -> Schema {
        Schema(nullable(self.0))
    }

    /// Says more about it; an empty text says nothing.
    pub(super) fn describe(self, description: &str) -> Schema {
        if description.is_empty() { self } else { self.with("description", description.into()) }
    }

    /// Adds a keyword.
    pub(super) fn with(mut self, keyword: &str, value: Value) -> Schema {
        self.0[keyword] = value;
        self
    }

    pub(super) fn default(self, value: impl Into<Value>) -> Schema {
        self.with("default", value.into())
    }

    pub(super) fn minimum(self, least: i64) -> Schema {
        self.with("minimum", least.into())
    }

    pub(super) fn maximum(self, most: u64) -> Schema {
        self.with("maximum", most.into())
    }

    pub(super) fn min_length(self, least: usize) -> Schema {
        self.with("minLength", least.into())
    }

    pub(super) fn max_length(self, most: usize) -> Schema {
        self.with("maxLength", most.into())
    }

    pub(super) fn pattern(self, pattern: &str) -> Schema {
        self.with("pattern", pattern.into())
    }

    /// Other members than these are refused.
    pub(super) fn closed(self) -> Schema {
        self.with("additionalProperties", false.into())
    }

    /// Clients write it and never see it again.
    pub(super) fn write_only(self) -> Schema {
        self.with("writeOnly", true.into())
    }

    /// Clients see it and cannot write it.
    pub(super) fn read_only(self) -> Schema {
        self.with("readOnly", true.into())
    }
}

impl From<Schema> for Value {
    fn from(schema: Schema) -> Value {
        schema.0
    }
}
