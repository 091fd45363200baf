//! Live pages: while one is open it is made again every second, and what has changed is sent as an event.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::Body;
use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderValue, Response};
use http_body_util::channel::{Channel, Sender};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

use crate::answer;
use crate::page::Page;
use crate::pages;
use crate::trouble::Trouble;
use crate::visit::Visit;

const EVERY: Duration = Duration::from_secs(1);
/// A page that takes long is made less often: it rests for so many times as long as it took.
const REST: u32 = 4;
/// Seconds without a change after which something is said all the same: a browser that has gone is noticed when it is
/// written to, and one that hears nothing tells its reader that the page may be old.
const SIGN_OF_LIFE_EVERY: u32 = 5;

/// Begins the stream of a live page; `at` says which.
pub(crate) async fn answer(
    visit: &Visit,
    lives: &Arc<Semaphore>,
    stopping: watch::Receiver<bool>,
) -> Result<Response<Body>, Trouble> {
    let at = visit.asked("at").ok_or_else(|| Trouble::Form("at: say which page".to_owned()))?;
    let visit = visit.at(&at);
    // Made before a place is given: whoever may not see a page cannot keep others from theirs.
    let first = pages::show(&visit).await?;
    if first.lives().next().is_none() {
        return Err(Trouble::NotFound);
    }
    let permit = lives.clone().try_acquire_owned().map_err(|_| Trouble::Busy)?;
    let (sender, body) = Channel::new(1);
    host::spawn("live page", watch_page(visit, first, sender, stopping, permit));
    let mut response = Response::new(Body::new(body));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(answer::guard(response))
}

async fn watch_page(
    visit: Visit,
    first: Page,
    mut sender: Sender<Bytes>,
    mut stopping: watch::Receiver<bool>,
    _permit: OwnedSemaphorePermit,
) {
    let mut shown: HashMap<&'static str, String> = HashMap::new();
    let mut silent = 0;
    let (mut made, mut took) = (Ok(first), Duration::ZERO);
    loop {
        let mut events = String::new();
        match made {
            Ok(page) => {
                for (id, content) in page.lives() {
                    let before = shown.insert(id, content.to_owned());
                    if before.as_deref() != Some(content) {
                        events.push_str(&event("part", &serde_json::json!({ "id": id, "html": content })));
                    }
                }
            }
            Err(Trouble::SignIn) => {
                let _ = sender.send_data(event("signed-out", &serde_json::Value::Null).into()).await;
                return;
            }
            Err(Trouble::NotFound | Trouble::Moved(_)) => return,
            // A partition that changes hands, most likely: the page stays as it is, and says that it is old.
            Err(trouble) => events.push_str(&event("trouble", &serde_json::json!(trouble.problem().detail))),
        }
        silent = if events.is_empty() { silent + 1 } else { 0 };
        if silent >= SIGN_OF_LIFE_EVERY {
            silent = 0;
            events.push_str(&event("here", &serde_json::Value::Null));
        }
        if !events.is_empty() && sender.send_data(events.into()).await.is_err() {
            return;
        }
        tokio::select! {
            // The end first: a page that stays open must not keep the server.
            biased;
            _ = stopping.wait_for(|stopping| *stopping) => return,
            () = tokio::time::sleep(EVERY.max(took * REST)) => {}
        }
        let began = Instant::now();
        made = pages::show(&visit).await;
        took = began.elapsed();
    }
}

/// An event as browsers read it; JSON has no line breaks of its own.
fn event(name: &str, data: &serde_json::Value) -> String {
    format!("event: {name}\ndata: {data}\n\n")
}
