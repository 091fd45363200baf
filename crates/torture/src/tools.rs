//! Programs of the system that a fault needs, and how they inject it.

use std::process::{Command, Stdio};

use crate::report::Closing;

/// Whether a program is there, after its Debian package was installed where it was not. If not, what it was needed for
/// is left out.
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
        closing.leave_out(format!("{needed_for}: {program} is missing and {package} cannot be installed"));
        return false;
    }
    true
}

fn is_there(program: &str) -> bool {
    let mut asked = Command::new(program);
    asked.arg("-V").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    asked.status().is_ok()
}

/// `strace`, as what the server is started through: it follows every thread, stops only at these calls, and leaves the
/// server the child of this program. `injection` is what happens at the `when`-th such call of a thread.
pub fn injected(call: &str, injection: &str) -> Vec<String> {
    let words = ["strace", "-D", "-f", "--seccomp-bpf", "-qqq", "-o", "/dev/null", "-e"];
    let mut words: Vec<String> = words.map(str::to_owned).into();
    words.extend([format!("trace={call}"), "-e".to_owned(), format!("inject={call}:{injection}")]);
    words
}
