//! What the document says of one route: its parameters, its body and its replies, as constants beside the handler.

use api_types::{ApiSchema, Components};
use serde_json::Value;

/// The schema of something; named types are added to the components.
pub(crate) type SchemaOf = fn(&mut Components) -> Value;

/// The documentation of a route.
pub(crate) struct Operation {
    /// The name of the operation in generated clients.
    pub id: &'static str,
    pub summary: &'static str,
    /// What the summary does not say; empty for most.
    pub description: &'static str,
    pub parameters: &'static [Parameter],
    pub body: Option<RequestBody>,
    /// All but the refusals for lack of a token or of a permission, which follow from the route's access.
    pub replies: &'static [ReplyDoc],
}

/// Where a parameter is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum ParameterIn {
    Path,
    Query,
    Header,
}

/// A parameter of an operation.
#[derive(Clone, Copy)]
pub(crate) struct Parameter {
    /// The component that operations refer to, if several have the parameter.
    pub component: Option<&'static str>,
    pub name: &'static str,
    pub place: ParameterIn,
    pub required: bool,
    pub description: &'static str,
    pub schema: SchemaOf,
}

impl Parameter {
    const fn new(
        place: ParameterIn,
        name: &'static str,
        description: &'static str,
        schema: SchemaOf,
    ) -> Parameter {
        let required = matches!(place, ParameterIn::Path);
        Parameter { component: None, name, place, required, description, schema }
    }

    /// A part of the path.
    pub(crate) const fn path(name: &'static str, description: &'static str, schema: SchemaOf) -> Parameter {
        Parameter::new(ParameterIn::Path, name, description, schema)
    }

    pub(crate) const fn query(name: &'static str, description: &'static str, schema: SchemaOf) -> Parameter {
        Parameter::new(ParameterIn::Query, name, description, schema)
    }

    pub(crate) const fn header(name: &'static str, description: &'static str, schema: SchemaOf) -> Parameter {
        Parameter::new(ParameterIn::Header, name, description, schema)
    }

    pub(crate) const fn required(self) -> Parameter {
        Parameter { required: true, ..self }
    }

    /// The same as a component with a name.
    pub(crate) const fn shared(self, component: &'static str) -> Parameter {
        Parameter { component: Some(component), ..self }
    }
}

/// Content of one media type.
#[derive(Clone, Copy)]
pub(crate) struct Media {
    pub kind: &'static str,
    pub schema: SchemaOf,
    pub example: Option<fn() -> Value>,
}

impl Media {
    pub(crate) const fn new(kind: &'static str, schema: SchemaOf) -> Media {
        Media { kind, schema, example: None }
    }

    pub(crate) const fn json<T: ApiSchema>() -> Media {
        Media::new("application/json", T::schema)
    }

    pub(crate) const fn example(self, example: fn() -> Value) -> Media {
        Media { example: Some(example), ..self }
    }
}

/// The body of a request.
#[derive(Clone, Copy)]
pub(crate) struct RequestBody {
    pub required: bool,
    pub content: &'static [Media],
}

/// A header of a reply.
#[derive(Clone, Copy)]
pub(crate) struct ReplyHeader {
    pub name: &'static str,
    pub description: &'static str,
    pub schema: SchemaOf,
}

/// What a reply carries.
#[derive(Clone, Copy)]
pub(crate) enum Content {
    Empty,
    /// A problem of RFC 9457.
    Problem,
    Json(SchemaOf),
    Media(&'static [Media]),
}

/// A reply to an operation.
#[derive(Clone, Copy)]
pub(crate) struct ReplyDoc {
    /// The component that operations refer to, if several reply so.
    pub component: Option<&'static str>,
    pub status: u16,
    pub description: &'static str,
    pub content: Content,
    pub headers: &'static [ReplyHeader],
}

impl ReplyDoc {
    const fn new(status: u16, description: &'static str, content: Content) -> ReplyDoc {
        ReplyDoc { component: None, status, description, content, headers: &[] }
    }

    pub(crate) const fn empty(status: u16, description: &'static str) -> ReplyDoc {
        ReplyDoc::new(status, description, Content::Empty)
    }

    pub(crate) const fn json<T: ApiSchema>(status: u16, description: &'static str) -> ReplyDoc {
        ReplyDoc::new(status, description, Content::Json(T::schema))
    }

    pub(crate) const fn media(status: u16, description: &'static str, content: &'static [Media]) -> ReplyDoc {
        ReplyDoc::new(status, description, Content::Media(content))
    }

    pub(crate) const fn problem(status: u16, description: &'static str) -> ReplyDoc {
        ReplyDoc::new(status, description, Content::Problem)
    }

    /// A problem that may pass: it says when to try again.
    pub(crate) const fn retry_later(status: u16, description: &'static str) -> ReplyDoc {
        ReplyDoc::problem(status, description).with(&[RETRY_AFTER])
    }

    pub(crate) const fn with(self, headers: &'static [ReplyHeader]) -> ReplyDoc {
        ReplyDoc { headers, ..self }
    }

    /// The same as a component with a name.
    pub(crate) const fn shared(self, component: &'static str) -> ReplyDoc {
        ReplyDoc { component: Some(component), ..self }
    }
}

const RETRY_AFTER: ReplyHeader = ReplyHeader {
    name: "Retry-After",
    description: "Seconds after which a retry is worth it.",
    schema: |_| serde_json::json!({ "type": "integer" }),
};

/// Values of a type, one per line. OpenAPI has no schema for lines, so the text names the type's.
pub(crate) fn lines_of<T: ApiSchema>(components: &mut Components, description: &str) -> Value {
    T::schema(components);
    serde_json::json!({ "type": "string", "format": "binary", "description": description })
}
