//! A child process that never outlives this one.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child as Process, Command, ExitStatus, Stdio};

use anyhow::Context;
use rustix::process::{Pid, Signal, kill_process_group};

/// Bytes of a log that are shown.
const TOLD_LINES: usize = 15;

/// A child in its own process group: Ctrl-C in the terminal does not reach it, so that it can be stopped in order.
pub struct Child {
    pub name: String,
    /// The shell command that starts it again.
    pub command: String,
    process: Process,
    watch: ParentWatcher,
    log: PathBuf,
    ended: Option<ExitStatus>,
}

impl Child {
    /// Starts it with its output in `log`. `SORTIE_…` variables of this process are not passed on.
    pub fn start(name: &str, mut command: Command, log: &Path) -> anyhow::Result<Child> {
        let output = File::options().create(true).append(true).open(log);
        let output = output.with_context(|| format!("opening {}", log.display()))?;
        let errors = output.try_clone().with_context(|| format!("opening {}", log.display()))?;
        let settings = std::env::vars_os().map(|(name, _)| name);
        for variable in settings.filter(|name| name.to_string_lossy().starts_with("SORTIE_")) {
            command.env_remove(variable);
        }
        command.stdin(Stdio::null()).stdout(output).stderr(errors).process_group(0);
        let process = command.spawn().with_context(|| format!("starting {name}"))?;
        let watch = ParentWatcher::start(process.id())?;
        let (name, command, log) = (name.to_owned(), words(&command), log.to_owned());
        Ok(Child { name, command, process, watch, log, ended: None })
    }

    pub fn pid(&self) -> u32 {
        self.process.id()
    }

    /// Its exit status, if it has ended.
    pub fn ended(&mut self) -> anyhow::Result<Option<ExitStatus>> {
        if self.ended.is_none() {
            self.ended = self.process.try_wait().with_context(|| format!("checking {}", self.name))?;
            if self.ended.is_some() {
                // From now on the kernel may reuse its pid.
                self.watch.forget();
            }
        }
        Ok(self.ended)
    }

    /// Sends SIGTERM.
    pub fn terminate(&mut self) -> anyhow::Result<()> {
        if self.ended()?.is_none() {
            self.signal(Signal::TERM);
        }
        Ok(())
    }

    /// The last lines of its log.
    pub fn said(&self) -> String {
        let log = fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(TOLD_LINES)..].join("\n")
    }

    fn signal(&self, signal: Signal) {
        let group = i32::try_from(self.process.id()).ok().and_then(Pid::from_raw);
        // Fails only if the group has already ended.
        let _ = kill_process_group(group.expect("a pid is positive"), signal);
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if self.ended.is_none() {
            // SIGKILL also ends a stopped process.
            self.signal(Signal::KILL);
            let _ = self.process.wait();
            self.watch.forget();
        }
    }
}

/// A shell that kills the group when this process ends for any reason: the pipe between them closes then.
struct ParentWatcher {
    shell: Process,
}

impl ParentWatcher {
    fn start(group: u32) -> anyhow::Result<ParentWatcher> {
        let mut shell = Command::new("sh");
        shell.args(["-c", "read line && exit 0; kill -s KILL -- \"-$1\"", "watch", &group.to_string()]);
        shell.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
        Ok(ParentWatcher { shell: shell.spawn().context("starting a shell")? })
    }

    fn forget(&mut self) {
        if let Some(mut pipe) = self.shell.stdin.take() {
            let _ = pipe.write_all(b"forget\n");
        }
        let _ = self.shell.wait();
    }
}

/// The command as a line for a POSIX shell.
fn words(command: &Command) -> String {
    let all = std::iter::once(command.get_program()).chain(command.get_args());
    all.map(|word| quoted(&word.to_string_lossy())).collect::<Vec<_>>().join(" ")
}

fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,".contains(c);
    if word.chars().all(plain) { word.to_owned() } else { format!("'{}'", word.replace('\'', "'\\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_can_be_pasted_into_a_shell() {
        let mut command = Command::new("/opt/my tools/sortie");
        command.args(["serve", "--config", "it's.toml"]);
        assert_eq!(words(&command), "'/opt/my tools/sortie' serve --config 'it'\\''s.toml'");
    }

    #[test]
    fn a_child_ends_with_its_owner_and_its_log_is_shown() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        let mut command = Command::new("sh");
        command.args(["-c", "echo hello; sleep 600 & wait"]);
        let mut child = Child::start("sleeper", command, &log).unwrap();
        let began = std::time::Instant::now();
        while child.said() != "hello" {
            assert!(began.elapsed().as_secs() < 30, "it prints nothing");
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        assert_eq!(child.ended().unwrap(), None);
        let place = PathBuf::from(format!("/proc/{}", child.pid()));
        assert!(place.exists());
        drop(child);
        assert!(!place.exists());
    }
}
