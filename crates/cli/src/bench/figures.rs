//! What a bench came to, for people and for machines.

use serde::Serialize;

use super::subject::Sync;
use crate::machine::{self, Memory};
use crate::screen::{self, Screen};
use crate::table::{Cell, Column, Table};

/// One measured side: Sortie, or the bare loop beside it.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Side {
    pub throughput: f64,
    pub p50_ms: f64,
    pub p99_ms: f64,
    pub p999_ms: f64,
}

/// The figures of a bench. The names are a contract: scripts read them.
#[derive(Debug, Serialize)]
pub struct Figures {
    pub bench: &'static str,
    #[serde(flatten)]
    pub sortie: Side,
    /// The throughput of the bare loop, in the same run.
    pub limit: f64,
    pub ratio_to_limit: f64,
    /// How an acknowledgement is made durable.
    pub sync: &'static str,
    /// The bare loop in full.
    pub bare: Side,
    #[serde(flatten)]
    pub setting: Setting,
    pub machine: Machine,
}

/// How it was measured.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum Setting {
    Ingest {
        rate: Option<u32>,
        batch: Option<u32>,
        connections: u32,
        seconds: u32,
        request_bytes: usize,
        refused: u64,
        failed: u64,
    },
    Workflow {
        runs: u32,
        completed: u32,
        concurrency: u32,
        seconds: f64,
    },
    Schedule {
        jobs: u32,
        rate: u32,
        seconds: u32,
        /// Jobs that were due in these seconds.
        due: u32,
        lost: u64,
        repeated: u64,
        /// Calls that came before their time.
        early: u64,
        max_ms: f64,
        /// What the server says itself, as bounds of a histogram.
        server_p50_ms: Option<f64>,
        server_p99_ms: Option<f64>,
        server_max_ms: Option<f64>,
        load_seconds: f64,
        memory_empty_bytes: u64,
        memory_loaded_bytes: u64,
        memory_after_bytes: u64,
        memory_per_job_bytes: u64,
        /// From a kill to the first answer.
        restart_seconds: f64,
        memory_restarted_bytes: u64,
    },
}

/// What it was measured on.
#[derive(Debug, Serialize)]
pub struct Machine {
    processors: usize,
    processor: String,
    memory_bytes: u64,
    kernel: String,
    file_system: String,
    sync_p50_us: u128,
    sync_p99_us: u128,
}

impl Machine {
    fn of(sync: &Sync) -> Machine {
        Machine {
            processors: machine::processors(),
            processor: machine::processor(),
            memory_bytes: Memory::read().map_or(0, |memory| memory.total),
            kernel: machine::kernel(),
            file_system: sync.file_system.clone(),
            sync_p50_us: sync.latency.p50.as_micros(),
            sync_p99_us: sync.latency.p99.as_micros(),
        }
    }
}

impl Figures {
    pub fn new(bench: &'static str, sortie: Side, bare: Side, sync: &Sync, setting: Setting) -> Figures {
        let limit = bare.throughput;
        let ratio_to_limit = if limit > 0.0 { sortie.throughput / limit } else { 0.0 };
        let machine = Machine::of(sync);
        Figures { bench, sortie, limit, ratio_to_limit, sync: sync.mode, bare, setting, machine }
    }

    pub fn show(&self, json: bool) -> anyhow::Result<()> {
        let text = if json { serde_json::to_string(self)? + "\n" } else { self.render(&Screen::of_stdout()) };
        Ok(screen::print(&text)?)
    }

    fn render(&self, screen: &Screen) -> String {
        let mut columns = vec![Column::whole("")];
        columns.extend(["THROUGHPUT", "P50", "P99", "P99.9"].map(Column::number));
        let mut table = Table::new(columns).indented(2);
        let (unit, bare) = match self.setting {
            Setting::Ingest { .. } => ("requests/s", "bare hyper server"),
            Setting::Workflow { .. } => ("runs/s", "bare client loop"),
            Setting::Schedule { .. } => ("firings/s", "bare timers"),
        };
        for (name, side) in [("sortie", &self.sortie), (bare, &self.bare)] {
            table.row([
                Cell::new(name),
                Cell::new(format!("{} {unit}", thousands(side.throughput))),
                Cell::new(format!("{:.2} ms", side.p50_ms)),
                Cell::new(format!("{:.2} ms", side.p99_ms)),
                Cell::new(format!("{:.2} ms", side.p999_ms)),
            ]);
        }
        let Machine { processors, processor, memory_bytes, kernel, file_system, .. } = &self.machine;
        let memory = machine::bytes(*memory_bytes);
        format!(
            "{}\n\n{}\n{}  ratio    {:.2} of the bare loop\n  sync     {} on {file_system}, p50 {} µs, p99 {} µs\n  machine  {processors} x {processor}, {memory}, {kernel}\n",
            self.setting.describe(),
            table.render(screen),
            self.setting.further(),
            self.ratio_to_limit,
            self.sync,
            self.machine.sync_p50_us,
            self.machine.sync_p99_us,
        )
    }
}

impl Setting {
    fn describe(&self) -> String {
        match self {
            Setting::Ingest { rate, batch, connections, seconds, request_bytes, refused, failed } => {
                let pace = match rate {
                    Some(rate) => format!(
                        "{} requests/s, latency from the time each was due",
                        thousands(f64::from(*rate))
                    ),
                    None => "closed loop".to_owned(),
                };
                let pace = match batch {
                    Some(batch) => format!("{pace}, batches of {batch}"),
                    None => pace,
                };
                let trouble = if refused + failed > 0 {
                    format!("; {refused} refused, {failed} failed")
                } else {
                    String::new()
                };
                format!(
                    "Ingest: {pace}, {connections} connections, {request_bytes} bytes each, {seconds} s{trouble}"
                )
            }
            Setting::Workflow { runs, completed, concurrency, seconds } => {
                let runs = thousands(f64::from(*runs));
                let completed = thousands(f64::from(*completed));
                format!(
                    "Workflow: {runs} deliveries of five calls, {completed} completed in {seconds:.1} s; bare loop with {concurrency} at once"
                )
            }
            Setting::Schedule { jobs, rate, seconds, lost, repeated, early, .. } => {
                let (jobs, rate) = (thousands(f64::from(*jobs)), thousands(f64::from(*rate)));
                format!(
                    "Schedule: {jobs} jobs, {rate} due each second for {seconds} s; {lost} lost, {repeated} twice, {early} early"
                )
            }
        }
    }

    /// What is measured beside the calls.
    fn further(&self) -> String {
        let Setting::Schedule {
            jobs,
            max_ms,
            server_p50_ms,
            server_p99_ms,
            server_max_ms,
            load_seconds,
            memory_empty_bytes,
            memory_loaded_bytes,
            memory_after_bytes,
            memory_per_job_bytes,
            restart_seconds,
            memory_restarted_bytes,
            ..
        } = self
        else {
            return String::new();
        };
        let ms = |bound: &Option<f64>| bound.map_or("no bound".to_owned(), |bound| format!("{bound:.0} ms"));
        let [p50, p99, max] = [server_p50_ms, server_p99_ms, server_max_ms].map(ms);
        let bytes = [memory_empty_bytes, memory_loaded_bytes, memory_after_bytes, memory_restarted_bytes];
        let [empty, loaded, after, restarted] = bytes.map(|count| machine::bytes(*count));
        let pace = thousands(f64::from(*jobs) / load_seconds);
        format!(
            "  latest   {max_ms:.2} ms at the target; the server began 50 % within {p50}, 99 % within {p99}, all within {max}
  load     {load_seconds:.1} s, {pace} jobs/s
  memory   {empty} empty, {loaded} loaded ({memory_per_job_bytes} bytes a job), {after} after firing
  restart  {restart_seconds:.2} s after a kill, {restarted}
"
        )
    }
}

/// `12,345`
fn thousands(number: f64) -> String {
    let digits = format!("{number:.0}");
    let mut out = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use expect_test::expect;

    use super::*;
    use crate::machine::SyncLatency;

    fn figures() -> Figures {
        let setting = Setting::Ingest {
            rate: None,
            batch: None,
            connections: 64,
            seconds: 10,
            request_bytes: 300,
            refused: 2,
            failed: 0,
        };
        figures_of("ingest", setting)
    }

    fn figures_of(bench: &'static str, setting: Setting) -> Figures {
        let latency = SyncLatency { p50: Duration::from_micros(310), p99: Duration::from_micros(900) };
        let sync = Sync { mode: "fdatasync", file_system: "ext4".to_owned(), latency };
        let side = |throughput| Side { throughput, p50_ms: 1.0, p99_ms: 12.345, p999_ms: 20.0 };
        let mut figures = Figures::new(bench, side(52_000.4), side(65_000.0), &sync, setting);
        figures.machine = Machine {
            processors: 2,
            processor: "Some CPU".to_owned(),
            memory_bytes: 8 << 30,
            kernel: "Linux 6.1".to_owned(),
            ..figures.machine
        };
        figures
    }

    #[test]
    fn figures_stand_beside_the_bare_loop() {
        expect![[r#"
            Ingest: closed loop, 64 connections, 300 bytes each, 10 s; 2 refused, 0 failed

                                        THROUGHPUT      P50       P99     P99.9
              sortie             52,000 requests/s  1.00 ms  12.35 ms  20.00 ms
              bare hyper server  65,000 requests/s  1.00 ms  12.35 ms  20.00 ms

              ratio    0.80 of the bare loop
              sync     fdatasync on ext4, p50 310 µs, p99 900 µs
              machine  2 x Some CPU, 8.0 GiB, Linux 6.1
        "#]]
        .assert_eq(&figures().render(&Screen { colour: false, width: Some(100) }));
    }

    #[test]
    fn jobs_on_time_have_further_figures() {
        let setting = Setting::Schedule {
            jobs: 1_000_000,
            rate: 10_000,
            seconds: 20,
            due: 200_000,
            lost: 0,
            repeated: 1,
            early: 0,
            max_ms: 61.25,
            server_p50_ms: Some(2.0),
            server_p99_ms: Some(32.0),
            server_max_ms: None,
            load_seconds: 50.0,
            memory_empty_bytes: 36 << 20,
            memory_loaded_bytes: 500 << 20,
            memory_after_bytes: 600 << 20,
            memory_per_job_bytes: 486,
            restart_seconds: 1.5,
            memory_restarted_bytes: 200 << 20,
        };
        let figures = figures_of("schedule", setting);
        expect![[r#"
            Schedule: 1,000,000 jobs, 10,000 due each second for 20 s; 0 lost, 1 twice, 0 early

                                 THROUGHPUT      P50       P99     P99.9
              sortie       52,000 firings/s  1.00 ms  12.35 ms  20.00 ms
              bare timers  65,000 firings/s  1.00 ms  12.35 ms  20.00 ms

              latest   61.25 ms at the target; the server began 50 % within 2 ms, 99 % within 32 ms, all within no bound
              load     50.0 s, 20,000 jobs/s
              memory   36.0 MiB empty, 500.0 MiB loaded (486 bytes a job), 600.0 MiB after firing
              restart  1.50 s after a kill, 200.0 MiB
              ratio    0.80 of the bare loop
              sync     fdatasync on ext4, p50 310 µs, p99 900 µs
              machine  2 x Some CPU, 8.0 GiB, Linux 6.1
        "#]].assert_eq(&figures.render(&Screen { colour: false, width: Some(100) }));
    }

    #[test]
    fn the_fields_that_scripts_read_are_there() {
        expect![[r#"
            {
              "bench": "ingest",
              "throughput": 52000.4,
              "p50_ms": 1.0,
              "p99_ms": 12.345,
              "p999_ms": 20.0,
              "limit": 65000.0,
              "ratio_to_limit": 0.8000061538461539,
              "sync": "fdatasync",
              "bare": {
                "throughput": 65000.0,
                "p50_ms": 1.0,
                "p99_ms": 12.345,
                "p999_ms": 20.0
              },
              "rate": null,
              "batch": null,
              "connections": 64,
              "seconds": 10,
              "request_bytes": 300,
              "refused": 2,
              "failed": 0,
              "machine": {
                "processors": 2,
                "processor": "Some CPU",
                "memory_bytes": 8589934592,
                "kernel": "Linux 6.1",
                "file_system": "ext4",
                "sync_p50_us": 310,
                "sync_p99_us": 900
              }
            }"#]]
        .assert_eq(&serde_json::to_string_pretty(&figures()).unwrap());
    }
}
