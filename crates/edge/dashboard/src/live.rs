//! Live pages: while a page is open, it is rendered every second and changed sections are sent as server-sent events.

use std::collections::HashMap;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::Body;
use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderValue, Response};
use http_body_util::channel::{Channel, Sender};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

use crate::context::PageContext;
use crate::error::PageError;
use crate::page::Page;
use crate::pages;
use crate::response;

const EVERY: Duration = Duration::from_secs(1);
/// A slow page is rendered less often: it pauses for this many times as long as rendering took.
const REST: u32 = 4;
/// How often a heartbeat is sent while nothing changes. A closed connection is noticed only on a write, and a browser
/// that receives nothing for 15 seconds marks the page as stale.
const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(5);

/// Opens the event stream of a live page; the parameter `at` names the page.
pub(crate) async fn answer(
    ctx: &PageContext,
    lives: &Arc<Semaphore>,
    stopping: watch::Receiver<bool>,
) -> Result<Response<Body>, PageError> {
    let at = ctx.query_value("at").ok_or_else(|| PageError::Form("at: name the page".to_owned()))?;
    let ctx = ctx.at(&at);
    // Rendered before a slot is taken: users who may not see a page cannot use up the slots.
    let first = match pages::show(&ctx).await {
        // A redirect to the heartbeat-in page is not an event stream: the browser would retry forever.
        Err(PageError::SignIn) => return Ok(stream(Body::from(signed_out()))),
        made => made?,
    };
    if first.lives().next().is_none() {
        return Err(PageError::NotFound);
    }
    let permit = lives.clone().try_acquire_owned().map_err(|_| PageError::Busy)?;
    let (sender, body) = Channel::new(1);
    host::spawn("live page", watch_page(ctx, first, sender, stopping, permit));
    Ok(stream(Body::new(body)))
}

fn stream(body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    // Asks proxies not to buffer events.
    response.headers_mut().insert("x-accel-buffering", HeaderValue::from_static("no"));
    response::with_security_headers(response)
}

async fn watch_page(
    ctx: PageContext,
    first: Page,
    mut sender: Sender<Bytes>,
    mut stopping: watch::Receiver<bool>,
    _permit: OwnedSemaphorePermit,
) {
    let mut shown: HashMap<&'static str, String> = HashMap::new();
    let (mut heartbeat, mut last_sent) = (here(), Instant::now());
    let (mut made, mut took) = (Ok(first), Duration::ZERO);
    loop {
        let mut events = String::new();
        match made {
            Ok(page) => {
                if heartbeat != here() {
                    heartbeat = here();
                    events.push_str(&heartbeat);
                }
                for (id, content) in page.lives() {
                    let before = shown.insert(id, content.to_owned());
                    if before.as_deref() != Some(content) {
                        events.push_str(&event("part", &serde_json::json!({ "id": id, "html": content })));
                    }
                }
            }
            Err(PageError::SignIn) => {
                // If the send fails, the browser has disconnected and nobody is left to notify.
                let _ = sender.send_data(signed_out().into()).await;
                return;
            }
            Err(PageError::NotFound | PageError::Moved(_)) => return,
            // Most likely a partition is moving to another owner: the page stays as it is and is marked as stale.
            Err(error) => {
                heartbeat = event("unavailable", &serde_json::json!(error.problem().detail));
                events.push_str(&heartbeat);
            }
        }
        if !events.is_empty() {
            if sender.send_data(events.into()).await.is_err() {
                return;
            }
            last_sent = Instant::now();
        }
        let again = async {
            tokio::time::sleep(EVERY.max(took * REST)).await;
            let began = Instant::now();
            (pages::show(&ctx).await, began.elapsed())
        };
        tokio::select! {
            // Shutdown first: an open page must not delay it.
            biased;
            _ = stopping.wait_for(|stopping| *stopping) => return,
            next = with_heartbeats(again, &heartbeat, &mut sender, &mut last_sent) => match next {
                Some(next) => (made, took) = next,
                None => return,
            }
        }
    }
}

/// Waits for the next page, however long it takes, and sends heartbeats meanwhile; none if the browser has disconnected.
async fn with_heartbeats<T>(
    next: impl Future<Output = T>,
    heartbeat: &str,
    sender: &mut Sender<Bytes>,
    last_sent: &mut Instant,
) -> Option<T> {
    let mut next = pin!(next);
    loop {
        let silent = tokio::time::sleep(HEARTBEAT_INTERVAL.saturating_sub(last_sent.elapsed()));
        tokio::select! {
            // The page first: sending it makes a heartbeat unnecessary.
            biased;
            next = &mut next => return Some(next),
            () = silent => {
                sender.send_data(heartbeat.to_owned().into()).await.ok()?;
                *last_sent = Instant::now();
            }
        }
    }
}

fn here() -> String {
    event("here", &serde_json::Value::Null)
}

fn signed_out() -> String {
    event("signed-out", &serde_json::Value::Null)
}

/// A server-sent event; JSON contains no raw line breaks.
fn event(name: &str, data: &serde_json::Value) -> String {
    format!("event: {name}\ndata: {data}\n\n")
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt;
    use tokio::sync::oneshot;

    use super::*;

    #[tokio::test]
    async fn while_a_page_takes_long_there_are_signs_of_life() {
        let (mut sender, mut body) = Channel::<Bytes>::new(1);
        let (made, next) = oneshot::channel();
        let mut last_sent =
            Instant::now().checked_sub(2 * HEARTBEAT_INTERVAL).expect("the machine has been up for longer");
        let (heartbeat, before) = (here(), last_sent);
        // The page is rendered only after the heartbeat arrived: without one the test never ends.
        let listening = async {
            let frame = body.frame().await.expect("a heartbeat").expect("nothing breaks");
            made.send("the page").expect("the receiver waits for it");
            frame.into_data().expect("text")
        };
        let (next, heard) =
            tokio::join!(with_heartbeats(next, &heartbeat, &mut sender, &mut last_sent), listening);
        assert_eq!((next, heard), (Some(Ok("the page")), Bytes::from(heartbeat.clone())));
        assert!(last_sent > before);
    }
}
