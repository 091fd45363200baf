//! Where timed calls arrive: takes how late each is, and that each comes once.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::Context;
use serde_json::{Value, json};

use super::figures::{Figures, Round};

/// Calls that have not come this long after the last was due do not count.
const WAIT_MAX: Duration = Duration::from_secs(10);
const POLL: Duration = Duration::from_millis(20);
/// A peer holds a rate when 99 of 100 calls come within this time, and none is lost.
const HELD_P99_MS: f64 = 1000.0;

/// Calls that are due evenly over some seconds. Call `n` is a POST to `/{round}/{n}`.
#[derive(Debug, Clone, Copy)]
pub struct Plan {
    pub round: u32,
    pub rate: u32,
    pub calls: u32,
    pub begin_ms: f64,
}

impl Plan {
    pub fn to_json(self) -> Value {
        let Plan { round, rate, calls, begin_ms } = self;
        json!({ "work": "timed", "round": round, "rate": rate, "calls": calls, "begin_ms": begin_ms })
    }

    pub fn due_ms(&self, call: u32) -> f64 {
        // Peers take whole milliseconds.
        (self.begin_ms + f64::from(call) * 1000.0 / f64::from(self.rate)).floor()
    }
}

/// What came of a plan.
#[derive(Debug, Clone, Copy)]
pub struct Punctuality {
    pub rate: u32,
    pub figures: Figures,
    pub lost: usize,
    pub repeated: u32,
    pub early: usize,
}

impl Punctuality {
    pub fn held(&self) -> bool {
        self.lost == 0 && self.figures.p99_ms <= HELD_P99_MS
    }
}

/// A server on loopback. Its threads end with the connections and with this program.
pub struct Target {
    pub address: SocketAddr,
    arrivals: Arc<Mutex<Arrivals>>,
}

#[derive(Default)]
struct Arrivals {
    round: u32,
    /// When each call came first.
    at_ms: Vec<Option<f64>>,
    came: usize,
    repeated: u32,
}

impl Target {
    pub fn listen() -> anyhow::Result<Target> {
        let listener = TcpListener::bind("127.0.0.1:0").context("listening on any free port")?;
        let address = listener.local_addr()?;
        let arrivals = Arc::new(Mutex::new(Arrivals::default()));
        let shared = arrivals.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let shared = shared.clone();
                thread::spawn(move || serve(stream, &shared));
            }
        });
        Ok(Target { address, arrivals })
    }

    pub fn expect(&self, plan: Plan) {
        let at_ms = vec![None; plan.calls as usize];
        *lock(&self.arrivals) = Arrivals { round: plan.round, at_ms, came: 0, repeated: 0 };
    }

    /// Waits until all calls of the plan have come, or no more are waited for.
    pub fn wait(&self, plan: Plan) -> Punctuality {
        let end_ms = plan.due_ms(plan.calls);
        let left = Duration::from_secs_f64(((end_ms - now_ms()) / 1000.0).max(0.0));
        let until = Instant::now() + left + WAIT_MAX;
        while Instant::now() < until && lock(&self.arrivals).came < plan.calls as usize {
            thread::sleep(POLL);
        }
        let arrivals = lock(&self.arrivals);
        let late =
            (0..plan.calls).zip(&arrivals.at_ms).filter_map(|(call, at)| Some((*at)? - plan.due_ms(call)));
        let latencies_ms: Vec<f64> = late.collect();
        let last = arrivals.at_ms.iter().flatten().copied().fold(end_ms, f64::max);
        let early = latencies_ms.iter().filter(|late| **late < 0.0).count();
        let seconds = (last - plan.begin_ms) / 1000.0;
        Punctuality {
            rate: plan.rate,
            lost: plan.calls as usize - latencies_ms.len(),
            repeated: arrivals.repeated,
            early,
            figures: Round { seconds, latencies_ms }.figures(),
        }
    }
}

/// Milliseconds since 1970.
pub fn now_ms() -> f64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).expect("the clock is past 1970");
    since.as_secs_f64() * 1000.0
}

/// The lock is held for moments, and never by one who panics.
fn lock(arrivals: &Mutex<Arrivals>) -> std::sync::MutexGuard<'_, Arrivals> {
    arrivals.lock().expect("nobody panics while holding it")
}

/// Takes requests without a body until the connection ends.
fn serve(stream: TcpStream, arrivals: &Mutex<Arrivals>) -> Option<()> {
    stream.set_nodelay(true).ok()?;
    let mut stream = BufReader::new(stream);
    let mut line = String::new();
    loop {
        line.clear();
        stream.read_line(&mut line).ok().filter(|bytes| *bytes > 0)?;
        let at_ms = now_ms();
        let path = line.split(' ').nth(1)?;
        let (round, call) = path.strip_prefix('/')?.split_once('/')?;
        arrive(&mut lock(arrivals), round.parse().ok()?, call.parse().ok()?, at_ms);
        while line.trim_end() != "" {
            line.clear();
            stream.read_line(&mut line).ok().filter(|bytes| *bytes > 0)?;
        }
        stream.get_mut().write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").ok()?;
    }
}

fn arrive(arrivals: &mut Arrivals, round: u32, call: usize, at_ms: f64) {
    let current = arrivals.round;
    let Some(place) = arrivals.at_ms.get_mut(call).filter(|_| round == current) else {
        return;
    };
    match place {
        Some(_) => arrivals.repeated += 1,
        None => {
            *place = Some(at_ms);
            arrivals.came += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::load::{Connection, Post};
    use super::*;

    #[test]
    fn calls_are_counted_once_and_only_in_their_round() {
        let target = Target::listen().unwrap();
        let plan = Plan { round: 7, rate: 1000, calls: 2, begin_ms: now_ms() };
        target.expect(plan);
        let mut connection = Connection::open(target.address).unwrap();
        for path in ["/7/0", "/6/1", "/7/0", "/7/1"] {
            connection.post(&Post { path: path.to_owned(), body: String::new() }).unwrap();
        }
        let found = target.wait(plan);
        assert_eq!((found.lost, found.repeated), (0, 1));
    }
}
