//! A whole simulation: lives with faults, a life without, a last power cut, and the audit.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use types::RunId;

use crate::corruption;
use crate::coverage::Situation;
use crate::figures::Figures;
use crate::life::{self, Ending};
use crate::observation::Observation;
use crate::panics;
use crate::plan::Plan;
use crate::process::{Found, Process};
use crate::simulator::{Report, Simulator, scratch_directory};
use crate::world::{Death, Sim, Task};

/// Lives that one simulation has at most: more than any plan asks for.
const LIVES_MAX: u32 = 200;

/// One instance on a simulated disk.
pub struct SingleInstance;

impl Simulator for SingleInstance {
    const OPTIONS: &'static str = "";
    const NAME: &'static str = "single";

    type Plan = Plan;
    type Figures = Figures;
    type Situation = Situation;

    fn draw(seed: u64) -> Plan {
        Plan::draw(seed)
    }

    fn seed(plan: &Plan) -> u64 {
        plan.seed
    }

    fn summary(plan: &Plan) -> String {
        plan.summary()
    }

    fn operation_count(plan: &Plan) -> usize {
        plan.operations.len()
    }

    fn without_operations(plan: &Plan, range: Range<usize>) -> Plan {
        let mut fewer = plan.clone();
        fewer.operations.drain(range);
        fewer
    }

    fn fault_rates(plan: &mut Plan) -> Vec<&mut u16> {
        plan.service_faults.rates().into()
    }

    fn simulate(&self, plan: &Plan, print: bool) -> anyhow::Result<Report<Figures, Situation>> {
        host::survive_panics();
        Ok(simulate(plan, scratch_directory()?.path(), print))
    }

    fn add_figures(total: &mut Figures, one: Figures) {
        total.add(one);
    }

    fn describe(figures: &Figures) -> String {
        figures.describe()
    }
}

/// Simulates a plan. `directory` is empty, for the view's files.
fn simulate(plan: &Plan, directory: &Path, print: bool) -> Report<Figures, Situation> {
    let sim = Arc::new(Sim::new(plan.clone(), print));
    loop {
        match one_life(&sim, directory) {
            Ending::Rested => break,
            Ending::Died(death) => after_death(&sim, death),
        }
        if sim.world().life > LIVES_MAX {
            sim.world().add_violation("L4", "the process dies again and again".to_owned());
            break;
        }
    }
    if sim.world().checkers.found.is_empty() {
        after_death(&sim, Death { power: true, down_ms: 0 });
        last_life(&sim, directory);
    }
    if sim.world().checkers.found.is_empty() {
        runtime().block_on(corruption::damage(&sim));
    }
    report(&sim)
}

fn runtime() -> tokio::runtime::Runtime {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_time().start_paused(true).build().expect("a runtime without I/O needs nothing")
}

fn one_life(sim: &Arc<Sim>, directory: &Path) -> Ending {
    let runtime = runtime();
    let ending = runtime.block_on(async {
        sim.world().begin_life();
        let ending = life::live(sim, directory).await;
        sim.world().end_life();
        ending
    });
    drop(runtime);
    match panics::take() {
        Some(panic) => {
            sim.world().add_violation("P0", format!("panic: {panic}"));
            Ending::Rested
        }
        None => ending,
    }
}

/// What a death does to the disk; then time passes, and what was on the wire arrives.
fn after_death(sim: &Sim, death: Death) {
    let mut world = sim.world();
    world.figures.crashes += 1;
    world.observe(Observation::Crashed { power: death.power });
    if death.power {
        if world.disk.has_unsynced() {
            world.coverage.note(Situation::PowerCutWithUnsynced);
        }
        world.figures.power_cuts += 1;
        world.disk.power_cut();
    } else {
        world.disk.kill();
    }
    let until = world.now() + death.down_ms;
    while let Some(at) = world.agenda.next().filter(|at| *at <= until) {
        let ms = at.saturating_sub(world.now());
        world.pass(ms);
        let task = world.agenda.pop(at).expect("one is due");
        match task {
            Task::Arrive(call) => life::arrive(&mut world, &call),
            Task::Empty => world.disk.set_capacity(u64::MAX),
            // Nobody answers now: it happens when the process is back.
            task => world.agenda.put_off(until + 1, task),
        }
    }
    let ms = until.saturating_sub(world.now());
    world.pass(ms);
}

/// Everything was at rest when the power was cut: what comes back must be all of it.
fn last_life(sim: &Arc<Sim>, directory: &Path) {
    let runtime = runtime();
    runtime.block_on(async {
        sim.world().begin_life();
        match Process::start(sim, directory).await {
            Ok(process) => audit(sim, &process).await,
            Err(error) => {
                sim.world().add_violation("L4", format!("the process does not come back: {error:#}"))
            }
        }
        sim.world().end_life();
    });
    drop(runtime);
    if let Some(panic) = panics::take() {
        sim.world().add_violation("P0", format!("panic: {panic}"));
    }
}

async fn audit(sim: &Sim, process: &Process) {
    let (states, queues) = (process.states().await, process.queues().await);
    let mut world = sim.world();
    let ids: Vec<RunId> = world.history.ended().map(|run| run.request.id.clone()).collect();
    let read = || -> anyhow::Result<Found> {
        let (archived, rows) = (process.archived(&ids)?, process.rows()?);
        Ok(Found { states, archived, rows, queues, message_rows: process.message_rows(&world.queue_model)? })
    };
    match read() {
        Ok(found) => world.audit(&found),
        Err(error) => world.add_violation("I20", format!("the view cannot be read: {error:#}")),
    }
}

fn report(sim: &Sim) -> Report<Figures, Situation> {
    let mut world = sim.world();
    world.figures.lives = u64::from(world.life);
    world.figures.calls = world.calls;
    world.figures.simulated_ms = world.now();
    Report {
        figures: world.figures,
        coverage: world.coverage,
        violations: world.checkers.found.clone(),
        trace: world.trace(),
    }
}
