//! Scripts that do a peer's work: they say when they are ready, take a command per line, and answer with a line.

use std::process::Command;

use anyhow::{Context, ensure};
use serde_json::{Value, json};

use super::figures::Round;
use super::install::Place;
use super::process::Process;
use super::target::Plan;
use super::{Driver, Work};

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
        for (number, command) in commands.into_iter().enumerate() {
            let name = format!("{name}-worker-{number}");
            workers.push(Process::worker(&name, command, &place.data)?);
        }
        for worker in &mut workers {
            let line = worker.line()?;
            ensure!(line == "ready", "a worker of {name} said {line:?}");
        }
        Ok(Workers { workers, _servers: servers, rounds: 0 })
    }

    /// Tells all of them before it listens to any.
    fn ask(&mut self, command: &Value) -> anyhow::Result<Vec<Value>> {
        let workers = self.workers.len();
        for (number, worker) in self.workers.iter_mut().enumerate() {
            let mut command = command.clone();
            command["worker"] = json!(number);
            command["workers"] = json!(workers);
            worker.tell(&command.to_string())?;
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
        let work = work.name();
        let answers =
            self.ask(&json!({ "work": work, "name": name, "at_once": each, "seconds": seconds }))?;
        let rounds = answers.iter().map(|answer| {
            let latencies = answer["latencies_ms"].as_array().context("an answer has latencies")?;
            let latencies_ms = latencies.iter().filter_map(Value::as_f64).collect();
            let seconds = answer["seconds"].as_f64().context("an answer has seconds")?;
            anyhow::Ok(Round { seconds, latencies_ms })
        });
        Ok(Round::merge(rounds.collect::<anyhow::Result<_>>()?))
    }

    fn schedule(&mut self, plan: Plan) -> anyhow::Result<()> {
        self.ask(&plan.to_json()).map(drop)
    }
}
