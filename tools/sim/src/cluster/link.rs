//! The connection of one instance to the NATS of its region: requests and responses are lost, late, or answered by whoever
//! knows less.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use journal_nats::jetstream::JetStreamError;
use journal_nats::{Bounds, Outgoing, PublishError, Source, Wire};
use regions::Role;
use tokio::sync::{oneshot, watch};

use super::coverage::Situation;
use super::nats::{SERVERS, Stream};
use super::world::{Sim, World};
use crate::rng;

/// How long a client waits for an answer, in ms.
const PATIENCE_MS: u64 = 2000;

/// The wire of one instance.
#[derive(Clone)]
pub struct Link {
    sim: Arc<Sim>,
    life: u32,
    region: usize,
}

/// Nobody leads the stream, or nobody is there at all.
struct NoLeader {
    until: u64,
}

impl Link {
    pub fn new(sim: Arc<Sim>, life: u32, region: usize) -> Link {
        Link { sim, life, region }
    }

    /// Asks a stream something: none when there is no answer.
    async fn ask<T: Send + 'static>(
        &self,
        stream: &str,
        question: impl FnOnce(&mut Stream, u64) -> T + Send + 'static,
    ) -> Result<T, JetStreamError> {
        self.sim.gate(self.life).await;
        let trip = self.sim.trip(self.life, &format!("ask {stream}"));
        let (tx, rx) = oneshot::channel();
        if !trip.request_lost {
            let (sim, region, stream) = (self.sim.clone(), self.region, stream.to_owned());
            tokio::spawn(async move {
                pass(trip.there_ms).await;
                let now = sim.now();
                let answer = {
                    let mut world = sim.world();
                    leader(&mut world, region, &stream, now).ok().map(|stream| question(stream, trip.draw))
                };
                pass(trip.back_ms).await;
                if let Some(answer) = answer.filter(|_| !trip.answer_lost) {
                    // The caller may have given up.
                    let _ = tx.send(answer);
                } else {
                    pass(PATIENCE_MS).await;
                }
            });
        }
        self.wait(rx, "no answer").await.map_err(JetStreamError::NotReady)
    }

    /// Waits for an answer as long as a client does. A frozen process learns of it when it goes on.
    async fn wait<T>(&self, rx: oneshot::Receiver<T>, what: &str) -> Result<T, String> {
        let patience = Duration::from_millis(PATIENCE_MS);
        let answer = tokio::time::timeout(patience, async {
            match rx.await {
                Ok(answer) => answer,
                Err(_) => std::future::pending().await,
            }
        });
        let answer = answer.await;
        self.sim.gate(self.life).await;
        answer.map_err(|_| what.to_owned())
    }
}

/// The stream at its leader, when it has one.
fn leader<'a>(
    world: &'a mut World,
    region: usize,
    stream: &str,
    now: u64,
) -> Result<&'a mut Stream, NoLeader> {
    let healed = world.healed;
    let region = &mut world.regions[region];
    if region.lost {
        return Err(NoLeader { until: u64::MAX });
    }
    let stream = region.streams.get_mut(stream).expect("a stream of the installation");
    if stream.leaderless_until > now && !healed {
        return Err(NoLeader { until: stream.leaderless_until });
    }
    Ok(stream)
}

async fn pass(ms: u64) {
    if ms > 0 {
        tokio::time::sleep(Duration::from_millis(ms)).await;
    }
}

/// A message reaches NATS: what the sender would learn, if anything.
async fn deliver(
    sim: &Arc<Sim>,
    life: u32,
    region: usize,
    message: &Outgoing,
    draw: u64,
) -> Option<Result<u64, PublishError>> {
    let mut answered = true;
    loop {
        let now = sim.now();
        let until = {
            let mut world = sim.world();
            match leader(&mut world, region, &message.stream, now) {
                Ok(_) => return world.publish(now, life, region, message).filter(|_| answered),
                Err(NoLeader { until }) => until,
            }
        };
        // What a leader without followers has taken may be stored when they are back, or not; nobody learns of it.
        answered = false;
        if until == u64::MAX || draw.is_multiple_of(2) {
            return None;
        }
        sim.until(until + rng::hash(&(draw, 5_u64)) % 500).await;
        sim.world().coverage.note(Situation::StoredByNextLeader);
    }
}

impl World {
    fn publish(
        &mut self,
        now: u64,
        life: u32,
        region: usize,
        message: &Outgoing,
    ) -> Option<Result<u64, PublishError>> {
        let stream =
            self.regions[region].streams.get_mut(&message.stream).expect("a stream of the installation");
        let stored = stream.store(message, now);
        match &stored {
            Ok((sequence, true)) => self.stored(now, region, &message.stream, *sequence, Some(life)),
            Ok((_, false)) => self.coverage.note(Situation::StoredOnce),
            Err(PublishError::WrongLast) => {
                self.figures.refused += 1;
                if super::is_claim(&message.payload) {
                    self.coverage.note(Situation::ClaimRefused);
                }
                self.say(now, || {
                    format!("refused from {life}: {} after {:?}", message.stream, message.expected_last)
                });
            }
            Err(PublishError::Full) => self.coverage.note(Situation::StreamFull),
            Err(_) => {}
        }
        Some(stored.map(|(sequence, _)| sequence))
    }
}

impl Wire for Link {
    async fn publish(&self, message: Outgoing) -> Result<u64, PublishError> {
        self.sim.gate(self.life).await;
        let trip = self.sim.trip(self.life, &format!("tell {}", message.stream));
        let (tx, rx) = oneshot::channel();
        if trip.request_lost {
            // Dropped with nobody to answer.
        } else {
            let (sim, life, region) = (self.sim.clone(), self.life, self.region);
            tokio::spawn(async move {
                pass(trip.there_ms).await;
                let answer = deliver(&sim, life, region, &message, trip.draw).await;
                pass(trip.back_ms).await;
                if let Some(answer) = answer.filter(|_| !trip.answer_lost) {
                    // The sender may have given up.
                    let _ = tx.send(answer);
                }
            });
        }
        let answer = self.wait(rx, "no answer").await;
        answer.unwrap_or_else(|reason| {
            self.sim.world().figures.unknown += 1;
            Err(PublishError::Unknown(reason))
        })
    }

    async fn bounds(&self, stream: &str) -> Result<Bounds, JetStreamError> {
        self.ask(stream, |stream, _| stream.bounds()).await
    }

    async fn get(
        &self,
        stream: &str,
        sequence: u64,
        source: Source,
    ) -> Result<Option<Bytes>, JetStreamError> {
        if source != Source::Pair {
            return self.ask(stream, move |stream, _| stream.get(sequence, source)).await;
        }
        self.sim.gate(self.life).await;
        let mut world = self.sim.world();
        let pair = 1 - self.region;
        if world.regions.len() < 2 || world.link_cut_until > self.sim.now() || world.regions[pair].lost {
            return Err(JetStreamError::unreachable(stream, "the pair does not respond"));
        }
        if world.regions[pair].state.role != Role::Standby {
            // It has a history of its own.
            return Ok(None);
        }
        let stream = world.regions[pair].streams.get_mut(stream).expect("a stream of the installation");
        Ok(stream.get(sequence, source))
    }

    async fn range(
        &self,
        stream: &str,
        from: u64,
        through: u64,
        bytes_max: usize,
    ) -> Result<Vec<(u64, Bytes)>, JetStreamError> {
        let stale_rate = u64::from(self.sim.world().network_faults().stale);
        let answer = self.ask(stream, move |stream, draw| {
            let whole = stream.range((draw % u64::from(SERVERS)) as u8, from, through, bytes_max);
            let stale = rng::hash(&(draw, 6_u64)) % 1000 < stale_rate;
            (whole, stale.then_some(draw))
        });
        let (mut messages, stale) = answer.await?;
        if let Some(draw) = stale.filter(|_| !messages.is_empty()) {
            // A replica that lags, or a consumer that was interrupted.
            let at = rng::hash(&(draw, 7_u64)) as usize % messages.len();
            if draw.is_multiple_of(3) {
                messages.remove(at);
                self.sim.world().coverage.note(Situation::RangeWithGap);
            } else {
                messages.truncate(at);
                self.sim.world().coverage.note(Situation::RangeShort);
            }
        }
        Ok(messages)
    }

    async fn purge(&self, stream: &str, first: u64) -> Result<(), JetStreamError> {
        self.sim.world().coverage.note(Situation::Purged);
        self.ask(stream, move |stream, _| stream.purge(first)).await
    }

    fn follow(&self, stream: &str) -> watch::Receiver<u64> {
        let (tx, rx) = watch::channel(0);
        let (sim, life, region, name) = (self.sim.clone(), self.life, self.region, stream.to_owned());
        let mut tail = sim.world().regions[region].streams[&name].tail();
        tokio::spawn(async move {
            loop {
                let lag_ms = {
                    let mut world = sim.world();
                    let most = world.network_faults().told_ms;
                    world.draw(life, &name) % (most + 1)
                };
                pass(lag_ms).await;
                sim.gate(life).await;
                let last = *tail.borrow_and_update();
                let cut = sim.world().lives[&life].cut_until;
                sim.until(cut).await;
                tx.send_if_modified(|known| std::mem::replace(known, last) != last);
                if tx.is_closed() || tail.changed().await.is_err() {
                    return;
                }
            }
        });
        rx
    }
}
