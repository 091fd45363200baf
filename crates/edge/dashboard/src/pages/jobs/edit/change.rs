//! How a changed job is written so that the secrets that nobody typed again are kept.
//!
//! A document that is written whole needs all of its secrets. A change keeps those that it does not write, as long as
//! the action signs in the same way.

use serde_json::{Map, Value};

/// Where secrets are, below an action, and which members are secret.
const SECRETS: [(&str, &[&str]); 8] = [
    ("/request/authentication", &["pfx", "password", "secret"]),
    ("/queueMessage", &["sasToken"]),
    ("/serviceBusQueueMessage/authentication", &["sasKey"]),
    ("/serviceBusTopicMessage/authentication", &["sasKey"]),
    ("/amqp", &["password"]),
    ("/rabbitMq", &["password"]),
    ("/nats", &["password"]),
    ("/kafka", &["password"]),
];

/// The places of secrets in a job, with the members that are secret.
fn places() -> impl Iterator<Item = (String, &'static [&'static str])> {
    let calls = ["/action", "/action/errorAction"];
    calls
        .into_iter()
        .flat_map(|call| SECRETS.into_iter().map(move |(place, names)| (format!("{call}{place}"), names)))
}

/// The document without its secrets, to be shown.
pub(super) fn without_secrets(document: &Value) -> Value {
    let mut shown = document.clone();
    for (place, names) in places() {
        if let Some(members) = shown.pointer_mut(&place).and_then(Value::as_object_mut) {
            members.retain(|name, _| !names.contains(&name.as_str()));
        }
    }
    shown
}

/// Whether the new document leaves out secrets that the stored one has.
pub(super) fn keeps_secrets(before: &Value, after: &Value) -> bool {
    places().any(|(place, names)| match (before.pointer(&place), after.pointer(&place)) {
        (Some(before), Some(after)) => {
            before.get("type") == after.get("type") && !names.iter().any(|name| after.get(*name).is_some())
        }
        _ => false,
    })
}

/// The change that makes the one of the other: members that are gone are null.
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
            // A body is the client's own and replaced whole.
            (Some(Value::Object(old)), Value::Object(new)) if name != "body" => {
                Value::Object(members(old, new))
            }
            (_, value) => value.clone(),
        };
        change.insert(name.clone(), written);
    }
    // A change of a call says what kind of call it is.
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
