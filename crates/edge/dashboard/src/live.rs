//! Live pages: while one is open it is made again every second, and what has changed is sent as an event.

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

use crate::answer;
use crate::page::Page;
use crate::pages;
use crate::trouble::PageError;
use crate::visit::Visit;

const EVERY: Duration = Duration::from_secs(1);
/// A page that takes long is made less often: it rests for so many times as long as it took.
const REST: u32 = 4;
/// How long nothing has changed when something is said all the same: a browser that has gone is noticed when it is
/// written to, and one that hears nothing for 15 seconds tells its reader that the page may be old.
const SIGN_OF_LIFE_EVERY: Duration = Duration::from_secs(5);

/// Begins the stream of a live page; `at` says which.
pub(crate) async fn answer(
    visit: &Visit,
    lives: &Arc<Semaphore>,
    stopping: watch::Receiver<bool>,
) -> Result<Response<Body>, PageError> {
    let at = visit.query_value("at").ok_or_else(|| PageError::Form("at: say which page".to_owned()))?;
    let visit = visit.at(&at);
    // Made before a place is given: whoever may not see a page cannot keep others from theirs.
    let first = match pages::show(&visit).await {
        // The way in is no stream: a browser would take it for a refusal and ask again and again.
        Err(PageError::SignIn) => return Ok(stream(Body::from(signed_out()))),
        made => made?,
    };
    if first.lives().next().is_none() {
        return Err(PageError::NotFound);
    }
    let permit = lives.clone().try_acquire_owned().map_err(|_| PageError::Busy)?;
    let (sender, body) = Channel::new(1);
    host::spawn("live page", watch_page(visit, first, sender, stopping, permit));
    Ok(stream(Body::new(body)))
}

fn stream(body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    // Proxies that would gather events before they pass them on are asked not to.
    response.headers_mut().insert("x-accel-buffering", HeaderValue::from_static("no"));
    answer::with_security_headers(response)
}

async fn watch_page(
    visit: Visit,
    first: Page,
    mut sender: Sender<Bytes>,
    mut stopping: watch::Receiver<bool>,
    _permit: OwnedSemaphorePermit,
) {
    let mut shown: HashMap<&'static str, String> = HashMap::new();
    let (mut sign, mut said) = (here(), Instant::now());
    let (mut made, mut took) = (Ok(first), Duration::ZERO);
    loop {
        let mut events = String::new();
        match made {
            Ok(page) => {
                if sign != here() {
                    sign = here();
                    events.push_str(&sign);
                }
                for (id, content) in page.lives() {
                    let before = shown.insert(id, content.to_owned());
                    if before.as_deref() != Some(content) {
                        events.push_str(&event("part", &serde_json::json!({ "id": id, "html": content })));
                    }
                }
            }
            Err(PageError::SignIn) => {
                // Nobody is left to tell when the browser has gone.
                let _ = sender.send_data(signed_out().into()).await;
                return;
            }
            Err(PageError::NotFound | PageError::Moved(_)) => return,
            // A partition that changes hands, most likely: the page stays as it is, and says that it is old.
            Err(trouble) => {
                sign = event("trouble", &serde_json::json!(trouble.problem().detail));
                events.push_str(&sign);
            }
        }
        if !events.is_empty() {
            if sender.send_data(events.into()).await.is_err() {
                return;
            }
            said = Instant::now();
        }
        let again = async {
            tokio::time::sleep(EVERY.max(took * REST)).await;
            let began = Instant::now();
            (pages::show(&visit).await, began.elapsed())
        };
        tokio::select! {
            // The end first: a page that stays open must not keep the server.
            biased;
            _ = stopping.wait_for(|stopping| *stopping) => return,
            next = with_signs_of_life(again, &sign, &mut sender, &mut said) => match next {
                Some(next) => (made, took) = next,
                None => return,
            }
        }
    }
}

/// Waits for the next page, however long it takes, and gives a sign meanwhile; none when the browser has gone.
async fn with_signs_of_life<T>(
    next: impl Future<Output = T>,
    sign: &str,
    sender: &mut Sender<Bytes>,
    said: &mut Instant,
) -> Option<T> {
    let mut next = pin!(next);
    loop {
        let silent = tokio::time::sleep(SIGN_OF_LIFE_EVERY.saturating_sub(said.elapsed()));
        tokio::select! {
            // The page first: it is a sign of life itself.
            biased;
            next = &mut next => return Some(next),
            () = silent => {
                sender.send_data(sign.to_owned().into()).await.ok()?;
                *said = Instant::now();
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

/// An event as browsers read it; JSON has no line breaks of its own.
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
        let mut said =
            Instant::now().checked_sub(2 * SIGN_OF_LIFE_EVERY).expect("the machine runs for longer");
        let (sign, before) = (here(), said);
        // The page is made only when the sign has come: without one this never ends.
        let listening = async {
            let frame = body.frame().await.expect("a sign of life").expect("nothing breaks");
            made.send("the page").expect("somebody waits for it");
            frame.into_data().expect("text")
        };
        let (next, heard) = tokio::join!(with_signs_of_life(next, &sign, &mut sender, &mut said), listening);
        assert_eq!((next, heard), (Some(Ok("the page")), Bytes::from(sign.clone())));
        assert!(said > before);
    }
}
