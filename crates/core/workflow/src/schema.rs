//! JSON Schemas for accepted bodies.

mod instance;

use std::fmt;

use jsonschema::{PatternOptions, Validator};
use serde_json::Value;

use self::instance::Instance;
use crate::json::Tree;
use crate::limits::{PATTERN_BYTES_MAX, SCHEMA_PROBLEMS_MAX};

/// What is wrong with a body, and where: a JSON pointer into it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaProblem {
    pub pointer: String,
    pub message: String,
}

impl fmt::Display for SchemaProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pointer = if self.pointer.is_empty() { "/" } else { &self.pointer };
        write!(f, "{pointer}: {}", self.message)
    }
}

/// A compiled schema.
pub(crate) struct Schema {
    validator: Validator<Instance>,
    source: Value,
}

impl Schema {
    /// Compiles a schema that refers to nothing outside itself.
    pub(crate) fn new(schema: &Value) -> Result<Schema, String> {
        // The linear engine: a pattern must not be able to stall ingest.
        let patterns =
            PatternOptions::regex().size_limit(PATTERN_BYTES_MAX).dfa_size_limit(PATTERN_BYTES_MAX);
        let options = jsonschema::options_for::<Instance>().offline().with_pattern_options(patterns);
        let validator = options.build(schema).map_err(|error| {
            let place = error.instance_path().as_str();
            let place = if place.is_empty() { String::new() } else { format!(" at {place}") };
            format!("not a JSON Schema that can be used{place}: {}", cut(&error.to_string()))
        })?;
        Ok(Schema { validator, source: schema.clone() })
    }

    /// The schema as it was written.
    pub(crate) fn source(&self) -> &Value {
        &self.source
    }

    /// Checks a body whose numbers are in range.
    pub(crate) fn check(&self, body: &Tree<'_>) -> Result<(), Vec<SchemaProblem>> {
        if self.validator.is_valid(body.root()) {
            return Ok(());
        }
        let problem = |error: jsonschema::ValidationError<'_>| SchemaProblem {
            pointer: error.instance_path().as_str().to_owned(),
            // Masked: a message must not repeat what a client sent.
            message: cut(&error.masked().to_string()),
        };
        Err(self.validator.iter_errors(body.root()).take(SCHEMA_PROBLEMS_MAX).map(problem).collect())
    }
}

impl fmt::Debug for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Schema")
    }
}

fn cut(message: &str) -> String {
    message.chars().take(300).collect()
}

#[cfg(test)]
mod tests;
