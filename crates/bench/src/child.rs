//! Another process of this program, ended when it is dropped.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};

/// A running process of this program.
pub struct Child {
    process: std::process::Child,
}

impl Child {
    /// Starts this program with other arguments; gives the first line that it prints.
    pub async fn start<A: AsRef<OsStr>>(
        name: &'static str,
        arguments: &[A],
    ) -> anyhow::Result<(Child, String)> {
        let program = std::env::current_exe().context("finding this program")?;
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped());
        // What is set for the caller's own server must not reach this one.
        for (variable, _) in std::env::vars_os() {
            if variable.to_string_lossy().starts_with("SORTIE_") {
                command.env_remove(variable);
            }
        }
        let mut process =
            command.env("SORTIE_LOG", "error").spawn().with_context(|| format!("starting {name}"))?;
        let stdout = process.stdout.take().expect("stdout is piped");
        let child = Child { process };
        let reading = tokio::task::spawn_blocking(move || {
            let mut line = String::new();
            BufReader::new(stdout).read_line(&mut line).map(|_| line)
        });
        let line =
            reading.await.context("reading from a child")?.with_context(|| format!("hearing from {name}"))?;
        ensure!(!line.is_empty(), "{name} ended before it was ready");
        Ok((child, line.trim_end().to_owned()))
    }
}

impl Child {
    pub fn id(&self) -> u32 {
        self.process.id()
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        // Both fail only for a process that has ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
