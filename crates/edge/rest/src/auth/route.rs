//! The one place where the access that a route declares is checked, before its body is read.

use std::borrow::Cow;

use http::{HeaderMap, Uri};

use super::access::Permission;
use crate::api::{Auth, PEER_NAME};
use crate::error::ApiError;
use crate::routes::{PathParams, RouteAccess};

/// A caller who may call what it calls.
#[derive(Debug)]
pub(crate) struct Authorized<'a> {
    /// Its name, for timelines.
    pub name: Cow<'a, str>,
    /// Whether it is another instance, on its own behalf.
    pub is_peer: bool,
}

impl Auth {
    /// The caller, if the access that a route declares allows the request. `resource` is the path of the queue or topic
    /// that it is about.
    pub(crate) fn authorize(
        &self,
        access: RouteAccess,
        resource: impl FnOnce() -> String,
        uri: &Uri,
        headers: &HeaderMap,
    ) -> Result<Authorized<'_>, ApiError> {
        let permission = match access {
            RouteAccess::Open => return Ok(Authorized { name: Cow::Borrowed(""), is_peer: false }),
            RouteAccess::Operator => {
                let name = Cow::Owned(self.allow_operator(headers)?);
                return Ok(Authorized { name, is_peer: false });
            }
            RouteAccess::Token(permission) | RouteAccess::Queue(permission) => permission,
            RouteAccess::EditUnlessDryRun if is_dry_run(uri) => Permission::Read,
            RouteAccess::EditUnlessDryRun => Permission::Edit,
        };
        if self.is_peer(headers, permission) {
            return Ok(Authorized { name: Cow::Borrowed(PEER_NAME), is_peer: true });
        }
        let name = match access {
            RouteAccess::Queue(_) => self.allow_queue(headers, permission, &resource())?,
            _ => self.allow(headers, permission)?,
        };
        Ok(Authorized { name: Cow::Borrowed(name), is_peer: false })
    }
}

/// What a signature must be for: the queue, topic or subscription of a path, or `/` for all of them. A name that is not
/// valid is refused by the handler.
pub(crate) fn queue_path(params: &PathParams) -> String {
    let name = params.get("queue").or_else(|| params.get("topic")).unwrap_or_default().to_ascii_lowercase();
    match params.get("subscription") {
        Some(subscription) => format!("/{name}/subscriptions/{}", subscription.to_ascii_lowercase()),
        None => format!("/{name}"),
    }
}

fn is_dry_run(uri: &Uri) -> bool {
    uri.query().unwrap_or_default().split('&').any(|pair| pair == "dry_run=true")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::servicebus::ServiceBusPath;

    #[test]
    fn a_signature_is_for_the_path_that_service_bus_gives_a_queue() {
        let resource = |path: &str| ServiceBusPath::of(path).unwrap().unwrap().resource();
        let params = |path, values: &[&str]| PathParams::new(path, values.iter().copied());
        let queue = params("/v1/queues/{queue}", &["Orders"]);
        assert_eq!(queue_path(&queue), resource("/Orders/messages"));
        let subscription = params("/v1/topics/{topic}/subscriptions/{subscription}", &["Orders", "Paid"]);
        assert_eq!(queue_path(&subscription), resource("/Orders/subscriptions/Paid/messages"));
        assert_eq!(queue_path(&params("/v1/queues", &[])), "/");
    }

    #[test]
    fn only_a_dry_run_needs_less_than_editing() {
        assert!(is_dry_run(&Uri::from_static("/v1/collections/c/import?prune=true&dry_run=true")));
        for uri in ["/c/import", "/c/import?dry_run=false", "/c/import?x=dry_run=true", "/c/import?dry_run"] {
            assert!(!is_dry_run(&Uri::from_static(uri)), "{uri}");
        }
    }
}
