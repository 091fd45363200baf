//! Scripts that do a peer's work: they say when they are ready, take a command per line, and answer with a line.

use std::process::Command;

use anyhow::{Context, ensure};
use serde_json::{Value, json};

use super::figures::Round;
use super::install::Place;
use super::process::Process;
use super::target::Plan;
use super::{Driver, RAMP_SECONDS, Work};

/// Processes that share the work evenly, and whatever must live as long as they do.
pub struct Workers {
    // Dropped in this order: workers end before the servers that they use.
    workers: Vec<Process>,
    _servers: Vec<Process>,
    rounds: u32,
}

impl Workers {
    pub fn start(
        name: &str,
        commands: Vec<Command>,
        servers: Vec<Process>,
        place: &Place,
    ) -> anyhow::Result<Workers> {
        let mut workers = Vec::new();
        // One after the other: the first may have tables to make.
        for (number, command) in commands.into_iter().enumerate() {
            let mut worker = Process::worker(&format!("{name}-worker-{number}"), command, &place.data)?;
            let line = worker.line()?;
            ensure!(line == "ready", "a worker of {name} said {line:?}");
            workers.push(worker);
        }
        Ok(Workers { workers, _servers: servers, rounds: 0 })
    }

    /// Sends to all of them before it reads from any.
    fn ask(&mut self, command: &Value) -> anyhow::Result<Vec<Value>> {
        let workers = self.workers.len();
        for (number, worker) in self.workers.iter_mut().enumerate() {
            let mut command = command.clone();
            command["worker"] = json!(number);
            command["workers"] = json!(workers);
            worker.send_line(&command.to_string())?;
        }
        let mut answers = Vec::new();
        for worker in &mut self.workers {
            let line = worker.line()?;
            let answer: Value =
                serde_json::from_str(&line).with_context(|| format!("reading the answer {line:?}"))?;
            ensure!(answer["error"].is_null(), "a worker failed: {}", answer["error"]);
            answers.push(answer);
        }
        Ok(answers)
    }
}

impl Driver for Workers {
    fn closed(&mut self, work: Work, at_once: u32, seconds: u32) -> anyhow::Result<Round> {
        self.rounds += 1;
        let each = at_once / u32::try_from(self.workers.len())?;
        let name = format!("r{}", self.rounds);
        let answers = self.ask(&json!({
            "work": work.name(),
            "name": name,
            "at_once": each,
            "ramp_seconds": RAMP_SECONDS,
            "seconds": seconds,
        }))?;
        let mut round = Round { seconds: f64::from(seconds), latencies_ms: Vec::new() };
        for answer in &answers {
            let latencies = answer["latencies_ms"].as_array().context("an answer has latencies")?;
            round.latencies_ms.extend(latencies.iter().filter_map(Value::as_f64));
        }
        Ok(round)
    }

    fn schedule(&mut self, plan: Plan) -> anyhow::Result<()> {
        self.ask(&plan.to_json()).map(drop)
    }
}
