//! Saves a changed job so that secrets which were not typed again are kept.
//!
//! A whole document must contain all of its secrets. A patch keeps those that it does not mention, as long as the
//! authentication type stays the same.

use serde_json::{Map, Value};

/// JSON pointers to objects with secrets in a job, and their secret members.
fn places() -> impl Iterator<Item = (String, &'static [&'static str])> {
    ["/action", "/action/errorAction"].into_iter().flat_map(|call| {
        let members = schedule::secret_members().iter();
        members.map(move |(path, names)| (format!("{call}/{}", path.replace('.', "/")), names.as_slice()))
    })
}

/// The document without its secrets, for display.
pub(super) fn without_secrets(document: &Value) -> Value {
    let mut shown = document.clone();
    for (place, names) in places() {
        if let Some(members) = shown.pointer_mut(&place).and_then(Value::as_object_mut) {
            members.retain(|name, _| !names.contains(&name.as_str()));
        }
    }
    shown
}

/// Whether the new document omits secrets that the stored one has.
pub(super) fn keeps_secrets(before: &Value, after: &Value) -> bool {
    places().any(|(place, names)| match (before.pointer(&place), after.pointer(&place)) {
        (Some(before), Some(after)) => {
            before.get("type") == after.get("type") && !names.iter().any(|name| after.get(*name).is_some())
        }
        _ => false,
    })
}

/// The merge patch from one document to the other: removed members are null.
pub(super) fn between(before: &Value, after: &Value) -> Value {
    match (before.as_object(), after.as_object()) {
        (Some(before), Some(after)) => Value::Object(members(before, after)),
        _ => after.clone(),
    }
}

fn members(before: &Map<String, Value>, after: &Map<String, Value>) -> Map<String, Value> {
    let gone =
        before.keys().filter(|name| !after.contains_key(*name)).map(|name| (name.clone(), Value::Null));
    let mut change: Map<String, Value> = gone.collect();
    for (name, value) in after {
        let written = match (before.get(name), value) {
            (Some(old), value) if old == value => continue,
            // A body is opaque and replaced as a whole.
            (Some(Value::Object(old)), Value::Object(new)) if name != "body" => {
                Value::Object(members(old, new))
            }
            (_, value) => value.clone(),
        };
        change.insert(name.clone(), written);
    }
    // A patch of an action must state its type.
    if let Some(kind) = after.get("type").filter(|_| !change.is_empty()) {
        change.insert("type".to_owned(), kind.clone());
    }
    change
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_change_says_what_differs_and_no_more() {
        let before = json!({ "a": { "x": 1, "y": 2 }, "b": 1, "c": [1], "body": { "k": 1 } });
        let after = json!({ "a": { "x": 1, "z": 3 }, "b": 1, "c": [2], "body": { "l": null } });
        assert_eq!(
            between(&before, &after),
            json!({ "a": { "y": null, "z": 3 }, "c": [2], "body": { "l": null } })
        );
        assert_eq!(between(&before, &before), json!({}));
    }

    #[test]
    fn secrets_are_kept_where_the_same_way_to_sign_in_leaves_them_out() {
        let job = |how: Value| json!({ "action": { "type": "Http", "request": { "authentication": how } } });
        let basic = job(json!({ "type": "Basic", "username": "a" }));
        assert!(keeps_secrets(&basic, &job(json!({ "type": "Basic", "username": "b" }))));
        assert!(!keeps_secrets(&basic, &job(json!({ "type": "Basic", "username": "b", "password": "new" }))));
        assert!(!keeps_secrets(&basic, &job(json!({ "type": "ActiveDirectoryOAuth" }))));
        assert!(!keeps_secrets(&basic, &job(Value::Null)["action"]));
        let error = json!({ "action": { "errorAction": { "nats": { "url": "x", "username": "u" } } } });
        assert!(keeps_secrets(&error, &error));
    }
}
