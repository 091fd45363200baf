//! One running service: accepts requests, injects faults if its switches say so, and responds when the effect is durable.

use std::convert::Infallible;
use std::fmt;
use std::future::pending;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper::{Request, Response};
use tokio::task::JoinSet;

use crate::answer::{Answer, Body};
use crate::book::Book;
use crate::call::{Call, Verb};
use crate::commit::Committer;
use crate::control;
use crate::models;
use crate::service::Service;
use crate::switches::{Dice, Hits, Switches};

const BODY_BYTES_MAX: usize = 64 << 10;

pub(crate) struct Server {
    service: Service,
    // A lock, not a message per request: decisions take microseconds and must be in one order.
    book: Mutex<Book>,
    /// Absent when answers need not wait for the disk.
    committer: Option<Committer>,
    switches: RwLock<Arc<Switches>>,
    switched_on: AtomicBool,
    dice: Dice,
    hits: Mutex<Hits>,
    late: Mutex<JoinSet<()>>,
}

/// The answer is to be lost: the connection closes without it.
#[derive(Debug)]
pub(crate) struct Lost;

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the answer was lost on purpose")
    }
}

impl std::error::Error for Lost {}

impl Server {
    pub fn new(service: Service, book: Book, committer: Option<Committer>, switches: Switches) -> Server {
        Server {
            service,
            book: Mutex::new(book),
            committer,
            switched_on: AtomicBool::new(!switches.are_off()),
            dice: Dice::new(switches.seed),
            switches: RwLock::new(Arc::new(switches)),
            hits: Mutex::default(),
            late: Mutex::default(),
        }
    }

    pub fn service(&self) -> Service {
        self.service
    }

    pub fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn switches(&self) -> Arc<Switches> {
        self.switches.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub fn set_switches(&self, switches: Switches) {
        let on = !switches.are_off();
        self.dice.restart(switches.seed);
        *self.switches.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(switches);
        self.switched_on.store(on, Ordering::Release);
    }

    /// How many requests were hurt, and by what.
    pub fn hits(&self) -> Hits {
        *self.hits.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, hit: impl FnOnce(&mut Hits)) {
        hit(&mut self.hits.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Drops the requests that are still on their way.
    pub async fn drop_late(&self) {
        let mut late = std::mem::take(&mut *self.late());
        late.shutdown().await;
    }

    /// As [`Server::drop_late`], without waiting for their end.
    pub fn abort_late(&self) {
        self.late().abort_all();
    }

    fn late(&self) -> MutexGuard<'_, JoinSet<()>> {
        self.late.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Answers one HTTP request.
    pub async fn handle(self: Arc<Server>, request: Request<Incoming>) -> Result<Response<Body>, Lost> {
        let (parts, body) = request.into_parts();
        let body = match collect(body).await {
            Ok(body) => body,
            Err(answer) => return Ok(answer.into_response()),
        };
        if let Some(response) = control::respond(&self, &parts, &body) {
            return Ok(response);
        }
        let call = match Call::parse(self.service, &parts, body) {
            Ok(call) => call,
            Err(answer) => return Ok(answer.into_response()),
        };
        if self.switched_on.load(Ordering::Acquire) {
            let switches = self.switches();
            return self.handle_hurt(&switches, call).await.map(Answer::into_response);
        }
        Ok(self.act(&call).await.into_response())
    }

    async fn handle_hurt(self: Arc<Server>, switches: &Switches, call: Call) -> Result<Answer, Lost> {
        let delay_ms = switches.delay_ms(&self.dice);
        if delay_ms > 0 {
            self.note(|hits| hits.delayed += 1);
            tokio::time::sleep(Duration::from_millis(delay_ms)).await;
        }
        if self.dice.hits(switches.hang_rate) {
            self.note(|hits| hits.hung += 1);
            let _never: Infallible = pending().await;
        }
        if let Some(answer) = self.fault(switches, &call) {
            return Ok(answer);
        }
        let lost = self.dice.hits(switches.lost_rate);
        let answer = if self.dice.hits(switches.late_rate) {
            self.clone().act_late(call, Duration::from_millis(switches.late_ms)).await?
        } else {
            self.act(&call).await
        };
        if lost {
            self.note(|hits| hits.lost += 1);
            return Err(Lost);
        }
        Ok(answer)
    }

    /// An error response instead of the work, drawn at random.
    fn fault(&self, switches: &Switches, call: &Call) -> Option<Answer> {
        let named = |ids: &std::collections::BTreeSet<String>| {
            ids.contains(&call.target.id)
                || call.target.claim.as_ref().is_some_and(|claim| ids.contains(claim))
        };
        let failed = || Answer::problem(500, "failed", "the service failed");
        let refused = || Answer::problem(409, "refused", "the service says no");
        if call.is_undo() {
            if named(&switches.undo_refuse) {
                self.note(|hits| hits.undo_refused += 1);
                return Some(refused());
            }
            if self.dice.hits(switches.undo_error_rate) {
                self.note(|hits| hits.undo_failed += 1);
                return Some(failed());
            }
            return None;
        }
        if self.dice.hits(switches.unavailable_rate) {
            self.note(|hits| hits.unavailable += 1);
            return Some(Answer::unavailable(switches.retry_after_s));
        }
        if self.dice.hits(switches.error_rate) {
            self.note(|hits| hits.failed += 1);
            return Some(failed());
        }
        let is_question = matches!(call.verb, Verb::Get(_));
        let refuses = self.service == Service::Account || !is_question;
        if refuses && (named(&switches.refuse) || self.dice.hits(switches.refuse_rate)) {
            self.note(|hits| hits.refused += 1);
            return Some(if is_question { Answer::json(200, "false") } else { refused() });
        }
        None
    }

    /// Does the work later, also when the client has gone by then.
    async fn act_late(self: Arc<Server>, call: Call, delay: Duration) -> Result<Answer, Lost> {
        let (done, wait) = tokio::sync::oneshot::channel();
        let server = self.clone();
        {
            let mut late = self.late();
            while late.try_join_next().is_some() {}
            self.note(|hits| hits.late += 1);
            late.spawn(async move {
                tokio::time::sleep(delay).await;
                // An error means that the client has given up.
                let _ = done.send(server.act(&call).await);
            });
        }
        wait.await.map_err(|_| Lost)
    }

    async fn act(&self, call: &Call) -> Answer {
        let work = match models::prepare(self.service, call) {
            Ok(work) => work,
            Err(invalid) => return invalid.into(),
        };
        let performed = self.book().perform(call, work, now_ms());
        let answer = match performed {
            Ok(answer) => answer,
            Err(error) => return Answer::problem(500, "ledger", &format!("using the ledger: {error}")),
        };
        match &self.committer {
            None => answer,
            Some(committer) => match committer.through(answer.through).await {
                Ok(()) => answer,
                Err(_) => Answer::problem(500, "ledger", "the ledger cannot be synced; restart the service"),
            },
        }
    }
}

async fn collect(body: Incoming) -> Result<Bytes, Answer> {
    match Limited::new(body, BODY_BYTES_MAX).collect().await {
        Ok(body) => Ok(body.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => {
            Err(Answer::problem(413, "too_large", &format!("a body has at most {BODY_BYTES_MAX} bytes")))
        }
        Err(_) => Err(Answer::problem(400, "invalid", "the body could not be read to its end")),
    }
}

fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
}
