//! The machine that all were measured on, and whether it had other work.

use std::fs;

use serde_json::{Value, json};

/// More work than this, before anything was started, spoils the figures.
const LOAD_MAX: f64 = 0.5;

#[derive(Debug, Default)]
pub struct Machine {
    /// The load average of the minute before.
    load: f64,
    /// What `sortie bench` says about it, where it was asked.
    described: Value,
}

impl Machine {
    pub fn look() -> Machine {
        let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
        let load = text.split(' ').next().and_then(|word| word.parse().ok()).unwrap_or(0.0);
        Machine { load, described: Value::Null }
    }

    /// Takes what `sortie bench` says.
    pub fn describe(&mut self, described: Value) {
        self.described = described;
    }

    pub fn text(&self) -> String {
        let mut text = String::new();
        if let Some(processor) = self.described["processor"].as_str() {
            let of = |name: &str| self.described[name].as_u64().unwrap_or(0);
            let word = |name: &str| self.described[name].as_str().unwrap_or("?").to_owned();
            text = format!(
                "Machine: {} x {processor}, {} GiB, {}, {}, sync p50 {} µs, p99 {} µs.\n",
                of("processors"),
                of("memory_bytes") >> 30,
                word("kernel"),
                word("file_system"),
                of("sync_p50_us"),
                of("sync_p99_us"),
            );
        }
        if self.load > LOAD_MAX {
            let load = self.load;
            text.push_str(&format!(
                "The machine was busy (load {load} at the start): these figures are not to be used.\n"
            ));
        }
        text
    }

    pub fn to_json(&self) -> Value {
        json!({ "load_at_start": self.load, "described": self.described })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_busy_machine_is_said_to_be_one() {
        let quiet = Machine { load: 0.1, described: Value::Null };
        assert_eq!(quiet.text(), "");
        let busy = Machine { load: 7.5, described: Value::Null };
        assert!(busy.text().contains("busy (load 7.5"), "{}", busy.text());
    }
}
