//! The dashboard: pages for people, made of what the API answers, with the rights of whoever looks.

mod answer;
mod assets;
mod docs;
mod frame;
mod live;
mod page;
mod pages;
mod pieces;
mod sign_in;
mod trouble;
mod visit;

use std::pin::Pin;
use std::sync::Arc;

use axum::body::Body;
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, Request, Response};
use tokio::sync::{Semaphore, watch};

use crate::trouble::PageError;
use crate::visit::Visit;

/// The API, asked from inside the process.
pub type Ask = Arc<dyn Fn(Request<Bytes>) -> Asking + Send + Sync>;
pub type Asking = Pin<Box<dyn Future<Output = Response<Bytes>> + Send>>;

/// Pages that may be live at once: each costs a look at the API every second.
const LIVE_MAX: usize = 64;

/// Answers everything at `/` and under `/ui` and `/docs`.
pub struct Dashboard {
    lives: Arc<Semaphore>,
}

impl Default for Dashboard {
    fn default() -> Dashboard {
        Dashboard { lives: Arc::new(Semaphore::new(LIVE_MAX)) }
    }
}

impl Dashboard {
    /// What a browser that is signed in would say to the API in its `Authorization`.
    pub fn authorization(headers: &HeaderMap) -> Option<HeaderValue> {
        visit::authorization(headers)
    }

    pub async fn answer(
        &self,
        request: Request<Bytes>,
        ask: Ask,
        stopping: watch::Receiver<bool>,
    ) -> Response<Body> {
        if let Some(asset) = assets::find(request.uri().path()) {
            return assets::answer(asset, &request);
        }
        let visit = Visit::new(request, ask);
        let answered = self.open(&visit, stopping).await;
        answered.unwrap_or_else(|trouble| trouble.into_response(&visit))
    }

    async fn open(
        &self,
        visit: &Visit,
        stopping: watch::Receiver<bool>,
    ) -> Result<Response<Body>, PageError> {
        if visit.method() == Method::POST {
            visit.refuse_cross_site()?;
        }
        match visit.path_segments().as_slice() {
            ["ui", "live"] => live::answer(visit, &self.lives, stopping).await,
            ["ui", "sign-in"] => sign_in::answer(visit).await,
            ["ui", "sign-out"] => sign_in::leave(visit),
            ["ui", "runs", id, "raw"] if visit.method() != Method::POST => {
                Ok(answer::json(pages::run::raw(visit, id).await?))
            }
            ["docs", path @ ..] if visit.method() != Method::POST => Ok(docs::answer(visit, path)),
            _ if visit.method() == Method::POST => Ok(pages::act(visit).await?.answer(visit)),
            _ => Ok(answer::html(visit, pages::show(visit).await?)),
        }
    }
}
