//! The description of the API, for people's tools: one file per area, put together here.

#[cfg(test)]
mod examples;
#[cfg(test)]
mod tests;

use std::sync::LazyLock;

use axum::response::{IntoResponse, Response};
use http::header::CONTENT_TYPE;
use serde_json::{Map, Value, json};

/// The areas in the order of their names. The name of an area is the tag of its operations.
const AREAS: [(&str, &str); 12] = [
    ("bulk", include_str!("../openapi/bulk.json")),
    ("instances", include_str!("../openapi/instances.json")),
    ("jobs", include_str!("../openapi/jobs.json")),
    ("messages", include_str!("../openapi/messages.json")),
    ("overview", include_str!("../openapi/overview.json")),
    ("queues", include_str!("../openapi/queues.json")),
    ("regions", include_str!("../openapi/regions.json")),
    ("runs", include_str!("../openapi/runs.json")),
    ("server", include_str!("../openapi/server.json")),
    ("services", include_str!("../openapi/services.json")),
    ("topics", include_str!("../openapi/topics.json")),
    ("workflows", include_str!("../openapi/workflows.json")),
];

/// What all areas use: who may call, the answers that many give, the problem.
const SHARED: &str = include_str!("../openapi/shared.json");

static DOCUMENT: LazyLock<String> = LazyLock::new(|| compose().to_string());

pub(crate) async fn document() -> Response {
    ([(CONTENT_TYPE, "application/json")], DOCUMENT.as_str()).into_response()
}

/// One document. The files are part of the program, and a test reads them all: what is wrong in them ends it.
fn compose() -> Value {
    let mut document: Value = serde_json::from_str(SHARED).expect("shared.json is JSON");
    let mut paths = Map::new();
    for (name, text) in AREAS {
        let mut area: Value = serde_json::from_str(text).unwrap_or_else(|error| panic!("{name}: {error}"));
        let about = json!({ "name": name, "description": area["description"].take() });
        let tags = document.as_object_mut().expect("a document").entry("tags").or_insert_with(|| json!([]));
        tags.as_array_mut().expect("a list").push(about);
        for operation in area["paths"].as_object_mut().into_iter().flat_map(Map::values_mut) {
            for operation in operation.as_object_mut().into_iter().flat_map(Map::values_mut) {
                operation["tags"] = json!([name]);
            }
        }
        add(&mut paths, &mut area["paths"]);
        for kind in ["parameters", "schemas"] {
            add(document["components"][kind].as_object_mut().expect("components"), &mut area[kind]);
        }
    }
    document["paths"] = Value::Object(paths);
    document
}

/// Adds what an area has. Two areas have nothing of the same name.
fn add(all: &mut Map<String, Value>, more: &mut Value) {
    if let Value::Object(more) = more.take() {
        for (name, value) in more {
            let twice = all.contains_key(&name);
            assert!(!twice, "{name} is described twice");
            all.insert(name, value);
        }
    }
}
