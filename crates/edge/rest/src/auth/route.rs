//! The one place where the access that a route declares is checked, before its body is read.

use std::borrow::Cow;

use http::{HeaderMap, Uri};

use super::access::Permission;
use crate::api::Auth;
use crate::error::ApiError;
use crate::routes::{PathParams, Route, RouteAccess};

impl Auth {
    /// The name of who calls a route, if they may.
    pub(crate) fn authorize(
        &self,
        route: &Route,
        params: &PathParams,
        uri: &Uri,
        headers: &HeaderMap,
    ) -> Result<Cow<'_, str>, ApiError> {
        match route.access {
            RouteAccess::Open => Ok(Cow::Borrowed("")),
            RouteAccess::Token(permission) => self.allow(headers, permission).map(Cow::Borrowed),
            RouteAccess::Queue(permission) => {
                self.allow_queue(headers, permission, &queue_path(params)).map(Cow::Borrowed)
            }
            RouteAccess::Operator => self.allow_operator(headers).map(Cow::Owned),
            RouteAccess::EditUnlessDryRun => {
                let permission = if is_dry_run(uri) { Permission::Read } else { Permission::Edit };
                self.allow(headers, permission).map(Cow::Borrowed)
            }
        }
    }
}

/// What a signature must be for: the queue, topic or subscription of a path, or `/` for all of them. A name that is not
/// valid is refused by the handler.
fn queue_path(params: &PathParams) -> String {
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
    use crate::bus;

    #[test]
    fn a_signature_is_for_the_path_that_the_bus_gives_a_queue() {
        let params = |path, values: &[&str]| PathParams::new(path, values.iter().copied());
        let queue = params("/v1/queues/{queue}", &["Orders"]);
        assert_eq!(queue_path(&queue), bus::resource(&bus::queue_ref("Orders", None).unwrap()));
        let subscription = params("/v1/topics/{topic}/subscriptions/{subscription}", &["Orders", "Paid"]);
        let at = bus::queue_ref("Orders", Some("Paid")).unwrap();
        assert_eq!(queue_path(&subscription), bus::resource(&at));
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
