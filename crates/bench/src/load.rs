//! The load generator: POSTs over connections that stay open, with every latency in a histogram.
//!
//! In a closed loop each connection sends its next request when it has the answer to the last. In an open loop
//! requests have a time at which they are due, whatever became of those before them; a free connection takes the
//! next, and the latency counts from the time it was due. Waiting is part of the figures, and what found
//! no connection until the end counts as failed.

mod answer;
mod due;
mod tally;
mod template;
mod worker;

use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use anyhow::Context;
use terminal::machine;

pub use self::due::Stretch;
pub use self::tally::{Interval, Measured, histogram, side};

use self::due::Dues;
use self::tally::Window;
use self::template::Template;
use self::worker::{Due, Work};

/// Connections are opened before the load begins.
const GET_READY: Duration = Duration::from_millis(20);

/// Where requests go.
#[derive(Debug, Clone)]
pub struct Target {
    pub address: SocketAddr,
    /// Further addresses of the same installation; connections are spread over all.
    pub others: Vec<SocketAddr>,
    pub path: String,
    pub token: String,
    pub answers: Answers,
}

/// How a target answers a POST.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answers {
    /// The status is for all that is in it.
    Whole,
    /// Each line of the answer has the status of a line of the batch.
    ByLine,
}

/// How requests come.
#[derive(Debug, Clone)]
pub struct Load {
    pub connections: u32,
    pub pace: Pace,
    /// Requests in one POST; without it, each is a POST of its own.
    pub batch: Option<u32>,
    pub warm_up: Duration,
    pub measured: Duration,
    /// The length of the intervals that are counted apart.
    pub interval: Duration,
    /// How long answers may come after the end.
    pub late_answers: Duration,
}

impl Load {
    /// Requests at these rates, one by one, counted by the second.
    pub fn open(connections: u32, warm_up: Duration, stretches: Vec<Stretch>) -> Load {
        let length: Duration = stretches.iter().map(|stretch| stretch.length).sum();
        Load {
            connections,
            pace: Pace::Open(stretches),
            batch: None,
            warm_up,
            measured: length.saturating_sub(warm_up),
            interval: Duration::from_secs(1),
            late_answers: LATE_ANSWERS,
        }
    }
}

/// Connections of an open loop, by default: as many as a rate may keep waiting, because what finds no free
/// connection counts as failed.
pub const OPEN_CONNECTIONS: u32 = 1024;

/// Enough for every answer that comes at all.
pub const LATE_ANSWERS: Duration = Duration::from_secs(30);

#[derive(Debug, Clone)]
pub enum Pace {
    Closed,
    /// POSTs are due by these stretches, of which the warm-up is a part.
    Open(Vec<Stretch>),
}

impl Pace {
    pub fn steady(per_second: f64, length: Duration) -> Pace {
        Pace::Open(vec![Stretch { per_second, length }])
    }
}

/// Threads that make the load: one for two cores, because what is measured needs the other.
fn threads() -> u32 {
    u32::try_from(machine::processors() / 2).unwrap_or(1).clamp(1, 8)
}

/// Puts a load on a target and measures it after the warm-up. `name` begins the ids of its requests.
pub async fn drive(target: &Target, load: Load, name: &str) -> anyhow::Result<Measured> {
    let threads = threads().min(load.connections);
    let end = load.warm_up + load.measured;
    let window = Window { from: load.warm_up, until: end, interval: load.interval };
    let addresses: Vec<SocketAddr> =
        [target.address].into_iter().chain(target.others.iter().copied()).collect();
    // A busy server takes its time; a progress bar shows that meanwhile.
    let opening = tokio::task::spawn_blocking(move || {
        addresses
            .iter()
            .cycle()
            .take(load.connections as usize)
            .map(|address| connect(*address))
            .collect::<anyhow::Result<Vec<_>>>()
    });
    let mut connections: Vec<Vec<TcpStream>> = (0..threads).map(|_| Vec::new()).collect();
    for (number, connection) in opening.await.context("opening connections")??.into_iter().enumerate() {
        connections[number % threads as usize].push(connection);
    }
    let begin = Instant::now() + GET_READY;
    let mut ends = Vec::new();
    for (thread, connections) in connections.into_iter().enumerate() {
        let due = match &load.pace {
            Pace::Closed => Due::WhenFree,
            Pace::Open(stretches) => {
                Due::At(Dues::new(stretches.clone()).skip(thread).step_by(threads as usize))
            }
        };
        let work = Work {
            target: target.clone(),
            template: Template::new(target, name, load.batch),
            connections,
            due,
            first: thread as u64,
            step: u64::from(threads),
            begin,
            end,
            late_answers: load.late_answers,
        };
        let (sender, receiver) = tokio::sync::oneshot::channel();
        std::thread::Builder::new()
            .name(format!("load-{thread}"))
            .spawn(move || {
                // Nobody waits for it any more only when the bench was interrupted.
                let _ = sender.send(worker::work(work, Measured::new(window, begin)));
            })
            .context("starting a thread")?;
        ends.push(receiver);
    }
    let mut all = Measured::new(window, begin);
    for end in ends {
        all.add(end.await.context("a thread of the load generator has panicked")??);
    }
    Ok(all)
}

/// Opens a connection that stays open. On loopback this takes microseconds.
fn connect(address: SocketAddr) -> anyhow::Result<TcpStream> {
    let stream = TcpStream::connect(address).with_context(|| format!("connecting to {address}"))?;
    stream.set_nodelay(true).context("setting TCP_NODELAY")?;
    stream.set_nonblocking(true).context("preparing a connection")?;
    Ok(stream)
}

#[cfg(test)]
mod tests;
