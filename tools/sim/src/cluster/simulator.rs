//! Clusters, as campaigns run them.

use std::ops::Range;
use std::sync::Arc;

use engine::{Catalogs, Control};
use journal::memory::MemoryJournal;

use super::coverage::Situation;
use super::figures::Figures;
use super::plan::Plan;
use super::play::play;
use crate::simulator::{Report, Simulator, scratch_directory};
use crate::workflows;

/// Several instances on a simulated NATS, with the workflows that every instance has. How workflows reach an instance is
/// part of the other simulation.
pub struct Clusters {
    catalogs: Catalogs,
}

impl Clusters {
    pub fn new() -> anyhow::Result<Clusters> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
        let catalogs = runtime.block_on(async {
            let control = Control::open(Arc::new(MemoryJournal::new()), host::Clock::start()).await?;
            for source in workflows::SOURCES {
                control.apply(source, "plan", None).await?;
            }
            anyhow::Ok(control.catalogs().clone())
        })?;
        Ok(Clusters { catalogs })
    }
}

impl Simulator for Clusters {
    const OPTIONS: &'static str = "--cluster ";
    const NAME: &'static str = "clusters";

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
        plan.network_faults.rates().into()
    }

    fn simulate(&self, plan: &Plan, print: bool) -> anyhow::Result<Report<Figures, Situation>> {
        host::survive_panics();
        Ok(play(plan, scratch_directory()?.path(), &self.catalogs, print))
    }

    fn add_figures(total: &mut Figures, one: Figures) {
        total.add(one);
    }

    fn describe(figures: &Figures) -> String {
        figures.describe()
    }
}
