//! Measures one running peer: finds what suits it, and repeats.

use std::time::{Duration, Instant};

use anyhow::{Context, ensure};

use super::figures::Figures;
use super::target::{Plan, Punctuality, Target, now_ms};
use super::{Driver, Peer, Work};

/// Calls due per second that every peer is asked for.
const RATE_LOW: u32 = 100;
/// Those that are tried after it, in this order, until one is not held.
const RATES_UP: [u32; 5] = [500, 1000, 2000, 5000, 10_000];
/// Those that are tried when not even that one is held, until one is.
const RATES_DOWN: [u32; 3] = [50, 20, 10];
/// A round in which less work ends than this says nothing; it is made again, three times as long, up to this length.
const ENDED_MIN: usize = 20;
const SECONDS_MAX: u32 = 15;
/// Connections that wait for their answers in the ingest of all.
pub const INGEST_AT_ONCE: u32 = 64;

/// How long and how often.
#[derive(Debug, Clone, Copy)]
pub struct Pace {
    pub seconds: u32,
    pub probe_seconds: u32,
    pub repeats: u32,
    rates_up: &'static [u32],
}

impl Pace {
    pub const FULL: Pace = Pace { seconds: 5, probe_seconds: 2, repeats: 3, rates_up: &RATES_UP };
    pub const SHORT: Pace = Pace { seconds: 1, probe_seconds: 1, repeats: 1, rates_up: &[] };
}

/// Rounds of one work at the load that suited best.
#[derive(Debug, Clone)]
pub struct Closed {
    pub at_once: u32,
    pub rounds: Vec<Figures>,
}

/// Rounds of timed calls.
#[derive(Debug, Clone)]
pub struct Timed {
    /// At the same rate for all peers, held or not.
    pub low: Punctuality,
    /// At the highest rate that was held.
    pub high: Vec<Punctuality>,
}

impl Timed {
    pub fn median(&self) -> Figures {
        Figures::median(&self.high.iter().map(|found| found.figures).collect::<Vec<_>>())
    }
}

impl Closed {
    pub fn median(&self) -> Figures {
        Figures::median(&self.rounds)
    }
}

/// Warms up, tries each load for a moment, then repeats the best.
pub fn workflows(peer: &Peer, loads: &[u32], driver: &mut dyn Driver, pace: Pace) -> anyhow::Result<Closed> {
    let &first = loads.first().context("there is a load to try")?;
    driver.closed(Work::Workflow, first, pace.probe_seconds)?;
    let mut best = (0, 0.0);
    for &at_once in loads {
        let probe = round(driver, Work::Workflow, at_once, pace.probe_seconds)?;
        say(peer, &format!("workflow, {at_once} at once: {}", describe(probe)));
        if probe.throughput > best.1 {
            best = (at_once, probe.throughput);
        }
    }
    ensure!(best.0 > 0, "no workflow ended");
    repeat(peer, Work::Workflow, best.0, driver, pace)
}

pub fn ingest(peer: &Peer, at_once: u32, driver: &mut dyn Driver, pace: Pace) -> anyhow::Result<Closed> {
    driver.closed(Work::Ingest, at_once, pace.probe_seconds)?;
    repeat(peer, Work::Ingest, at_once, driver, pace)
}

fn repeat(
    peer: &Peer,
    work: Work,
    at_once: u32,
    driver: &mut dyn Driver,
    pace: Pace,
) -> anyhow::Result<Closed> {
    let mut rounds = Vec::new();
    for _ in 0..pace.repeats {
        let figures = round(driver, work, at_once, pace.seconds)?;
        say(peer, &format!("{}, {at_once} at once: {}", work.name(), describe(figures)));
        rounds.push(figures);
    }
    Ok(Closed { at_once, rounds })
}

/// A round that is long enough for some work to end in it.
fn round(driver: &mut dyn Driver, work: Work, at_once: u32, seconds: u32) -> anyhow::Result<Figures> {
    let mut seconds = seconds;
    loop {
        let round = driver.closed(work, at_once, seconds)?;
        if round.latencies_ms.len() >= ENDED_MIN || seconds >= SECONDS_MAX {
            return Ok(round.figures());
        }
        seconds *= 3;
    }
}

/// Calls at rising rates.
pub fn timed(peer: &Peer, driver: &mut dyn Driver, target: &Target, pace: Pace) -> anyhow::Result<Timed> {
    let mut clock = Clock { driver, target, round: 0, load_seconds_each: 0.02 };
    clock.fire(50, 1).context("warming up")?;
    climb(peer, pace, |rate| clock.fire(rate, pace.seconds))
}

/// Climbs the rates until one is not held, or down until one is; then repeats the highest that was.
pub fn climb(
    peer: &Peer,
    pace: Pace,
    mut fire: impl FnMut(u32) -> anyhow::Result<Punctuality>,
) -> anyhow::Result<Timed> {
    let mut fire = |rate| {
        let found = fire(rate)?;
        say_punctuality(peer, &found);
        anyhow::Ok(found)
    };
    let low = fire(RATE_LOW)?;
    let mut highest = low.held().then_some(low);
    let others: &[u32] = if low.held() { pace.rates_up } else { &RATES_DOWN };
    for &rate in others {
        let found = fire(rate)?;
        if found.held() {
            highest = Some(found);
        }
        // Upwards the first that is not held ends it, downwards the first that is.
        if found.held() != low.held() {
            break;
        }
    }
    let highest = highest.context("no rate was held")?;
    let mut high = vec![highest];
    while high.len() < pace.repeats as usize {
        high.push(fire(highest.rate)?);
    }
    Ok(Timed { low, high })
}

struct Clock<'a> {
    driver: &'a mut dyn Driver,
    target: &'a Target,
    round: u32,
    load_seconds_each: f64,
}

impl Clock<'_> {
    /// Loads calls and waits for them. The first is due when all are loaded; where that was guessed wrong, again.
    fn fire(&mut self, rate: u32, seconds: u32) -> anyhow::Result<Punctuality> {
        let calls = rate * seconds;
        for _ in 0..3 {
            self.round += 1;
            let load_seconds = 1.5 + f64::from(calls) * self.load_seconds_each * 1.3;
            let plan = Plan { round: self.round, rate, calls, begin_ms: now_ms() + load_seconds * 1000.0 };
            self.target.expect(plan);
            let begun = Instant::now();
            self.driver.schedule(plan)?;
            let loaded = begun.elapsed();
            self.load_seconds_each = loaded.as_secs_f64() / f64::from(calls);
            let found = self.target.wait(plan);
            if loaded < Duration::from_secs_f64(load_seconds) {
                return Ok(found);
            }
        }
        anyhow::bail!("calls are due before they are loaded, however long is waited")
    }
}

pub fn say(peer: &Peer, what: &str) {
    println!("{}: {what}", peer.name);
}

fn say_punctuality(peer: &Peer, found: &Punctuality) {
    let held = if found.held() { "held" } else { "not held" };
    let Punctuality { rate, figures, lost, repeated, early } = found;
    let trouble = format!("{lost} lost, {repeated} twice, {early} early");
    say(peer, &format!("timed, {rate}/s due: {}; {trouble}; {held}", describe(*figures)));
}

pub fn describe(figures: Figures) -> String {
    let Figures { throughput, p50_ms, p99_ms } = figures;
    format!("{throughput:.0}/s, p50 {p50_ms:.1} ms, p99 {p99_ms:.1} ms")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peers::restate::PEER;

    /// A peer that holds rates up to `held_max`.
    fn climb_to(held_max: u32) -> anyhow::Result<(u32, usize, Vec<u32>)> {
        let mut tried = Vec::new();
        let fire = |rate| {
            tried.push(rate);
            let p99_ms = if rate > held_max { 5_000.0 } else { 5.0 };
            let figures = Figures { throughput: f64::from(rate), p50_ms: 1.0, p99_ms };
            Ok(Punctuality { rate, figures, lost: 0, repeated: 0, early: 0 })
        };
        let timed = climb(&PEER, Pace::FULL, fire)?;
        Ok((timed.high[0].rate, timed.high.len(), tried))
    }

    #[test]
    fn the_highest_rate_that_is_held_is_repeated() {
        assert_eq!(climb_to(1000).unwrap(), (1000, 3, vec![100, 500, 1000, 2000, 1000, 1000]));
        assert_eq!(climb_to(20_000).unwrap().0, 10_000);
    }

    #[test]
    fn a_slow_peer_is_asked_for_less() {
        assert_eq!(climb_to(20).unwrap(), (20, 3, vec![100, 50, 20, 20, 20]));
        assert!(climb_to(1).is_err());
    }
}
