//! The three things that are measured of a queue: sending, receiving, and the way from one to the other.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::ensure;
use bytes::Bytes;
use hdrhistogram::Histogram;
use serde::Serialize;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::super::comparison::Side;
use super::super::load::{histogram, side};
use super::client::{Broker, Consumer, Sender};

/// Consumers that wait while the way through is measured.
const WAITING: usize = 8;
/// How long the last messages may be on their way.
const LATE: Duration = Duration::from_secs(30);

#[derive(Debug, Clone, Copy)]
pub struct Load {
    pub clients: usize,
    pub time: Duration,
    pub rate: u32,
    pub bytes: usize,
}

#[derive(Debug, Clone, Copy, Serialize)]
pub struct Rates {
    /// Until a send is confirmed.
    pub send: Side,
    /// Until a message is received and completed.
    pub receive: Side,
    /// From the send until a waiting consumer has the message.
    pub through: Side,
}

pub async fn all(broker: &Broker, load: Load) -> anyhow::Result<Rates> {
    let (send, sent) = send(broker, load).await?;
    let receive = receive(broker, load, sent).await?;
    let through = through(broker, load).await?;
    Ok(Rates { send, receive, through })
}

/// Many senders, each waiting for its confirmation before it sends again.
async fn send(broker: &Broker, load: Load) -> anyhow::Result<(Side, u64)> {
    let senders: Vec<Sender> = (0..load.clients).map(|_| broker.sender()).collect::<Result<_, _>>()?;
    let (mut tasks, begun) = (JoinSet::new(), Instant::now());
    for mut sender in senders {
        tasks.spawn(async move {
            let mut latencies = histogram();
            while begun.elapsed() < load.time {
                let sent = Instant::now();
                sender.send(body(load.bytes)).await?;
                note(&mut latencies, sent.elapsed());
            }
            anyhow::Ok(latencies)
        });
    }
    let latencies = gather(tasks).await?;
    let sent = latencies.len();
    Ok((side(&latencies, sent as f64 / begun.elapsed().as_secs_f64()), sent))
}

/// Many consumers take what was sent, each message by itself.
async fn receive(broker: &Broker, load: Load, sent: u64) -> anyhow::Result<Side> {
    let mut consumers = Vec::new();
    for _ in 0..load.clients {
        consumers.push(broker.consumer().await?);
    }
    let (mut tasks, begun) = (JoinSet::new(), Instant::now());
    let left = Arc::new(AtomicU64::new(sent));
    for mut consumer in consumers {
        let left = left.clone();
        tasks.spawn(async move {
            let mut latencies = histogram();
            while begun.elapsed() < load.time && left.load(Ordering::Relaxed) > 0 {
                let asked = Instant::now();
                if consumer.take().await?.is_some() {
                    note(&mut latencies, asked.elapsed());
                    left.fetch_sub(1, Ordering::Relaxed);
                }
            }
            anyhow::Ok((latencies, consumer))
        });
    }
    let (mut all, mut kept) = (histogram(), Vec::new());
    while let Some(ended) = tasks.join_next().await {
        let (latencies, consumer) = ended??;
        all.add(latencies)?;
        kept.push(consumer);
    }
    let measured = side(&all, all.len() as f64 / begun.elapsed().as_secs_f64());
    empty(kept, &left).await?;
    Ok(measured)
}

/// Takes what is left, so that the next measure begins with an empty queue.
async fn empty(consumers: Vec<Consumer>, left: &Arc<AtomicU64>) -> anyhow::Result<()> {
    let mut tasks = JoinSet::new();
    for mut consumer in consumers {
        let left = left.clone();
        tasks.spawn(async move {
            while left.load(Ordering::Relaxed) > 0 {
                if consumer.take().await?.is_some() {
                    // Others may have taken the last one meanwhile.
                    let _ =
                        left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
                }
            }
            anyhow::Ok(())
        });
    }
    while let Some(ended) = tasks.join_next().await {
        ended??;
    }
    Ok(())
}

/// A steady trickle to consumers that wait: how old each message is when it arrives.
async fn through(broker: &Broker, load: Load) -> anyhow::Result<Side> {
    let done = Arc::new(AtomicBool::new(false));
    let mut consuming = JoinSet::new();
    for _ in 0..WAITING {
        let (mut consumer, done) = (broker.consumer().await?, done.clone());
        consuming.spawn(async move {
            let mut ages = histogram();
            while !done.load(Ordering::Relaxed) {
                if let Some(body) = consumer.take().await? {
                    note(&mut ages, age(&body)?);
                }
            }
            anyhow::Ok(ages)
        });
    }
    let mut senders: Vec<Sender> = (0..load.clients).map(|_| broker.sender()).collect::<Result<_, _>>()?;
    let mut sending = JoinSet::new();
    let begun = Instant::now();
    let count = u64::from(load.rate) * load.time.as_secs();
    let mut sent = 0;
    for n in 0..count {
        tokio::time::sleep_until(begun + Duration::from_secs(1) * u32::try_from(n)? / load.rate).await;
        if senders.is_empty() {
            senders.push(joined(&mut sending).await?);
        }
        let Some(mut sender) = senders.pop() else { continue };
        sent += 1;
        sending.spawn(async move { sender.send(body(load.bytes)).await.map(|()| sender) });
    }
    while !sending.is_empty() {
        joined(&mut sending).await?;
    }
    let measured = begun.elapsed();
    tokio::time::sleep(Duration::from_millis(500)).await;
    done.store(true, Ordering::Relaxed);
    let ages = tokio::time::timeout(LATE, gather(consuming)).await??;
    ensure!(ages.len() == sent, "{sent} messages were sent, {} arrived", ages.len());
    Ok(side(&ages, sent as f64 / measured.as_secs_f64()))
}

async fn joined(sending: &mut JoinSet<anyhow::Result<Sender>>) -> anyhow::Result<Sender> {
    sending.join_next().await.expect("a sender is running")?
}

async fn gather(mut tasks: JoinSet<anyhow::Result<Histogram<u64>>>) -> anyhow::Result<Histogram<u64>> {
    let mut all = histogram();
    while let Some(ended) = tasks.join_next().await {
        all.add(ended??)?;
    }
    Ok(all)
}

fn note(latencies: &mut Histogram<u64>, time: Duration) {
    latencies.saturating_record(u64::try_from(time.as_micros()).unwrap_or(u64::MAX).max(1));
}

/// A body that says when it was made.
fn body(bytes: usize) -> Bytes {
    let mut body = format!("{:016}", now_micros()).into_bytes();
    body.resize(bytes.max(16), b'x');
    body.into()
}

fn age(body: &[u8]) -> anyhow::Result<Duration> {
    let made: u64 = std::str::from_utf8(&body[..16])?.parse()?;
    Ok(Duration::from_micros(now_micros().saturating_sub(made)))
}

pub fn now_micros() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_micros()).unwrap_or(u64::MAX)
}
