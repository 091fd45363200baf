//! Who may call the paths that the document does not list: those of Azure Scheduler and the own routes of workflows.
//! Those of Service Bus are in the table.

use http::Method;

use super::table::RouteAccess;
use crate::auth::access::Permission;
use crate::azure::AzurePath;

const READ: RouteAccess = RouteAccess::Token(Permission::Read);
const SUBMIT: RouteAccess = RouteAccess::Token(Permission::Ingest);
const OPERATE: RouteAccess = RouteAccess::Token(Permission::Operate);
const EDIT: RouteAccess = RouteAccess::Token(Permission::Edit);

/// The API of Azure Scheduler.
pub(crate) fn azure_access(method: &Method, path: &AzurePath) -> RouteAccess {
    match (method, path) {
        (&Method::GET, _) => READ,
        (_, AzurePath::Run(..)) => OPERATE,
        _ => EDIT,
    }
}

/// The classic API, which was before it.
pub(crate) fn classic_access(method: &Method) -> RouteAccess {
    if method == Method::GET { READ } else { EDIT }
}

/// The own route of a workflow, or one run at it. A method that it does not have is refused to everybody alike.
pub(crate) fn own_route_access(method: &Method, id: Option<&str>) -> RouteAccess {
    match (method, id) {
        (&Method::GET, Some(_)) => READ,
        (&Method::POST, None) | (&Method::PUT | &Method::DELETE | &Method::PATCH, Some(_)) => SUBMIT,
        _ => RouteAccess::Open,
    }
}
