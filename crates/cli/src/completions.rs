//! `sortie completions`: shell completion scripts.

use std::process::ExitCode;

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::screen;

const INSTALL: &str = "\
Examples:
  bash  mkdir -p ~/.local/share/bash-completion/completions
        sortie completions bash > ~/.local/share/bash-completion/completions/sortie
  zsh   mkdir -p ~/.zfunc && sortie completions zsh > ~/.zfunc/_sortie
        and in ~/.zshrc, before compinit: fpath=(~/.zfunc $fpath)
  fish  sortie completions fish > ~/.config/fish/completions/sortie.fish";

/// Print a completion script for your shell
///
/// The script completes commands and options. Save it where your shell looks for such scripts, then start a new
/// shell. It belongs to this version of the program: generate it again after an update.
#[derive(Debug, Args)]
#[command(after_help = INSTALL)]
pub struct Completions {
    /// The shell
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
