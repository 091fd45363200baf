//! Following the tail of a stream. A publisher announces the sequence of each message on a plain subject; the
//! announcement is only a hint to ask the leader, who is asked every second in any case.

use std::time::Duration;

use futures_util::StreamExt;
use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval, timeout};

use super::NatsWire;
use crate::limits::RESPONSE_MAX;
use crate::wire::Wire;

const ASK_EVERY: Duration = Duration::from_secs(1);

impl NatsWire {
    /// Announces that a stream has at least this sequence.
    pub(super) async fn announce_tail(&self, stream: &str, last: u64) {
        let announced = self.jetstream.nats().publish(self.announcements(stream), last.to_string().into());
        // A lost announcement costs a follower one second.
        let _ = timeout(RESPONSE_MAX, announced).await;
    }

    fn announcements(&self, stream: &str) -> String {
        format!("{}.tail.{stream}", self.installation)
    }

    pub(super) fn start_following(&self, stream: &str) -> watch::Receiver<u64> {
        let (last, followed) = watch::channel(0);
        // Without the list of followers: a task that holds it would keep itself alive.
        let wire = NatsWire { followers: Default::default(), ..self.clone() };
        let task = host::spawn("tail follower", wire.follow_on(stream.to_owned(), last));
        let mut followers = self.followers.0.lock().expect("no holder of the lock panics");
        followers.push(task.abort_handle());
        followed
    }

    async fn follow_on(self, stream: String, last: watch::Sender<u64>) {
        // Subscribing fails only if the client is closed; then there is nothing to follow.
        let announcements = self.jetstream.nats().subscribe(self.announcements(&stream)).await;
        let Ok(mut announcements) = announcements else { return };
        let mut ticks = interval(ASK_EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        while !last.is_closed() {
            tokio::select! {
                announced = announcements.next() => {
                    let Some(announced) = announced else { return };
                    let announced = std::str::from_utf8(&announced.payload).ok();
                    let announced: Option<u64> = announced.and_then(|text| text.parse().ok());
                    if announced.is_none_or(|announced| announced <= *last.borrow()) {
                        continue;
                    }
                }
                _ = ticks.tick() => {}
            }
            if let Ok(bounds) = self.bounds(&stream).await {
                // The tail goes back if the stream was replaced.
                last.send_if_modified(|last| std::mem::replace(last, bounds.last) != bounds.last);
            }
        }
    }
}
