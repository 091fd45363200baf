//! Where every request arrives: answered here, forwarded to the owner of what it is about, or merged from all instances.

mod endpoint;

use std::sync::Arc;

use axum::body::Body;
use axum::extract::FromRef;
use axum::response::IntoResponse;
use bulk::Bulks;
use bytes::Bytes;
use http::header::AUTHORIZATION;
use http::{HeaderMap, Method, Request, Response};
use page_api::{ApiCall, Pages};
use tokio::sync::watch;
use types::PartitionId;

use crate::api::{Api, Auth, Cluster, Instance, Workflows};
use crate::auth::Authorized;
use crate::body::{self, Payload};
use crate::error::ApiError;
use crate::forward::buffered_request::{BufferedRequest, is_not_held};
use crate::forward::partition_set::{HOLDS, PartitionSet};
use crate::forward::peer_client::FORWARDED;
use crate::forward::scope::{ResolvedScope, RouteScope};
use crate::ingest_routes;
use crate::jobs::Jobs;
use crate::limits::{PASSED_BYTES_MAX, SIGN_IN_BYTES_MAX};
use crate::overview::Overview;
use crate::pages;
use crate::queues::Queues;
use crate::region::{self, Regions};
use crate::routes::Caller;
use crate::runs::Runs;
use crate::servicebus::{self, ServiceBusPath};
use crate::services::Services;

pub(crate) use endpoint::Endpoint;

/// What answers requests, per connection.
#[derive(Clone)]
pub(crate) struct Router {
    pub api: Arc<Api>,
    /// Becomes true when the server stops: clients that wait for a message get a reply.
    stopping: watch::Receiver<bool>,
}

/// A handler extracts the handles that it needs, with axum's `State`.
macro_rules! extract_handles {
    ($($field:ident: $handle:ty),* $(,)?) => {
        $(
            impl FromRef<Router> for $handle {
                fn from_ref(router: &Router) -> $handle {
                    router.api.$field.clone()
                }
            }
        )*
    };
}

extract_handles! {
    auth: Auth,
    workflows: Workflows,
    runs: Runs,
    jobs: Jobs,
    queues: Queues,
    services: Services,
    cluster: Cluster,
    overview: Overview,
    bulks: Bulks,
    instance: Arc<Instance>,
    regions: Regions,
}

impl Router {
    pub(crate) fn new(api: Arc<Api>, stopping: watch::Receiver<bool>) -> Router {
        Router { api, stopping }
    }

    pub(crate) async fn answer(&self, request: Request<Payload>) -> Response<Body> {
        if let Some(pages) = self.api.pages.as_ref().filter(|_| pages::is_page(request.uri().path())) {
            return self.show(pages.as_ref(), request).await.unwrap_or_else(IntoResponse::into_response);
        }
        self.answer_call(request).await
    }

    /// A page, which calls this same router for what it shows.
    async fn show(&self, pages: &dyn Pages, request: Request<Payload>) -> Result<Response<Body>, ApiError> {
        let (mut head, body) = request.into_parts();
        head.headers.remove(FORWARDED);
        // Only forms have bodies, and of an unknown caller nothing larger than a sign-in is kept in memory.
        let body = if head.method == Method::POST {
            let bytes_max =
                if self.is_known(pages, &head.headers) { PASSED_BYTES_MAX } else { SIGN_IN_BYTES_MAX };
            body::read(Request::from_parts(head.clone(), body), bytes_max).await?
        } else {
            Bytes::new()
        };
        let request = Request::from_parts(head, body);
        let router = self.clone();
        let call: ApiCall = Arc::new(move |request: Request<Bytes>| {
            let router = router.clone();
            Box::pin(async move { pages::whole(router.answer_call(request.map(Payload::whole)).await).await })
        });
        Ok(pages.answer(request, call, self.stopping.clone()).await)
    }

    fn is_known(&self, pages: &dyn Pages, headers: &HeaderMap) -> bool {
        let mut headers = headers.clone();
        if let Some(authorization) = pages.authorization(&headers) {
            headers.insert(AUTHORIZATION, authorization);
        }
        self.api.auth.recognises(&headers)
    }

    /// Answers a call of the API.
    async fn answer_call(&self, mut request: Request<Payload>) -> Response<Body> {
        let uri = request.uri().clone();
        let endpoint = Endpoint::find(request.method(), uri.path(), &self.api.workflows.catalog());
        if let Some(refusal) = region::refusal(&self.api.regions, endpoint.on_standby()) {
            return refusal.into_response();
        }
        // The connection omits the body of the reply to HEAD.
        if request.method() == Method::HEAD && endpoint.route().is_some() {
            *request.method_mut() = Method::GET;
        }
        if self.api.cluster.directory.is_alone() {
            return self.dispatch(endpoint, request).await;
        }
        self.route(endpoint, request).await.unwrap_or_else(IntoResponse::into_response)
    }

    /// Answers from what this instance owns.
    pub(crate) async fn answer_here(&self, request: Request<Payload>) -> Response<Body> {
        let uri = request.uri().clone();
        let endpoint = Endpoint::find(request.method(), uri.path(), &self.api.workflows.catalog());
        self.dispatch(endpoint, request).await
    }

    /// Who answers a request.
    pub(crate) fn scope_of(&self, method: &Method, path: &str) -> ResolvedScope {
        Endpoint::find(method, path, &self.api.workflows.catalog()).scope(method, self.api.cluster.partitions)
    }

    /// The caller of an endpoint, if it may call it: the one place where access is checked, before any byte of a body is
    /// read.
    fn authorize(
        &self,
        endpoint: &Endpoint<'_>,
        request: &Request<Payload>,
    ) -> Result<Authorized<'_>, ApiError> {
        let access = endpoint.access(request.method());
        self.api.auth.authorize(access, || endpoint.queue_path(), request.uri(), request.headers())
    }

    async fn dispatch(&self, endpoint: Endpoint<'_>, request: Request<Payload>) -> Response<Body> {
        let api = &self.api;
        let caller = match self.authorize(&endpoint, &request) {
            Ok(caller) => caller,
            Err(error) => return endpoint.refuse(error),
        };
        let answered = match endpoint {
            Endpoint::Ingest(route) => api.submissions.answer(route, request).await,
            Endpoint::Route { handler, params, .. } => {
                let caller = Caller(caller.name.into_owned());
                let mut request = request.map(Body::new);
                request.extensions_mut().insert(params);
                request.extensions_mut().insert(caller);
                Ok(handler(request, self.clone()).await)
            }
            Endpoint::WrongMethod { allow } => {
                Err(ApiError::Method { method: request.into_parts().0.method, allow })
            }
            Endpoint::Azure(path) => Ok(api.azure.answer(path, request).await),
            Endpoint::Classic(path) => Ok(api.azure.answer_classic(path, request).await),
            Endpoint::OwnRoute(entry, id) => api.submissions.own_route(&entry, id, &caller, request).await,
            Endpoint::ServiceBus(Ok(path)) => {
                api.servicebus.answer(path, &caller, request, self.stopping.clone()).await
            }
            Endpoint::ServiceBus(Err(error)) => Err(error),
            Endpoint::Nothing => {
                let path = request.uri().path();
                Err(ApiError::NotFound(format!("nothing is at {path}; /openapi.json lists what is")))
            }
        };
        answered.unwrap_or_else(IntoResponse::into_response)
    }

    async fn route(
        &self,
        endpoint: Endpoint<'_>,
        request: Request<Payload>,
    ) -> Result<Response<Body>, ApiError> {
        let api = &self.api;
        let scope = endpoint.scope(request.method(), api.cluster.partitions);
        if request.headers().contains_key(FORWARDED) {
            return self.answer_peer(endpoint, scope, request).await;
        }
        let is_probe = endpoint.route().is_some_and(|route| route.scope == RouteScope::Probe);
        api.cluster.check_roles(&scope, is_probe)?;
        if matches!(scope, ResolvedScope::Here | ResolvedScope::Ingest) {
            return Ok(self.dispatch(endpoint, request).await);
        }
        // Of a caller who may not, nothing is kept in memory or forwarded.
        if let Err(error) = self.authorize(&endpoint, &request) {
            return Ok(endpoint.refuse(error));
        }
        match scope {
            ResolvedScope::Here | ResolvedScope::Ingest => unreachable!("answered above"),
            ResolvedScope::Partition(partition) => {
                let mut buffered = BufferedRequest::read(request).await?;
                self.set_patience(&mut buffered);
                self.answer_for(partition, buffered).await
            }
            ResolvedScope::Run(id) => self.look_up(&id, BufferedRequest::read(request).await?).await,
            ResolvedScope::Merged(merge) => self.gather(merge, BufferedRequest::read(request).await?).await,
        }
    }

    /// Answers what another instance has forwarded: from what this one owns, and never by forwarding it again.
    async fn answer_peer(
        &self,
        endpoint: Endpoint<'_>,
        scope: ResolvedScope,
        request: Request<Payload>,
    ) -> Result<Response<Body>, ApiError> {
        if let ResolvedScope::Partition(partition) = scope
            && !self.api.cluster.is_here(partition, request.method())
        {
            return Err(ApiError::NotHeld { partition });
        }
        // A route of a workflow that has not been heard of here yet.
        if request.headers().contains_key(ingest_routes::VERSION) && scope != ResolvedScope::Ingest {
            return Err(ApiError::NotHeld { partition: PartitionId::CONTROL });
        }
        let covers_partitions = matches!(scope, ResolvedScope::Run(_) | ResolvedScope::Merged(_));
        let before = covers_partitions.then(|| PartitionSet::now(&self.api.cluster.engine));
        let mut response = self.dispatch(endpoint, request).await;
        if let Some(before) = before {
            let covered = before.still(&PartitionSet::now(&self.api.cluster.engine));
            response.headers_mut().insert(HOLDS, covered.header());
        }
        Ok(response)
    }

    /// Answers a request about one partition, by its owner.
    async fn answer_for(
        &self,
        partition: PartitionId,
        mut buffered: BufferedRequest,
    ) -> Result<Response<Body>, ApiError> {
        loop {
            if self.api.cluster.is_here(partition, &buffered.method) {
                let response = self.answer_here(buffered.request()).await;
                if !is_not_held(&response) {
                    return Ok(response);
                }
            }
            let mut stopping = self.stopping.clone();
            let is_receive = servicebus::is_receive(&buffered.method, buffered.uri.path());
            let forwarded = tokio::select! {
                // The reply first, as everywhere.
                biased;
                forwarded = self.api.cluster.forward(&mut buffered, partition) => forwarded?,
                // A client that waits for a message of another instance gets the same reply as one that waits here: none came.
                _ = stopping.wait_for(|stopping| *stopping), if is_receive => {
                    Some(servicebus::nothing_received())
                }
            };
            if let Some(response) = forwarded {
                return Ok(response);
            }
        }
    }

    /// A receive says how long it waits, and must not be sent twice.
    fn set_patience(&self, buffered: &mut BufferedRequest) {
        let Some(Ok(_)) = ServiceBusPath::of(buffered.uri.path()) else { return };
        buffered.repeatable = false;
        if servicebus::is_receive(&buffered.method, buffered.uri.path()) {
            buffered.patience += servicebus::patience(&buffered.uri);
        }
    }
}
