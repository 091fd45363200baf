//! `sortie simulate`: what a definition would do, against scripted services, through virtual time.

mod call;
mod input;
mod job;
mod log;
mod report;
mod script;
mod window;
mod world;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use types::Timestamp;
use workflow::Definition;

use self::call::CallKind;
pub(crate) use self::call::place_of;
use self::input::When;
use self::report::summary::{self, Summary};
use self::report::{Clocks, json};
use self::script::{KnownNames, Script};
use self::world::{WatchedJob, World};
use crate::failure::Failure;
use crate::screen::{self, Screen};

const EXAMPLES: &str = "\
The script says what the services answer; without one everything goes well. Its format is in
docs/reference/simulate.md. The same command always prints the same. The exit code is 0 if the run completes, or if
every occurrence of the job is done, 1 if not, 65 if a file is wrong.

Example:
  sortie simulate --workflow drone-delivery.yaml --request delivery.json --services outage.yaml
  sortie simulate --job weekly.yaml --from 2026-03-01 --to 2026-03-15 --services outage.yaml --quiet
  sortie simulate --job nightly.yaml --from 2026-03-28 --to +3d --json";

/// Show what a workflow or a job would do, without a server and without real calls
///
/// Runs a definition by the rules of the server against scripted services, through virtual time: firings, attempts,
/// delays, alternatives, undos, what would be parked, and how it would end.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Simulate {
    /// The workflow, in YAML or JSON
    #[arg(long, value_name = "F", required_unless_present = "job")]
    workflow: Option<PathBuf>,
    /// The job, in YAML or JSON, like {"properties": {…}}
    #[arg(long, value_name = "F", conflicts_with_all = ["workflow", "request"], requires_all = ["from", "to"])]
    job: Option<PathBuf>,
    /// The request, as JSON or as a file; `-` is standard input
    #[arg(long, value_name = "F|JSON", default_value = "{}")]
    request: String,
    /// The script of the services' responses, in YAML; by default every call succeeds
    #[arg(long, value_name = "F")]
    services: Option<PathBuf>,
    /// The start of the simulation; a job is created then
    #[arg(
        long,
        value_name = "TIME",
        default_value_if("workflow", clap::builder::ArgPredicate::IsPresent, "2026-01-01T00:00:00Z")
    )]
    from: Option<When>,
    /// Until when the job fires: a time, or a span after --from like +14d
    #[arg(long, value_name = "TIME", conflicts_with = "workflow")]
    to: Option<When>,
    /// The seed for random delays and jitter
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Print only the result
    #[arg(long)]
    quiet: bool,
}

impl Simulate {
    pub fn run(self, as_json: bool) -> anyhow::Result<ExitCode> {
        let begin = match self.from {
            Some(When::At(at)) => at,
            _ => return Err(usage("--from must be a point in time, like 2026-03-01T12:00:00Z")),
        };
        match (&self.workflow, &self.job) {
            (Some(file), _) => self.workflow(&input::read_workflow(file)?, begin, as_json),
            (None, Some(file)) => self.job(file, begin, as_json),
            (None, None) => Err(usage("name a definition with --workflow or --job")),
        }
    }

    fn workflow(&self, definition: &Definition, begin: Timestamp, as_json: bool) -> anyhow::Result<ExitCode> {
        let request = input::request(definition, &self.request, self.seed, begin)?;
        let known = KnownNames {
            services: definition.services().iter().map(|service| service.name.to_string()).collect(),
            steps: definition.step_names().iter().map(ToString::to_string).collect(),
            begin,
        };
        let mut world = World::new(begin, CallKind::Workflow(definition), self.script(&known)?);
        world.run_request(definition.plan().clone(), request).map_err(too_much)?;
        let notes = self.notes(&world);
        let run = world.ended.first().or(world.left()).expect("one request is one run");
        let summary = summary::of_run(run, &world.entries, begin, notes);
        self.print(
            &summary,
            as_json,
            || json::lines(&world.entries, begin),
            |screen| report::of_workflow(&world.entries, &Clocks { begin, zone: None }, screen),
        )
    }

    fn job(&self, file: &std::path::Path, begin: Timestamp, as_json: bool) -> anyhow::Result<ExitCode> {
        let until = match self.to {
            Some(When::At(at)) => at,
            Some(When::After(span)) => begin + span,
            None => return Err(usage("--to is required: the end of the simulation")),
        };
        if until < begin {
            return Err(usage("--to is before --from"));
        }
        let (name, document) = input::read_job(file, begin)?;
        let spec = document.spec();
        let planned = job::PlannedJob::new(&spec.timing, begin, until);
        let created = job::create(&name, &document, self.seed, begin);
        let created = created.map_err(|rejection| input::wrong(file, &[rejection.to_string()]))?;
        let known = KnownNames { services: Vec::new(), steps: vec![kernel::job::STEP.to_owned()], begin };
        let mut world = World::new(begin, CallKind::Job(&document), self.script(&known)?);
        let job = world.run_job(WatchedJob { job: created, until, planned: &planned }).map_err(too_much)?;
        let notes = self.notes(&world);
        let summary = summary::of_job(&name, &job, &world.entries, &planned.omitted, notes);
        self.print(
            &summary,
            as_json,
            || json::lines(&world.entries, begin),
            |screen| {
                report::of_job(&world.entries, &Clocks { begin, zone: spec.timing.zone.clone() }, screen)
            },
        )
    }

    fn script(&self, known: &KnownNames) -> anyhow::Result<Script> {
        match &self.services {
            Some(file) => input::read_script(file, known),
            None => Ok(Script::default()),
        }
    }

    /// Warnings.
    fn notes(&self, world: &World<'_>) -> Vec<String> {
        let assumed = world.assumed.iter().map(|step| {
            format!("no rule responds to step {step}, which does not accept the default {{}}: it was treated as done")
        });
        let file = self.services.as_ref().map(|file| file.display().to_string()).unwrap_or_default();
        let unused = world.script.unused().map(|line| format!("{file}:{line}: this rule matched no call"));
        assumed.chain(unused).collect()
    }

    fn print(
        &self,
        summary: &Summary,
        as_json: bool,
        lines: impl FnOnce() -> String,
        table: impl FnOnce(&Screen) -> String,
    ) -> anyhow::Result<ExitCode> {
        let screen = Screen::of_stdout();
        let text = match (as_json, self.quiet) {
            (true, true) => summary.json(),
            (true, false) => lines() + &summary.json(),
            (false, true) => summary.render(&screen),
            (false, false) => format!("{}\n{}", table(&screen), summary.render(&screen)),
        };
        screen::print(&text)?;
        Ok(if summary.well { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}

fn usage(text: &str) -> anyhow::Error {
    Failure::Usage(text.to_owned()).into()
}

fn too_much(error: world::LimitReached) -> anyhow::Error {
    Failure::No(error.to_string()).into()
}
