//! Asks for confirmation on the terminal before many runs are changed.

use std::io::{BufRead, IsTerminal, Write};

use api_types::{BulkAction, BulkPreview, BulkRequest};

use super::show;
use crate::failure::Failure;
use crate::session::Session;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Confirmation {
    Yes,
    No,
}

/// Shows what would happen and asks. Without a terminal nothing is started.
pub fn person(session: &Session, request: &BulkRequest, found: &BulkPreview) -> anyhow::Result<Confirmation> {
    let question = format!("{}? [y/N] ", sentence(request, found));
    let stdin = std::io::stdin();
    if session.is_json() || !stdin.is_terminal() || !std::io::stderr().is_terminal() {
        let text = format!("{}: add --yes to start it, or --dry-run to see more", sentence(request, found));
        return Err(Failure::Usage(text).into());
    }
    let mut stderr = std::io::stderr().lock();
    write!(stderr, "{}\n{question}", show::preview(found, &session.screen))?;
    stderr.flush()?;
    let mut answer = String::new();
    stdin.lock().read_line(&mut answer)?;
    let yes = matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes");
    Ok(if yes { Confirmation::Yes } else { Confirmation::No })
}

/// `retry 300 runs at up to 50 per second`
fn sentence(request: &BulkRequest, found: &BulkPreview) -> String {
    let verb = match request.action {
        BulkAction::Retry => "retry",
        BulkAction::Cancel => "cancel",
        BulkAction::Resolve => "resolve",
        BulkAction::Rerun => "rerun",
    };
    let rate = request.rate.map(|rate| format!(" at up to {rate} per second")).unwrap_or_default();
    format!("{verb} {}{rate}", show::runs(found.matched))
}
