//! `sortie completions`: what a shell needs to complete the command line.

use std::process::ExitCode;

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::screen;

/// Print a completion script for your shell
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  sortie completions bash > ~/.local/share/bash-completion/completions/sortie"
)]
pub struct Completions {
    /// The shell to print it for
    shell: Shell,
}

impl Completions {
    /// Prints the script for the command line `C`.
    pub fn run<C: CommandFactory>(self) -> anyhow::Result<ExitCode> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut C::command(), "sortie", &mut script);
        screen::print(&String::from_utf8_lossy(&script))?;
        Ok(ExitCode::SUCCESS)
    }
}
