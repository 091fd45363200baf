//! The working directory of a torture test: deleted after success, kept for inspection after a failure.

use std::path::Path;

use anyhow::Context;

use crate::report::RoundResult;

/// Runs a test in a directory of its own. `keep` keeps it also after success.
pub async fn within(
    keep: bool,
    seed: u64,
    torture: impl AsyncFnOnce(&Path) -> anyhow::Result<RoundResult>,
) -> anyhow::Result<RoundResult> {
    let mut directory = tempfile::Builder::new().prefix("sortie-torture-").tempdir()?;
    let outcome = torture(directory.path()).await;
    if keep || !matches!(outcome, Ok(RoundResult::Kept)) {
        directory.disable_cleanup(true);
        println!("data and logs are kept in {}", directory.path().display());
    }
    outcome.with_context(|| format!("seed {seed}"))
}
