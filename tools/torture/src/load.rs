//! The clients: each posts delivery after delivery and repeats what was not answered, with the same id.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use hyper::{Method, StatusCode};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::client::{Client, ClientResponse};
use crate::dice::Dice;
use crate::posts::Posts;
use crate::workflow;

/// The rate of the clients.
#[derive(Clone, Copy)]
pub struct Pace {
    clients: u32,
    /// Between the answer to one post and the next post of a client.
    pause: Duration,
    /// What each request is larger than it needs to be.
    padding_bytes: usize,
}

impl Pace {
    /// Some 400 posts a second in all, which five services on the same two cores can follow.
    pub const STEADY: Pace = Pace { clients: 8, pause: Duration::from_millis(20), padding_bytes: 0 };
    /// Some 5 MB a second: a small disk is soon full.
    pub const BULKY: Pace = Pace { clients: 8, pause: Duration::from_millis(20), padding_bytes: 12 << 10 };
    /// Some 80 posts a second: six processes and five services share the machine.
    pub const GENTLE: Pace = Pace { clients: 6, pause: Duration::from_millis(60), padding_bytes: 0 };
    /// Some 20 posts a second, beside others.
    pub const FAINT: Pace = Pace { clients: 3, pause: Duration::from_millis(120), padding_bytes: 0 };
    /// More than is taken: some must be refused.
    pub const FLOOD: Pace = Pace { clients: 150, pause: Duration::from_millis(20), padding_bytes: 0 };
}

/// Before a post that was not answered is repeated.
const RETRY_PAUSE: Duration = Duration::from_millis(5);
/// Before a post that was refused is repeated; sooner than `Retry-After` says, so that refusals are frequent.
const REFUSED_PAUSE: Duration = Duration::from_millis(50);
/// Runs in a hundred that a client cancels right after they were accepted.
const CANCEL_PERCENT: u64 = 3;

/// The clients at work.
pub struct Load {
    stop: watch::Sender<bool>,
    posters: JoinSet<()>,
}

impl Load {
    /// The clients of a server, or of a cluster: they begin at different instances.
    pub fn start(
        addresses: &[SocketAddr],
        token: &str,
        pace: Pace,
        posts: &Arc<Posts>,
        dice: &mut Dice,
    ) -> Load {
        Load::start_within(addresses, addresses.len(), token, pace, posts, dice)
    }

    /// As [`Load::start`], but they begin within the first `near` and know the rest only for the case that they fail.
    pub fn start_within(
        addresses: &[SocketAddr],
        near: usize,
        token: &str,
        pace: Pace,
        posts: &Arc<Posts>,
        dice: &mut Dice,
    ) -> Load {
        let (stop, stopped) = watch::channel(false);
        let mut posters = JoinSet::new();
        for number in 0..pace.clients as usize {
            let clients: Vec<_> =
                addresses.iter().map(|address| Client::new(*address, Some(token))).collect();
            let poster = Poster {
                at: number % near,
                clients,
                pace,
                posts: posts.clone(),
                dice: Dice::new(dice.draw()),
                stopped: stopped.clone(),
            };
            posters.spawn(poster.run());
        }
        Load { stop, posters }
    }

    /// As [`Load::stop`], of a server that may refuse forever. Whether every last post was answered.
    pub async fn stopped_within(self, patience: Duration) -> bool {
        tokio::time::timeout(patience, self.stop()).await.is_ok()
    }

    /// Lets every client finish: the server must be up, so that each last post is answered.
    pub async fn stop(mut self) {
        self.stop.send_replace(true);
        while self.posters.join_next().await.is_some() {}
    }
}

struct Poster {
    /// One for each instance, and the one that is asked until it fails.
    clients: Vec<Client>,
    at: usize,
    pace: Pace,
    posts: Arc<Posts>,
    dice: Dice,
    stopped: watch::Receiver<bool>,
}

/// What a response to a post means to a client.
pub enum PostResult {
    Accepted,
    Later,
    Wrong(String),
}

impl Poster {
    async fn run(mut self) {
        while !*self.stopped.borrow() {
            let id = self.posts.next_id();
            self.post(&id).await;
            tokio::time::sleep(self.pace.pause).await;
        }
    }

    async fn post(&mut self, id: &str) {
        let body = Bytes::from(workflow::request(id, self.pace.padding_bytes));
        loop {
            if self.client().reach().await.is_err() {
                self.turn();
                tokio::time::sleep(RETRY_PAUSE).await;
                continue;
            }
            let post = self.client().send(Method::POST, workflow::RUNS, "application/json", body.clone());
            let sent = post.await;
            match sent.map(|answer| meaning(id, &answer)) {
                Ok(PostResult::Accepted) => {
                    break self.posts.acknowledge(id, self.clients[self.at].address());
                }
                Ok(PostResult::Wrong(what)) => return self.posts.record_wrong(id, what),
                Ok(PostResult::Later) => {
                    self.posts.refusals.fetch_add(1, Ordering::Relaxed);
                    self.turn();
                    tokio::time::sleep(REFUSED_PAUSE).await;
                }
                Err(_) => {
                    self.turn();
                    tokio::time::sleep(RETRY_PAUSE).await;
                }
            }
        }
        if self.dice.hits_percent(CANCEL_PERCENT) {
            self.cancel(id).await;
        }
    }

    /// Asks once. Whatever came of it, the run must end as one thing or the other.
    async fn cancel(&mut self, id: &str) {
        let path = format!("/v1/runs/{id}/cancel");
        // Whether it came too late, was refused or was not answered is all the same here.
        let _ = self.client().send(Method::POST, &path, "", Bytes::new()).await;
    }

    fn client(&mut self) -> &mut Client {
        &mut self.clients[self.at]
    }

    /// To the next instance, as a balancer would do.
    fn turn(&mut self) {
        self.at = (self.at + 1) % self.clients.len();
    }
}

pub fn meaning(id: &str, answer: &ClientResponse) -> PostResult {
    match answer.status {
        StatusCode::OK | StatusCode::ACCEPTED if answer.run().is_ok_and(|run| run.id == id) => {
            PostResult::Accepted
        }
        StatusCode::TOO_MANY_REQUESTS
        | StatusCode::SERVICE_UNAVAILABLE
        | StatusCode::INSUFFICIENT_STORAGE
            if answer.says_when =>
        {
            PostResult::Later
        }
        status => PostResult::Wrong(format!("a post was answered {status}: {}", answer.text())),
    }
}
