//! Runs a target over inputs made from a seed, watches what each costs, and keeps what breaks.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use crate::mutate::{Dice, mutate};
use crate::target::Target;
use crate::{files, measure};

/// What one input may cost at most. Without optimisation everything takes some ten times as long as in the product,
/// where the bound is a second.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    pub processor: Duration,
    pub bytes: u64,
    /// An input that takes this long by the clock hangs.
    pub hangs_after: Duration,
}

pub const UNOPTIMISED: Limits =
    Limits { processor: Duration::from_secs(10), bytes: 64 << 20, hangs_after: Duration::from_secs(60) };

/// The result of a round over one target.
#[derive(Debug, Default)]
pub struct Round {
    pub inputs: usize,
    pub regressions: usize,
    /// The longest time on the processor that an input took.
    pub slowest: Duration,
    /// The most memory that some inputs in a row took on top of what was there.
    pub bytes_peak: u64,
    /// The inputs that broke something, stored, and how.
    pub broken: Vec<(PathBuf, String)>,
}

/// Inputs after which memory is looked at: looking at it costs more than most inputs.
const MEMORY_STRIDE: usize = 32;

/// Replays what once broke, then the seeds, then as many mutations as the target says.
pub fn round(target: &'static Target, seed: u64, limits: Limits, store: &Path) -> Round {
    std::fs::create_dir_all(store).expect("the store of inputs can be made");
    let mut driver = Driver {
        target,
        limits,
        store,
        round: Round::default(),
        watch: Watch::start(target, limits, store),
        current: Current::open(store, target),
    };
    let regressions = files::regressions(target.name).expect("the regressions can be read");
    driver.round.regressions = regressions.len();
    driver.run_all(regressions.iter().map(|(_, input)| input.clone()));
    let mut seeds = (target.seeds)();
    seeds.extend(
        files::corpus(target.name).expect("the corpus can be read").into_iter().map(|(_, input)| input),
    );
    driver.run_all(seeds.iter().cloned());
    // Each target draws its own inputs, however many the others draw.
    let own = target.name.bytes().fold(seed, |seed, byte| Dice::new(seed ^ u64::from(byte)).draw());
    let mut dice = Dice::new(own);
    driver.run_all((0..target.inputs).map(|_| mutate(&mut dice, &seeds, target.words)));
    driver.round
}

struct Driver<'a> {
    target: &'static Target,
    limits: Limits,
    store: &'a Path,
    round: Round,
    watch: Watch,
    current: Current,
}

impl Driver<'_> {
    fn run_all(&mut self, inputs: impl Iterator<Item = Vec<u8>>) {
        let mut since_look: Vec<Vec<u8>> = Vec::new();
        let mut before = begin_memory();
        for input in inputs {
            self.run_one(&input);
            since_look.push(input);
            if since_look.len() == MEMORY_STRIDE {
                self.look_at_memory(before, &since_look);
                since_look.clear();
                before = begin_memory();
            }
        }
        self.look_at_memory(before, &since_look);
    }

    fn run_one(&mut self, input: &[u8]) {
        self.round.inputs += 1;
        self.current.note(input);
        self.watch.begins(input);
        let before = measure::processor_time();
        let told = catch_unwind(AssertUnwindSafe(|| (self.target.run)(input)));
        let took = measure::processor_time().zip(before).map_or(Duration::ZERO, |(now, before)| now - before);
        self.watch.ended();
        self.round.slowest = self.round.slowest.max(took);
        if let Err(panic) = told {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("panicked");
            self.breaks(input, text.chars().take(400).collect());
        } else if took > self.limits.processor {
            self.breaks(
                input,
                format!("took {took:?} on the processor, {:?} are allowed", self.limits.processor),
            );
        }
    }

    /// If some inputs together took too much, finds the one that does so alone.
    fn look_at_memory(&mut self, before: Option<u64>, inputs: &[Vec<u8>]) {
        let Some(taken) = memory_since(before) else { return };
        self.round.bytes_peak = self.round.bytes_peak.max(taken);
        if taken <= self.limits.bytes {
            return;
        }
        for input in inputs {
            let before = begin_memory();
            // It has been judged already; only its memory counts here.
            let _ = catch_unwind(AssertUnwindSafe(|| (self.target.run)(input)));
            if let Some(taken) = memory_since(before).filter(|taken| *taken > self.limits.bytes) {
                self.breaks(
                    input,
                    format!("took {} MiB of memory, {} are allowed", taken >> 20, self.limits.bytes >> 20),
                );
            }
        }
    }

    fn breaks(&mut self, input: &[u8], how: String) {
        let path = keep(self.store, self.target.name, input);
        self.round.broken.push((path, how));
    }
}

fn begin_memory() -> Option<u64> {
    measure::forget_peak().then(measure::memory).flatten().map(|memory| memory.now)
}

fn memory_since(before: Option<u64>) -> Option<u64> {
    Some(measure::memory()?.peak.saturating_sub(before?))
}

/// Stores an input that broke something, under a name of its content.
pub fn keep(store: &Path, target: &str, input: &[u8]) -> PathBuf {
    let sum = input.iter().fold(0, |sum, byte| Dice::new(sum ^ u64::from(*byte)).draw());
    let directory = store.join(target);
    let path = directory.join(format!("broken-{sum:016x}"));
    std::fs::create_dir_all(&directory).expect("the store of inputs can be made");
    std::fs::write(&path, input).expect("an input can be stored");
    path
}

/// The input that is being run, in a file: a stack that overflows and a task that panics take the process with them,
/// and then this is what is left.
struct Current(File);

impl Current {
    fn open(store: &Path, target: &Target) -> Current {
        let path = store.join(format!("{}.current", target.name));
        Current(File::create(path).expect("the file of the current input can be made"))
    }

    fn note(&self, input: &[u8]) {
        let written = self.0.write_all_at(input, 0).and_then(|()| self.0.set_len(input.len() as u64));
        written.expect("an input can be stored");
    }
}

/// Ends the process when an input hangs: a thread cannot be ended.
struct Watch {
    tell: Sender<Option<Vec<u8>>>,
}

impl Watch {
    fn start(target: &'static Target, limits: Limits, store: &Path) -> Watch {
        let (tell, told) = channel();
        let store = store.to_owned();
        thread::spawn(move || watch(&told, target, limits, &store));
        Watch { tell }
    }

    fn begins(&self, input: &[u8]) {
        self.tell.send(Some(input.to_vec())).expect("the watch listens until it is dropped");
    }

    fn ended(&self) {
        self.tell.send(None).expect("the watch listens until it is dropped");
    }
}

fn watch(told: &Receiver<Option<Vec<u8>>>, target: &Target, limits: Limits, store: &Path) {
    while let Ok(began) = told.recv() {
        let Some(input) = began else { continue };
        let since = Instant::now();
        match told.recv_timeout(limits.hangs_after) {
            Err(RecvTimeoutError::Timeout) => {
                let path = keep(store, target.name, &input);
                eprintln!("{}: an input hangs for {:?}: {}", target.name, since.elapsed(), path.display());
                std::process::exit(1);
            }
            Ok(_) | Err(RecvTimeoutError::Disconnected) => {}
        }
    }
}
