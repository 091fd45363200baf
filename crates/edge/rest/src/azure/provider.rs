//! What the provider says of itself: clients learn the regions and the versions from it.

use serde_json::{Value, json};

use super::query::VERSIONS;

pub(super) fn describe(subscription: &str) -> Value {
    let resource = |kind: &str| json!({ "resourceType": kind, "locations": schedule::SCHEDULER_REGIONS, "apiVersions": VERSIONS });
    let mut collections = resource("jobcollections");
    collections["capabilities"] = "CrossResourceGroupResourceMove, CrossSubscriptionResourceMove".into();
    json!({
        "id": format!("/subscriptions/{subscription}/providers/Microsoft.Scheduler"),
        "namespace": "Microsoft.Scheduler",
        "resourceTypes": [collections, resource("operations"), resource("operationResults")],
        "registrationState": "Registered",
    })
}
