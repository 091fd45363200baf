//! What the JSON of the API looks like by its types, held against what the document says of it.

use serde_json::{Value, json};

/// Why a value does not fit a schema of the document, if it does not.
pub(super) fn fault(document: &Value, schema: &Value, value: &Value) -> Option<String> {
    let whole = json!({ "allOf": [schema], "components": document["components"] });
    let validator = jsonschema::options().offline().build(&whole).unwrap();
    validator.validate(value).err().map(|error| format!("{}: {error}", error.instance_path()))
}
