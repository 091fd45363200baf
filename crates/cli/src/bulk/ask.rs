//! Asking the person at the terminal before many runs are changed.

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

/// Shows what would happen and asks. Where nobody can answer, nothing is begun.
pub fn person(session: &Session, request: &BulkRequest, found: &BulkPreview) -> anyhow::Result<Confirmation> {
    let question = format!("{}? [y/N] ", sentence(request, found));
    let stdin = std::io::stdin();
    if session.is_json() || !stdin.is_terminal() || !std::io::stderr().is_terminal() {
        let text = format!("{}: say --yes to do it, or --dry-run to see more", sentence(request, found));
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

/// `retry 300 runs at up to 50 a second`
fn sentence(request: &BulkRequest, found: &BulkPreview) -> String {
    let verb = match request.action {
        BulkAction::Retry => "retry",
        BulkAction::Cancel => "cancel",
        BulkAction::Resolve => "decide on",
        BulkAction::Rerun => "run again",
    };
    let rate = request.rate.map(|rate| format!(" at up to {rate} a second")).unwrap_or_default();
    format!("{verb} {}{rate}", show::runs(found.matched))
}
