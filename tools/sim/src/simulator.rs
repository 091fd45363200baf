//! What the two simulations have in common: a plan goes in, a report comes out.

use std::ops::Range;
use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::checkers::Violation;
use crate::coverage::{Met, Situations};

/// One of the two simulations, as campaigns, replays and shrinking use it.
pub trait Simulator: Sync {
    /// The options of the command line that select it, with a space after them.
    const OPTIONS: &'static str;
    /// What its plans are called in file names and in messages.
    const NAME: &'static str;

    type Plan: Clone + PartialEq + Send + Serialize + DeserializeOwned;
    type Figures: Copy + Default + Send;
    type Situation: Situations + Send;

    fn draw(seed: u64) -> Self::Plan;
    fn seed(plan: &Self::Plan) -> u64;
    /// The options of the plan in one line.
    fn summary(plan: &Self::Plan) -> String;
    fn operation_count(plan: &Self::Plan) -> usize;
    /// The plan without some of its operations.
    fn without_operations(plan: &Self::Plan, range: Range<usize>) -> Self::Plan;
    /// The rates of faults that a plan can do without, one at a time.
    fn fault_rates(plan: &mut Self::Plan) -> Vec<&mut u16>;

    /// Simulates a plan; prints everything that is observed if asked to.
    fn simulate(&self, plan: &Self::Plan, print: bool) -> anyhow::Result<ReportOf<Self>>;

    fn add_figures(total: &mut Self::Figures, one: Self::Figures);
    /// Figures in words.
    fn describe(figures: &Self::Figures) -> String;
}

/// The result of one simulation.
#[derive(Debug, Clone)]
pub struct Report<F, S> {
    pub figures: F,
    pub coverage: Met<S>,
    pub violations: Vec<Violation>,
    /// A hash of everything that was observed: two runs of one plan have the same.
    pub trace: u64,
}

/// The report of a simulation.
pub type ReportOf<S> = Report<<S as Simulator>::Figures, <S as Simulator>::Situation>;

/// An empty directory: in memory where possible, because the files of a view are real ones.
pub fn scratch_directory() -> anyhow::Result<tempfile::TempDir> {
    let memory = Path::new("/dev/shm");
    let base = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
    Ok(tempfile::Builder::new().prefix("sortie-sim-").tempdir_in(base)?)
}
