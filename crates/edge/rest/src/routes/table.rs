//! The one table of the REST API: what each route needs, who answers it in a cluster, what a standby does, and its
//! documentation. Routing, forwarding, access and the OpenAPI document follow from it.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::{Arc, LazyLock};

use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use http::Method;

use super::params::PathParams;
use super::{
    bulk, call, cluster, collections, health, jobs, messages, queues, region, runs, services, topics,
    workflows,
};
use crate::auth::access::Permission;
use crate::forward::scope::RouteScope;
use crate::ingest_routes;
use crate::openapi::operation::Operation;
use crate::router::Router;

/// A method and a path that Sortie answers.
pub(crate) struct Route {
    pub method: Method,
    /// With its parameters in braces.
    pub path: &'static str,
    /// Checked before any byte of the body is read, and before the request is forwarded.
    pub access: RouteAccess,
    pub scope: RouteScope,
    pub standby: OnStandby,
    pub handler: RouteHandler,
    pub doc: Operation,
}

/// Who may call a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RouteAccess {
    /// Everybody.
    Open,
    /// Who has a token with this permission.
    Token(Permission),
    /// The same, also for a shared key of the queue or topic that the path names.
    Queue(Permission),
    /// Who may operate, also another instance on behalf of such a person.
    Operator,
    /// Who may edit; with `dry_run=true` in the query, who may read.
    EditUnlessDryRun,
}

/// What a route does while another region is active.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OnStandby {
    /// It is about this region itself.
    Answer,
    /// It names the active region.
    Refuse,
}

/// What answers a route.
#[derive(Clone, Copy)]
pub(crate) enum RouteHandler {
    /// A function with axum's extractors.
    Call(fn() -> BoxedHandler),
    /// The ingest path, which is matched before the table because it carries the load.
    Ingest,
    /// The adapter for Service Bus, whose paths are not case-sensitive.
    ServiceBus,
}

/// A handler whose extractors are forgotten.
pub(crate) type BoxedHandler =
    Arc<dyn Fn(Request, Router) -> Pin<Box<dyn Future<Output = Response> + Send>> + Send + Sync>;

/// Makes a function with axum's extractors a handler of the table.
pub(crate) fn handle<H, T>(handler: H) -> BoxedHandler
where
    H: axum::handler::Handler<T, Router> + Sync,
    T: 'static,
{
    Arc::new(move |request: Request<Body>, router| Box::pin(handler.clone().call(request, router)))
}

/// Routes that belong together; their tag in the document.
pub(crate) struct Area {
    pub name: &'static str,
    pub description: &'static str,
    pub routes: &'static [&'static [Route]],
}

/// All of them, in the order of their names.
pub(crate) const AREAS: [Area; 12] = [
    Area { name: "bulk", description: "One action on many runs.", routes: &[bulk::ROUTES] },
    Area {
        name: "instances",
        description: "Instances and partitions.",
        routes: &[cluster::ROUTES, health::PARTITION_ROUTES],
    },
    Area {
        name: "jobs",
        description: "Collections of jobs that fire by the clock.",
        routes: &[collections::ROUTES, jobs::ROUTES],
    },
    Area {
        name: "messages",
        description: "Messages in the shape of Service Bus: send, receive, settle.",
        routes: &[messages::SEND_ROUTES, messages::QUEUE_ROUTES, messages::SUBSCRIPTION_ROUTES],
    },
    Area {
        name: "overview",
        description: "The state of the installation, and its settings.",
        routes: &[health::OVERVIEW_ROUTES],
    },
    Area {
        name: "queues",
        description: "Queues and their messages.",
        routes: &[queues::ROUTES, queues::QUEUE_ROUTES],
    },
    Area { name: "regions", description: "This region and its pair.", routes: &[region::ROUTES] },
    Area {
        name: "runs",
        description: "Submit requests, see their runs, decide on parked ones.",
        routes: &[ingest_routes::ROUTES, runs::ROUTES, call::ROUTES],
    },
    Area {
        name: "server",
        description: "The server itself: health, limits, metrics.",
        routes: &[health::SERVER_ROUTES],
    },
    Area { name: "services", description: "The services that runs call.", routes: &[services::ROUTES] },
    Area {
        name: "topics",
        description: "Topics and their subscriptions.",
        routes: &[topics::ROUTES, queues::SUBSCRIPTION_ROUTES],
    },
    Area { name: "workflows", description: "Definitions: what a run does.", routes: &[workflows::ROUTES] },
];

/// Every route.
pub(crate) fn all() -> impl Iterator<Item = &'static Route> {
    AREAS.iter().flat_map(|area| area.routes.iter().copied().flatten())
}

/// The routes by their paths.
pub(crate) struct RouteTable {
    matcher: matchit::Router<usize>,
    paths: Vec<PathRoutes>,
}

/// The routes of one path.
#[derive(Default)]
struct PathRoutes {
    routes: Vec<(&'static Route, Option<BoxedHandler>)>,
    /// The methods of the path.
    allow: String,
}

/// What a method and a path lead to.
pub(crate) enum FoundRoute {
    Route {
        route: &'static Route,
        handler: &'static BoxedHandler,
        params: PathParams,
    },
    /// The path exists; these are its methods.
    WrongMethod {
        allow: &'static str,
    },
    Nothing,
}

static TABLE: LazyLock<RouteTable> = LazyLock::new(RouteTable::new);

impl RouteTable {
    pub(crate) fn get() -> &'static RouteTable {
        &TABLE
    }

    fn new() -> RouteTable {
        let mut by_pattern: BTreeMap<String, PathRoutes> = BTreeMap::new();
        for route in all() {
            let handler = match route.handler {
                RouteHandler::Call(handler) => Some(handler()),
                RouteHandler::Ingest => None,
                RouteHandler::ServiceBus => continue,
            };
            by_pattern.entry(pattern(route.path)).or_default().routes.push((route, handler));
        }
        let (mut matcher, mut paths) = (matchit::Router::new(), Vec::new());
        for (pattern, mut routes) in by_pattern {
            routes.allow = routes.methods();
            matcher.insert(pattern, paths.len()).expect("patterns of the table are distinct");
            paths.push(routes);
        }
        RouteTable { matcher, paths }
    }

    /// The route that answers. `HEAD` is answered like `GET`.
    pub(crate) fn find(&'static self, method: &Method, path: &str) -> FoundRoute {
        let Ok(matched) = self.matcher.at(path) else { return FoundRoute::Nothing };
        let at = &self.paths[*matched.value];
        let wanted = if method == Method::HEAD { &Method::GET } else { method };
        match at.routes.iter().find(|(route, _)| route.method == *wanted) {
            Some((route, Some(handler))) => {
                let values = matched.params.iter().map(|(_, value)| value);
                FoundRoute::Route { route, handler, params: PathParams::new(route.path, values) }
            }
            // What the ingest path does not take before the table is asked, nothing takes.
            Some((_, None)) | None => FoundRoute::WrongMethod { allow: &at.allow },
        }
    }
}

impl PathRoutes {
    fn methods(&self) -> String {
        let mut names = Vec::new();
        for (route, _) in &self.routes {
            names.push(route.method.as_str());
            if route.method == Method::GET {
                names.push("HEAD");
            }
        }
        names.join(",")
    }
}

/// A path with its parameters numbered: two routes may call the same part differently.
fn pattern(path: &str) -> String {
    let parts = path.split('/').enumerate();
    let numbered = parts.map(|(number, part)| match part.starts_with('{') {
        true => format!("{{p{number}}}"),
        false => part.to_owned(),
    });
    numbered.collect::<Vec<_>>().join("/")
}
