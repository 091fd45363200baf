//! Following the end of a stream. Whoever stores a message says so to whoever listens; that is a hint to ask the
//! leader, who is asked every second in any case.

use std::time::Duration;

use futures_util::StreamExt;
use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval, timeout};

use super::{ANSWER_MAX, Client};
use crate::wire::Wire;

const ASK_EVERY: Duration = Duration::from_secs(1);

impl Client {
    /// Says that a stream ends here, at least.
    pub(super) async fn hint_end(&self, stream: &str, last: u64) {
        let told = self.nats.publish(self.hints(stream), last.to_string().into());
        // Lost hints are made good by asking.
        let _ = timeout(ANSWER_MAX, told).await;
    }

    fn hints(&self, stream: &str) -> String {
        format!("{}.tail.{stream}", self.installation)
    }

    pub(super) fn start_following(&self, stream: &str) -> watch::Receiver<u64> {
        let (last, followed) = watch::channel(0);
        // It must not hold the followers, or they would hold themselves.
        let client = Client { followers: Default::default(), ..self.clone() };
        let task = host::spawn("follow", client.follow_on(stream.to_owned(), last));
        let mut followers = self.followers.0.lock().expect("no holder of the lock panics");
        followers.push(task.abort_handle());
        followed
    }

    async fn follow_on(self, stream: String, last: watch::Sender<u64>) {
        // A subscription fails only when the client is closed; then there is nothing to follow.
        let Ok(mut hints) = self.nats.subscribe(self.hints(&stream)).await else { return };
        let mut ticks = interval(ASK_EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        while !last.is_closed() {
            tokio::select! {
                hint = hints.next() => {
                    let Some(hint) = hint else { return };
                    let told: Option<u64> = std::str::from_utf8(&hint.payload).ok().and_then(|text| text.parse().ok());
                    if told.is_none_or(|told| told <= *last.borrow()) {
                        continue;
                    }
                }
                _ = ticks.tick() => {}
            }
            if let Ok(bounds) = self.bounds(&stream).await {
                // It falls when a stream was replaced.
                last.send_if_modified(|last| std::mem::replace(last, bounds.last) != bounds.last);
            }
        }
    }
}
