//! The OpenAPI document: composed from the table of routes and from the types that it names.

mod actions;
mod build;
pub(crate) mod drafts;
#[cfg(test)]
mod examples;
pub(crate) mod jobs;
pub(crate) mod operation;
pub(crate) mod shared;
#[cfg(test)]
mod tests;

use std::sync::LazyLock;

use api_types::{ApiSchema, Components, Problem};
use axum::response::{IntoResponse, Response};
use http::header::CONTENT_TYPE;
use serde_json::{Map, Value, json};

use crate::routes::RouteAccess;
use crate::routes::table::{AREAS, Route};
use operation::{Content, Media, Operation, Parameter, ParameterIn, ReplyDoc, RequestBody};

static DOCUMENT: LazyLock<String> = LazyLock::new(|| compose().to_string());

pub(crate) async fn document() -> Response {
    ([(CONTENT_TYPE, "application/json")], DOCUMENT.as_str()).into_response()
}

const DESCRIPTION: &str = "Submit requests for workflows, see their runs, decide on parked ones. Keep collections of jobs that \
    fire by the clock. A workflow's own route, if it declares one, takes POST, PUT {id}, GET {id}, PATCH {id} and DELETE {id} \
    besides. Keep queues and topics; messages are sent and received in the shape of Service Bus, at /{queue}/messages, as \
    docs/reference/queues.md says. The API of Azure Scheduler is served below /subscriptions and described by its own documents.";

/// The parts of the document that operations refer to.
#[derive(Default)]
struct Document {
    schemas: Components,
    parameters: Map<String, Value>,
    responses: Map<String, Value>,
}

fn compose() -> Value {
    let (mut document, mut paths, mut tags) = (Document::default(), Map::new(), Vec::new());
    for area in &AREAS {
        tags.push(json!({ "name": area.name, "description": area.description }));
        for route in area.routes.iter().copied().flatten() {
            let path = paths.entry(route.path).or_insert_with(|| json!({}));
            let method = route.method.as_str().to_ascii_lowercase();
            path[method] = document.operation(area.name, route);
        }
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Sortie",
            "version": env!("CARGO_PKG_VERSION"),
            "license": { "name": "Apache-2.0", "identifier": "Apache-2.0" },
            "description": DESCRIPTION,
        },
        "security": [{ "token": [] }],
        "tags": tags,
        "paths": paths,
        "components": {
            "securitySchemes": { "token": { "type": "http", "scheme": "bearer" } },
            "parameters": document.parameters,
            "responses": document.responses,
            "schemas": document.schemas.into_schemas(),
        },
    })
}

impl Document {
    fn operation(&mut self, area: &str, route: &Route) -> Value {
        let Operation { id, summary, description, parameters, body, replies } = &route.doc;
        let mut operation = json!({ "operationId": id, "summary": summary, "tags": [area] });
        if !description.is_empty() {
            operation["description"] = (*description).into();
        }
        if !parameters.is_empty() {
            operation["parameters"] = parameters.iter().map(|parameter| self.parameter(parameter)).collect();
        }
        if let Some(body) = body {
            operation["requestBody"] = self.body(body);
        }
        if route.access == RouteAccess::Open {
            operation["security"] = json!([]);
        }
        let mut responses = Map::new();
        for reply in refusals(route.access).iter().chain(*replies) {
            responses.insert(reply.status.to_string(), self.reply(reply));
        }
        operation["responses"] = Value::Object(responses);
        operation
    }

    fn parameter(&mut self, parameter: &Parameter) -> Value {
        let place = match parameter.place {
            ParameterIn::Path => "path",
            ParameterIn::Query => "query",
            ParameterIn::Header => "header",
        };
        let mut described = json!({
            "name": parameter.name,
            "in": place,
            "description": parameter.description,
            "schema": (parameter.schema)(&mut self.schemas),
        });
        if parameter.required {
            described["required"] = true.into();
        }
        shared(&mut self.parameters, "parameters", parameter.component, described)
    }

    fn body(&mut self, body: &RequestBody) -> Value {
        json!({ "required": body.required, "content": self.content(body.content) })
    }

    fn reply(&mut self, reply: &ReplyDoc) -> Value {
        let mut described = json!({ "description": reply.description });
        let content = match reply.content {
            Content::Empty => Map::new(),
            Content::Problem => self.content(&[Media::new("application/problem+json", Problem::schema)]),
            Content::Json(schema) => self.content(&[Media::new("application/json", schema)]),
            Content::Media(content) => self.content(content),
        };
        if !content.is_empty() {
            described["content"] = Value::Object(content);
        }
        for header in reply.headers {
            let schema = (header.schema)(&mut self.schemas);
            described["headers"][header.name] =
                json!({ "description": header.description, "schema": schema });
        }
        shared(&mut self.responses, "responses", reply.component, described)
    }

    fn content(&mut self, content: &[Media]) -> Map<String, Value> {
        let described = content.iter().map(|media| {
            let mut described = json!({ "schema": (media.schema)(&mut self.schemas) });
            if let Some(example) = media.example {
                described["example"] = example();
            }
            (media.kind.to_owned(), described)
        });
        described.collect()
    }
}

/// Something as it is, or as a component that is referred to. Two components of one name are the same.
fn shared(all: &mut Map<String, Value>, kind: &str, name: Option<&str>, value: Value) -> Value {
    let Some(name) = name else { return value };
    let known = all.entry(name).or_insert_with(|| value.clone());
    assert_eq!(*known, value, "{kind}/{name} is described in two ways");
    json!({ "$ref": format!("#/components/{kind}/{name}") })
}

/// What a route answers to callers who may not. A route that says more about it has a reply of its own.
fn refusals(access: RouteAccess) -> &'static [ReplyDoc] {
    match access {
        RouteAccess::Open => &[],
        RouteAccess::Queue(_) => &[shared::NO_TOKEN, shared::NOT_ALLOWED_HERE],
        RouteAccess::Token(_) | RouteAccess::Operator | RouteAccess::EditUnlessDryRun => {
            &[shared::NO_TOKEN, shared::NOT_ALLOWED]
        }
    }
}
