//! The real server for clients of it: `sortie dev` on ports that are free, with the drone services around it.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use anyhow::{Context, ensure};

/// A running `sortie dev` with data of its own; dropping this stops it and deletes the data.
pub struct DevServer {
    child: Child,
    /// Kept open: a closed one would fail what the process says later.
    output: BufReader<ChildStdout>,
    data: PathBuf,
    pub url: String,
}

impl DevServer {
    /// Starts it, and waits until it is ready. Its data are below `target`.
    pub fn start(binary: &Path, target: &Path) -> anyhow::Result<DevServer> {
        let data = target.join(format!("dev-data-{}", std::process::id()));
        let mut dev = Command::new(binary);
        dev.args(["dev", "--port", "0", "--drone-port-base", "0", "--data"]).arg(&data);
        let started = dev.stdout(Stdio::piped()).spawn();
        let mut child = started.with_context(|| format!("starting {}", binary.display()))?;
        let output = BufReader::new(child.stdout.take().expect("the output was asked for"));
        let mut server = DevServer { child, output, data, url: String::new() };
        let mut line = String::new();
        while server.url.is_empty() {
            line.clear();
            let bytes = server.output.read_line(&mut line).context("reading what sortie dev says")?;
            ensure!(bytes > 0, "sortie dev ended before it was ready");
            server.url = url_of(&line).unwrap_or_default();
        }
        Ok(server)
    }
}

impl Drop for DevServer {
    fn drop(&mut self) {
        // It may have ended already, and its data may never have been written: both are well.
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_dir_all(&self.data);
    }
}

/// The address in the line that says that the API is there.
fn url_of(line: &str) -> Option<String> {
    let rest = line.trim().strip_prefix("API")?.trim();
    rest.strip_suffix("/v1").map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_is_read_from_what_is_said() {
        assert_eq!(
            url_of("  API        http://127.0.0.1:7070/v1\n").as_deref(),
            Some("http://127.0.0.1:7070")
        );
        assert_eq!(url_of("  metrics    http://127.0.0.1:7070/metrics\n"), None);
    }
}
