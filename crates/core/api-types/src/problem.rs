//! Errors as RFC 9457 problems, with a stable code that programs can rely on.

use serde::{Deserialize, Serialize};

use crate::ApiSchema;

/// An error as the API gives it (`application/problem+json`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ApiSchema)]
#[schema(name = "Problem")]
pub struct Problem {
    /// `/docs/errors#<code>`
    #[serde(rename = "type")]
    pub kind: String,
    pub title: String,
    pub status: u16,
    /// The stable code: never renamed, never reused.
    pub code: String,
    /// What is wrong here, and what to do about it.
    pub detail: String,
    /// Each thing that is wrong, when there are several or it has a place.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<FieldError>,
}

/// One thing that is wrong, and where.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ApiSchema)]
#[schema(name = "FieldError")]
pub struct FieldError {
    /// A JSON pointer into the body.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pointer: Option<String>,
    /// A dotted path into a definition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    pub message: String,
}
