//! The dashboard: HTML pages rendered from responses of the API, with the permissions of the signed-in user.

mod assets;
mod components;
mod context;
mod docs;
mod error;
mod frame;
mod live;
mod page;
mod pages;
mod response;
mod sign_in;

use std::sync::Arc;

use axum::body::Body;
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, Request, Response};
use page_api::{ApiCall, PageReply, Pages};
use tokio::sync::{Semaphore, watch};

use crate::context::PageContext;
use crate::error::PageError;

/// Live pages at once: each one queries the API every second.
const LIVE_MAX: usize = 64;

/// Serves `/` and everything under `/ui` and `/docs`.
pub struct Dashboard {
    lives: Arc<Semaphore>,
}

impl Default for Dashboard {
    fn default() -> Dashboard {
        Dashboard { lives: Arc::new(Semaphore::new(LIVE_MAX)) }
    }
}

impl Pages for Dashboard {
    fn authorization(&self, headers: &HeaderMap) -> Option<HeaderValue> {
        context::authorization(headers)
    }

    fn answer(
        &self,
        request: Request<Bytes>,
        call: ApiCall,
        stopping: watch::Receiver<bool>,
    ) -> PageReply<'_> {
        Box::pin(self.respond(request, call, stopping))
    }
}

impl Dashboard {
    async fn respond(
        &self,
        request: Request<Bytes>,
        call: ApiCall,
        stopping: watch::Receiver<bool>,
    ) -> Response<Body> {
        if let Some(asset) = assets::find(request.uri().path()) {
            return assets::answer(asset, &request);
        }
        let ctx = PageContext::new(request, call);
        let answered = self.open(&ctx, stopping).await;
        answered.unwrap_or_else(|error| error.response(&ctx))
    }

    async fn open(
        &self,
        ctx: &PageContext,
        stopping: watch::Receiver<bool>,
    ) -> Result<Response<Body>, PageError> {
        if ctx.method() == Method::POST {
            ctx.refuse_cross_site()?;
        }
        match ctx.path_segments().as_slice() {
            ["ui", "live"] => live::answer(ctx, &self.lives, stopping).await,
            ["ui", "sign-in"] => sign_in::answer(ctx).await,
            ["ui", "sign-out"] => sign_in::leave(ctx),
            ["ui", "runs", id, "raw"] if ctx.method() != Method::POST => {
                Ok(response::json(pages::run::raw(ctx, id).await?))
            }
            ["docs", path @ ..] if ctx.method() != Method::POST => Ok(docs::answer(ctx, path)),
            _ if ctx.method() == Method::POST => Ok(pages::act(ctx).await?.answer(ctx)),
            _ => Ok(response::html(ctx, pages::show(ctx).await?)),
        }
    }
}
