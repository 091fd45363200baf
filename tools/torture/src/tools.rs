//! Programs of the system that a fault needs, and how `strace` injects one.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::loop_disk::LoopDisk;
use crate::report::Closing;

/// Whether a program is there, after its Debian package was installed where it was not. If not, what it was needed for
/// is skipped.
pub fn have(program: &str, package: &str, needed_for: &str, closing: &mut Closing) -> bool {
    if is_there(program) {
        return true;
    }
    println!("{program} is missing: installing {package}");
    let install = |arguments: &[&str]| {
        let apt =
            Command::new("apt-get").args(arguments).stdout(Stdio::null()).stderr(Stdio::null()).status();
        apt.is_ok_and(|status| status.success())
    };
    let there = install(&["install", "-y", package])
        || (install(&["update"]) && install(&["install", "-y", package]));
    if !there || !is_there(program) {
        closing.skip(format!("{needed_for}: {program} is missing and {package} cannot be installed"));
        return false;
    }
    true
}

/// A disk for the server, if it can be made on this machine.
pub fn loop_disk(directory: &Path, mib: u64, needed_for: &str, closing: &mut Closing) -> Option<LoopDisk> {
    for (program, package) in [("mkfs.ext4", "e2fsprogs"), ("mount", "mount"), ("perl", "perl-base")] {
        if !have(program, package, needed_for, closing) {
            return None;
        }
    }
    let made = LoopDisk::make(directory, mib);
    made.map_err(|error| closing.skip(format!("{needed_for}: {error:#}"))).ok()
}

fn is_there(program: &str) -> bool {
    let mut asked = Command::new(program);
    asked.arg("-V").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    asked.status().is_ok()
}

/// What happens to the server at a system call.
pub struct Injection<'a> {
    pub call: &'a str,
    /// In the words of strace: what, and at which such call of a thread.
    pub does: String,
    /// Only calls that have to do with one of these files; all calls when there is none.
    pub files: Vec<PathBuf>,
    /// Where every such call is noted.
    pub trace: Option<&'a Path>,
}

impl Injection<'_> {
    /// What the server is started through: it follows every thread, and leaves the server the child of this program.
    pub fn words(&self) -> Vec<String> {
        let trace = self.trace.unwrap_or(Path::new("/dev/null")).display().to_string();
        let mut words = ["strace", "-D", "-f", "-qqq"].map(str::to_owned).to_vec();
        // Together with this filter strace 6.1 loses the signals of all but the first calls.
        if !self.does.starts_with("signal=") {
            words.push("--seccomp-bpf".to_owned());
        }
        words.extend(["-o".to_owned(), trace, "-e".to_owned(), format!("trace={}", self.call)]);
        words.extend(["-e".to_owned(), format!("inject={}:{}", self.call, self.does)]);
        for file in &self.files {
            words.extend(["-P".to_owned(), file.display().to_string()]);
        }
        words
    }
}

/// Whether the trace shows an injection.
pub fn was_injected(trace: &Path) -> bool {
    std::fs::read(trace).is_ok_and(|bytes| String::from_utf8_lossy(&bytes).contains("(INJECTED)"))
}
