//! The figures of a bench, for people and for machines.

use serde::Serialize;
use terminal::machine::{self, MachineMemory};
use terminal::screen::{self, Screen};

use super::comparison::Comparison;
use super::subject::Sync;

/// How something was measured, and what came out beside throughput and latency.
pub trait Setting: Serialize {
    /// The name of the bench.
    const BENCH: &'static str;

    /// One line for people: what was done.
    fn describe(&self) -> String;

    /// Further lines, each with a short name.
    fn further(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }
}

/// The figures of a bench. The names are a contract: scripts read them.
#[derive(Debug, Serialize)]
pub struct Figures<S> {
    bench: &'static str,
    #[serde(flatten)]
    comparison: Option<Comparison>,
    /// How an acknowledgement is made durable.
    sync: &'static str,
    #[serde(flatten)]
    setting: S,
    machine: Machine,
    /// What was measured.
    version: &'static str,
    commit: &'static str,
}

/// What it was measured on.
#[derive(Debug, Serialize)]
struct Machine {
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
            memory_bytes: MachineMemory::read().map_or(0, |memory| memory.total),
            kernel: machine::kernel(),
            file_system: sync.file_system.clone(),
            sync_p50_us: sync.latency.p50.as_micros(),
            sync_p99_us: sync.latency.p99.as_micros(),
        }
    }
}

impl<S: Setting> Figures<S> {
    pub fn new(comparison: Option<Comparison>, sync: &Sync, setting: S) -> Figures<S> {
        Figures {
            bench: S::BENCH,
            comparison,
            sync: sync.mode,
            setting,
            machine: Machine::of(sync),
            version: env!("CARGO_PKG_VERSION"),
            commit: env!("SORTIE_COMMIT"),
        }
    }

    pub fn show(&self, json: bool) -> anyhow::Result<()> {
        let text = if json { serde_json::to_string(self)? + "\n" } else { self.render(&Screen::of_stdout()) };
        Ok(screen::print(&text)?)
    }

    fn render(&self, screen: &Screen) -> String {
        let mut text = format!("{}\n\n", self.setting.describe());
        let mut lines = self.setting.further();
        if let Some(comparison) = &self.comparison {
            text += &format!("{}\n", comparison.render(screen));
            lines.push(("ratio", comparison.describe_ratio()));
        }
        let Machine { processors, processor, kernel, file_system, .. } = &self.machine;
        let (p50, p99) = (self.machine.sync_p50_us, self.machine.sync_p99_us);
        lines.push(("sync", format!("{} on {file_system}, p50 {p50} µs, p99 {p99} µs", self.sync)));
        let memory = machine::bytes(self.machine.memory_bytes);
        lines.push(("machine", format!("{processors} x {processor}, {memory}, {kernel}")));
        lines.push(("build", format!("sortie {}, commit {}", self.version, self.commit)));
        for (name, line) in lines {
            text += &format!("  {name:<8} {line}\n");
        }
        text
    }
}

/// `12,345`
pub fn thousands(number: f64) -> String {
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

/// `12,345` of something that is counted.
pub fn count(number: impl Into<u64>) -> String {
    thousands(number.into() as f64)
}

#[cfg(test)]
pub mod tests {
    use std::time::Duration;

    use expect_test::expect;

    use super::super::comparison::Side;
    use super::*;
    use terminal::machine::SyncLatency;

    #[derive(Serialize)]
    struct Test {
        seconds: u32,
    }

    impl Setting for Test {
        const BENCH: &'static str = "test";

        fn describe(&self) -> String {
            format!("Test: {} s", self.seconds)
        }

        fn further(&self) -> Vec<(&'static str, String)> {
            vec![("more", "to say".to_owned())]
        }
    }

    /// Figures as people see them, on a machine that is always the same.
    pub fn rendered<S: Setting>(setting: S) -> String {
        figures(setting).render(&Screen { colour: false, width: Some(100) })
    }

    fn figures<S: Setting>(setting: S) -> Figures<S> {
        let latency = SyncLatency { p50: Duration::from_micros(310), p99: Duration::from_micros(900) };
        let sync = Sync { mode: "fdatasync", file_system: "ext4".to_owned(), latency };
        let side = |throughput| Side { throughput, p50_ms: 1.0, p99_ms: 12.345, p999_ms: 20.0 };
        let pairs = vec![(side(52_000.4), side(65_000.0))];
        let mut figures =
            Figures::new(Some(Comparison::new("requests/s", "bare loop", pairs)), &sync, setting);
        (figures.version, figures.commit) = ("1.2.3", "0123456789ab");
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
            Test: 10 s

                                THROUGHPUT      P50       P99     P99.9
              sortie     52,000 requests/s  1.00 ms  12.35 ms  20.00 ms
              bare loop  65,000 requests/s  1.00 ms  12.35 ms  20.00 ms

              more     to say
              ratio    0.80 of the bare loop
              sync     fdatasync on ext4, p50 310 µs, p99 900 µs
              machine  2 x Some CPU, 8.0 GiB, Linux 6.1
              build    sortie 1.2.3, commit 0123456789ab
        "#]]
        .assert_eq(&rendered(Test { seconds: 10 }));
    }

    #[test]
    fn the_fields_that_scripts_read_are_there() {
        expect![[r#"
            {
              "bench": "test",
              "throughput": 52000.4,
              "p50_ms": 1.0,
              "p99_ms": 12.345,
              "p999_ms": 20.0,
              "limit": 65000.0,
              "ratio_to_limit": 0.8000061538461539,
              "bare": {
                "throughput": 65000.0,
                "p50_ms": 1.0,
                "p99_ms": 12.345,
                "p999_ms": 20.0
              },
              "repeats": 1,
              "sync": "fdatasync",
              "seconds": 10,
              "machine": {
                "processors": 2,
                "processor": "Some CPU",
                "memory_bytes": 8589934592,
                "kernel": "Linux 6.1",
                "file_system": "ext4",
                "sync_p50_us": 310,
                "sync_p99_us": 900
              },
              "version": "1.2.3",
              "commit": "0123456789ab"
            }"#]]
        .assert_eq(&serde_json::to_string_pretty(&figures(Test { seconds: 10 })).unwrap());
    }

    #[test]
    fn without_a_comparison_there_is_none() {
        let figures = Figures { comparison: None, ..figures(Test { seconds: 10 }) };
        let value = serde_json::to_value(&figures).unwrap();
        assert!(value.get("throughput").is_none() && value["seconds"] == 10, "{value}");
        assert!(!figures.render(&Screen { colour: false, width: Some(100) }).contains("ratio"));
    }
}
