//! Where every request arrives: answered here, passed on to who can, or gathered from all.

use std::sync::Arc;

use axum::Router as AxumRouter;
use axum::body::Body;
use axum::response::IntoResponse;
use bytes::Bytes;
use http::header::AUTHORIZATION;
use http::{HeaderMap, Method, Request, Response};
use tokio::sync::watch;
use tower_service::Service;
use types::PartitionId;

use crate::api::Api;
use crate::azure;
use crate::body::{self, Payload};
use crate::bus;
use crate::error::ApiError;
use crate::forward::buffered_request::{BufferedRequest, is_not_held};
use crate::forward::partition_set::{HOLDS, PartitionSet};
use crate::forward::peer_client::FORWARDED;
use crate::forward::scope::ResolvedScope;
use crate::ingest_routes;
use crate::limits::{PASSED_BYTES_MAX, SIGN_IN_BYTES_MAX};
use crate::own_route;
use crate::pages::{self, Ask, Pages};
use crate::region;
use crate::routes;

/// What answers requests, per connection.
#[derive(Clone)]
pub(crate) struct Router {
    pub api: Api,
    routes: AxumRouter,
    /// Told when the server stops: whoever waits for a message is let go.
    stopping: watch::Receiver<bool>,
}

impl Router {
    pub(crate) fn new(api: Api, stopping: watch::Receiver<bool>) -> Router {
        Router { routes: routes::router(api.clone()), api, stopping }
    }

    pub(crate) async fn answer(&self, request: Request<Payload>) -> Response<Body> {
        if let Some(pages) = self.api.pages.as_ref().filter(|_| pages::is_of_people(request.uri().path())) {
            return self.show(pages.as_ref(), request).await.unwrap_or_else(IntoResponse::into_response);
        }
        self.answer_call(request).await
    }

    /// A page, which asks this same router for what it shows.
    async fn show(&self, pages: &dyn Pages, request: Request<Payload>) -> Result<Response<Body>, ApiError> {
        let (mut head, body) = request.into_parts();
        head.headers.remove(FORWARDED);
        // Only forms have bodies, and of strangers nothing larger than a sign-in is kept in memory.
        let body = if head.method == Method::POST {
            let bytes_max =
                if self.is_known(pages, &head.headers) { PASSED_BYTES_MAX } else { SIGN_IN_BYTES_MAX };
            body::read(Request::from_parts(head.clone(), body), bytes_max).await?
        } else {
            Bytes::new()
        };
        let request = Request::from_parts(head, body);
        let router = self.clone();
        let ask: Ask = Arc::new(move |request: Request<Bytes>| {
            let router = router.clone();
            Box::pin(async move { pages::whole(router.answer_call(request.map(Payload::whole)).await).await })
        });
        Ok(pages.answer(request, ask, self.stopping.clone()).await)
    }

    fn is_known(&self, pages: &dyn Pages, headers: &HeaderMap) -> bool {
        let mut headers = headers.clone();
        if let Some(authorization) = pages.authorization(&headers) {
            headers.insert(AUTHORIZATION, authorization);
        }
        self.api.auth.recognises(&headers)
    }

    /// Answers a call of the API.
    async fn answer_call(&self, request: Request<Payload>) -> Response<Body> {
        if let Some(refusal) = region::refusal(self.api.region.as_deref(), request.uri().path()) {
            return refusal.into_response();
        }
        if self.api.cluster.directory.is_alone() {
            return self.answer_here(request).await;
        }
        let answered = self.route(request).await;
        answered.unwrap_or_else(IntoResponse::into_response)
    }

    /// Answers from what is held here.
    pub(crate) async fn answer_here(&self, request: Request<Payload>) -> Response<Body> {
        let path = request.uri().path().to_owned();
        if let Some(door) = ingest_routes::door(request.method(), &path) {
            return self
                .api
                .submissions
                .enter(door, request)
                .await
                .unwrap_or_else(IntoResponse::into_response);
        }
        if let Some(place) = azure::Place::of(&path) {
            return self.api.azure.answer(place, request).await;
        }
        if let Some(place) = azure::ClassicPlace::of(&path) {
            return self.api.azure.answer_classic(place, request).await;
        }
        if let Some((entry, id)) = own_route::find(&self.api.workflows.catalog(), &path) {
            let answered = self.api.submissions.own_route(&entry, id, request).await;
            return answered.unwrap_or_else(IntoResponse::into_response);
        }
        if let Some(place) = bus::Place::of(&path) {
            let answered = match place {
                Ok(place) => self.api.bus.answer(place, request, self.stopping.clone()).await,
                Err(error) => Err(error),
            };
            return answered.unwrap_or_else(IntoResponse::into_response);
        }
        if Self::is_bulk(&request) {
            return self.take_bulk(request).await.unwrap_or_else(IntoResponse::into_response);
        }
        let mut router = self.routes.clone();
        match router.call(request.map(Body::new)).await {
            Ok(response) => response,
            Err(never) => match never {},
        }
    }

    async fn route(&self, request: Request<Payload>) -> Result<Response<Body>, ApiError> {
        let (api, path) = (&self.api, request.uri().path());
        let scope =
            ResolvedScope::of(request.method(), path, &api.workflows.catalog(), api.cluster.partitions);
        if request.headers().contains_key(FORWARDED) {
            return self.answer_peer(scope, request).await;
        }
        api.cluster.check_roles(&scope, path)?;
        match scope {
            ResolvedScope::Here | ResolvedScope::Ingest => Ok(self.answer_here(request).await),
            // Whoever is not known gets a refusal, and nothing of theirs is kept in memory or passed on.
            _ if !api.auth.recognises(request.headers()) => Ok(self.answer_here(request).await),
            ResolvedScope::Partition(partition) => {
                let mut buffered = BufferedRequest::read(request).await?;
                self.set_patience(&mut buffered);
                self.answer_for(partition, buffered).await
            }
            ResolvedScope::Run(id) => self.look_up(&id, BufferedRequest::read(request).await?).await,
            ResolvedScope::Merged(list) => self.gather(list, BufferedRequest::read(request).await?).await,
        }
    }

    /// Answers what another instance has passed on: from what is held here, and never by passing it on again.
    async fn answer_peer(
        &self,
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
        let speaks = matches!(scope, ResolvedScope::Run(_) | ResolvedScope::Merged(_));
        let before = speaks.then(|| PartitionSet::now(&self.api.cluster.engine));
        let mut response = self.answer_here(request).await;
        if let Some(before) = before {
            let holds = before.still(&PartitionSet::now(&self.api.cluster.engine));
            response.headers_mut().insert(HOLDS, holds.header());
        }
        Ok(response)
    }

    /// Answers a request about one partition, by whoever holds it.
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
            let carried = tokio::select! {
                // The answer first, as everywhere.
                biased;
                carried = self.api.cluster.forward(&mut buffered, partition) => carried?,
                // Whoever waits for a message elsewhere is told like those who wait here: there was none.
                _ = stopping.wait_for(|stopping| *stopping), if bus::is_receive(&buffered) => {
                    Some(bus::nothing_received())
                }
            };
            if let Some(response) = carried {
                return Ok(response);
            }
        }
    }

    /// Who waits for a message says for how long; and a receive is nothing that may be tried twice.
    fn set_patience(&self, buffered: &mut BufferedRequest) {
        let Some(Ok(_)) = bus::Place::of(buffered.uri.path()) else { return };
        buffered.repeatable = false;
        if bus::is_receive(buffered) {
            buffered.patience += bus::patience(&buffered.uri);
        }
    }
}
