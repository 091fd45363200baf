//! How fast a cluster is when nothing but the journal takes time: the shipped engine at a steady pace, in simulated time.
//! It holds the sums of docs/operating/scale.md against the code, however slow this machine is.

use super::coverage::Situation;
use super::figures::{Figures, Throughput};
use super::plan::{NetworkFaults, Operation, Plan, Timed, WALL_MS};
use super::simulator::Clusters;
use crate::plan::ServiceFaults;
use crate::simulator::{Report, Simulator};

/// By then every partition has an owner.
const FIRST_MS: u64 = 15_000;

/// How long requests come, in ms.
const LENGTH_MS: u64 = 4_000;

/// How much longer than the requests the work may take before it counts as fallen behind, in ms.
const LAG_MS_MAX: u64 = 2_000;

/// A run has five frames. Each takes an append, and before that, on a busy partition, half of the one that is under way.
const FRAMES: f64 = 5.0;
const WAITS: f64 = 0.5;

/// Its request takes an append to the inbox, and as long again to be read from there.
const ENTERS: f64 = 2.0;

/// Its calls go in four rounds, each of three ways of a millisecond.
const CALLS_MS: f64 = 12.0;

/// How much more than the sum a run may take.
const MORE: f64 = 1.15;

/// Partitions, the time of an append in ms, and requests a second.
const CASES: [Case; 5] = [
    Case { partitions: 1, append_ms: 2, rate: 1 },
    Case { partitions: 1, append_ms: 2, rate: 200 },
    Case { partitions: 1, append_ms: 8, rate: 200 },
    Case { partitions: 1, append_ms: 8, rate: 800 },
    Case { partitions: 8, append_ms: 8, rate: 800 },
];

#[derive(Debug, Clone, Copy)]
struct Case {
    partitions: u16,
    append_ms: u64,
    rate: u64,
}

/// Measures every case and prints it. True when each keeps to the sums.
pub fn measure() -> anyhow::Result<bool> {
    let simulator = Clusters::new()?;
    println!(
        "partitions  append ms  runs/s  frames/s each  at most  events a frame  events a run  ms a run  at most  kept up"
    );
    let mut well = true;
    for case in CASES {
        let report = simulator.simulate(&case.plan(), false)?;
        well &= case.print(&report);
    }
    Ok(well)
}

impl Case {
    fn requests(&self) -> u64 {
        self.rate * LENGTH_MS / 1000
    }

    /// No faults: requests of the first workflow at an even pace. Services answer within milliseconds.
    fn plan(&self) -> Plan {
        let operation = |n: u64| Timed {
            at: FIRST_MS + n * 1000 / self.rate,
            operation: Operation::Request { n: n as u32, workflow: 0 },
        };
        Plan {
            seed: 1,
            partitions: self.partitions,
            instances: 3,
            paired: 0,
            snapshot_after_bytes: 64 << 20,
            uneven_mirrors: false,
            network_faults: NetworkFaults {
                latency_ms: self.append_ms,
                register_lag_ms: 50,
                mirror_ms: 5,
                ..NetworkFaults::default()
            },
            service_faults: ServiceFaults::default(),
            wall_ms: WALL_MS,
            operations: (0..self.requests()).map(operation).collect(),
        }
    }

    fn print(&self, report: &Report<Figures, Situation>) -> bool {
        let Throughput { frames, events, ended, took_ms, last } = report.figures.throughput;
        let worked_ms = (last.0 - WALL_MS) as u64 - FIRST_MS;
        let each = frames as f64 * 1000.0 / worked_ms as f64 / f64::from(self.partitions);
        let append_ms = self.append_ms as f64;
        let most = 1000.0 / append_ms;
        let run_ms = took_ms as f64 / ended as f64;
        let run_most_ms = (ENTERS + FRAMES * (1.0 + WAITS)) * append_ms + CALLS_MS;
        let kept_up = worked_ms < LENGTH_MS + LAG_MS_MAX && ended == self.requests();
        println!(
            "{:>10}  {:>9}  {:>6}  {each:>13.0}  {most:>7.0}  {:>14.1}  {:>12.1}  {run_ms:>8.1}  {run_most_ms:>7.0}  {kept_up}",
            self.partitions,
            self.append_ms,
            self.rate,
            events as f64 / frames as f64,
            events as f64 / ended as f64,
        );
        for violation in &report.violations {
            println!("FAIL {}: {}", violation.id, violation.what);
        }
        // One frame at a time: more cannot be, but for what is drawn shorter than it should be on average.
        let keeps_to_sums = each < most * MORE && run_ms < run_most_ms * MORE;
        kept_up && keeps_to_sums && report.violations.is_empty()
    }
}
