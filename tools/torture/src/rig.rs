//! The options of every fault: the programs, the seed, and whether to keep the data.

use std::path::{Path, PathBuf};

use clap::Args;

use crate::dice::Dice;
use crate::report::{self, RoundResult};
use crate::scratch;

/// The API token of the server under torture.
pub const TOKEN: &str = "torture-token-of-this-process-only";

#[derive(Args)]
pub struct Rig {
    /// The seed; drawn and printed when it is not given
    #[arg(long)]
    pub seed: Option<u64>,
    /// The server; by default the one that was built together with this program
    #[arg(long, value_name = "PATH_TO_sortie", default_value_os_t = beside("sortie"))]
    pub bin: PathBuf,
    /// The drone services; by default those that were built together with this program
    #[arg(long, value_name = "PATH_TO_drone-services", default_value_os_t = beside("drone-services"))]
    pub drone: PathBuf,
    /// Keep data and logs also after success
    #[arg(long)]
    pub keep: bool,
}

impl Rig {
    /// Draws a seed, prints it, and runs the test in a directory of its own, which is kept after a failure.
    pub async fn within(
        &self,
        fault: &str,
        torture: impl AsyncFnOnce(u64, &Path) -> anyhow::Result<RoundResult>,
    ) -> anyhow::Result<RoundResult> {
        let seed = self.seed.unwrap_or_else(Dice::any_seed);
        println!("torture {fault} begins, seed {seed}");
        let outcome =
            scratch::within(self.keep, seed, async |directory| torture(seed, directory).await).await;
        if outcome.is_err() {
            println!("try again with: {}", report::again(std::env::args().skip(1), seed));
        }
        outcome
    }
}

fn beside(program: &str) -> PathBuf {
    std::env::current_exe().map_or_else(|_| PathBuf::from(program), |own| own.with_file_name(program))
}
