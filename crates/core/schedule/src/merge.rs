//! JSON merge patch on canonical members: objects merge, everything else is replaced, null removes.

use serde_json::{Map, Value};

/// Changes `members` by `change`.
pub(crate) fn merge(members: &mut Map<String, Value>, change: &Map<String, Value>) {
    for (name, value) in change {
        match (members.get_mut(name), value) {
            (_, Value::Null) => {
                members.remove(name);
            }
            (Some(Value::Object(members)), Value::Object(change)) if name == "headers" => {
                forget_other_casings(members, change);
                merge(members, change);
            }
            // The body of a workflow is the client's own JSON: it is replaced, not looked into.
            (Some(Value::Object(members)), Value::Object(change)) if name != "body" => merge(members, change),
            (_, Value::Object(change)) if name != "body" => {
                let mut fresh = Map::new();
                merge(&mut fresh, change);
                members.insert(name.clone(), Value::Object(fresh));
            }
            (_, value) => {
                members.insert(name.clone(), value.clone());
            }
        }
    }
}

/// The names of headers differ by more than case: one that is written replaces the stored one of any casing.
fn forget_other_casings(members: &mut Map<String, Value>, change: &Map<String, Value>) {
    members.retain(|stored, _| !change.keys().any(|name| name.eq_ignore_ascii_case(stored)));
}
