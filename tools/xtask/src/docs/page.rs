//! One page: its files written and its commands run, in a process that has a network and processes of its own.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use std::{env, thread};

use anyhow::{Context, bail, ensure};

use super::blocks::{self, How, Output, Step};
use super::expect;
use crate::command;

/// How long a block may take, or may be repeated until its output is right.
const PATIENCE: Duration = Duration::from_secs(90);

/// What is carried from one block to the next, as in one terminal: the folder and the variables that were set.
const PREAMBLE: &str = r#"
_before=$(compgen -v)
[ -e "$DOCS_STATE" ] && . "$DOCS_STATE"
_keep() {
  { printf 'cd %q\n' "$PWD"
    for _name in $(compgen -v | grep -vxF "$_before" | grep -v '^_\|^BASH\|^FUNCNAME\|^PIPESTATUS\|^LINENO\|^COLUMNS\|^LINES'); do
      declare -p "$_name"
    done
    declare -p PATH; } > "$DOCS_STATE"
}
trap _keep EXIT
set -eo pipefail
"#;

/// The steps of a page of the repository.
pub fn read(root: &Path, name: &str) -> anyhow::Result<Vec<Step>> {
    let file = root.join(name);
    let text = fs::read_to_string(&file).with_context(|| format!("reading {}", file.display()))?;
    blocks::steps(&text).with_context(|| name.to_owned())
}

/// Runs a page below `folder`. The caller stops what it leaves running.
pub fn run(root: &Path, name: &str, sortie: &Path, folder: &Path) -> anyhow::Result<String> {
    let began = Instant::now();
    let mut loopback = Command::new("ip");
    loopback.args(["link", "set", "lo", "up"]);
    command::run(loopback)?;
    let steps = read(root, name)?;
    let sandbox = Sandbox::create(root, sortie, folder)?;
    for (index, step) in steps.iter().enumerate() {
        match step {
            Step::Write { name, text, .. } => sandbox.write(name, text)?,
            Step::NotRun { .. } => {}
            Step::Run { line, commands, how, output } => {
                let run = Run { number: index, commands, output: output.as_ref() };
                run.carry_out(&sandbox, *how).with_context(|| format!("{name}:{line}:\n{commands}"))?;
            }
        }
    }
    let text = fs::read_to_string(root.join(name)).with_context(|| format!("reading {name}"))?;
    for address in addresses(&text) {
        open(address).with_context(|| format!("{name}: opening {address}"))?;
    }
    let blocks = steps.iter().filter(|step| step.is_run()).count();
    Ok(format!("{name}: {blocks} blocks in {:.1} s", began.elapsed().as_secs_f64()))
}

/// The addresses on this machine that a page sends its reader to, like `<http://127.0.0.1:7070/ui/runs>`.
fn addresses(page: &str) -> Vec<&str> {
    let links = page.split('<').skip(1).filter_map(|rest| rest.split_once('>')).map(|(link, _)| link);
    links
        .filter(|link| link.starts_with("http://127.0.0.1:") && !link.contains(char::is_whitespace))
        .collect()
}

/// Opens an address as a browser would; it must be there.
fn open(address: &str) -> anyhow::Result<()> {
    let mut curl = Command::new("curl");
    curl.args(["--silent", "--show-error", "--fail", "--location", "--output", "/dev/null", address]);
    command::run(curl)
}

/// Where a page is run: a stand-in for a checkout of the repository, with the binary where a build puts it.
struct Sandbox {
    checkout: PathBuf,
    home: PathBuf,
    notes: PathBuf,
    path: std::ffi::OsString,
}

impl Sandbox {
    fn create(root: &Path, sortie: &Path, folder: &Path) -> anyhow::Result<Sandbox> {
        let [checkout, home, notes] = ["sortie", "home", "notes"].map(|name| folder.join(name));
        let release = checkout.join("target/release");
        for folder in [&release, &home, &notes] {
            fs::create_dir_all(folder).with_context(|| format!("making {}", folder.display()))?;
        }
        std::os::unix::fs::symlink(sortie, release.join("sortie")).context("linking to the binary")?;
        for folder in ["examples", "deploy"] {
            let mut copy = Command::new("cp");
            copy.arg("-r").arg(root.join(folder)).arg(&checkout);
            command::run(copy)?;
        }
        // An answer with an error is a failed command.
        fs::write(home.join(".curlrc"), "fail-with-body\n").context("writing .curlrc")?;
        let usual = env::var_os("PATH").unwrap_or_default();
        let places = std::iter::once(release).chain(env::split_paths(&usual));
        let path = env::join_paths(places).context("putting the binary on the PATH")?;
        Ok(Sandbox { checkout, home, notes, path })
    }

    /// Where the last block left off.
    fn place(&self) -> PathBuf {
        let state = fs::read_to_string(self.state()).unwrap_or_default();
        let place = state.lines().next().and_then(|line| line.strip_prefix("cd "));
        place.map_or_else(|| self.checkout.clone(), PathBuf::from)
    }

    fn state(&self) -> PathBuf {
        self.notes.join("state")
    }

    fn write(&self, name: &str, text: &str) -> anyhow::Result<()> {
        let file = self.place().join(name);
        let folder = file.parent().context("a file lies in a folder")?;
        fs::create_dir_all(folder).with_context(|| format!("making {}", folder.display()))?;
        fs::write(&file, text).with_context(|| format!("writing {}", file.display()))
    }

    /// A shell that runs `commands` with its output in a file of the notes.
    fn shell(&self, number: usize, commands: &str) -> anyhow::Result<(Command, PathBuf)> {
        let script = self.notes.join(format!("{number}.sh"));
        let output = self.notes.join(format!("{number}.out"));
        fs::write(&script, format!("{PREAMBLE}{commands}")).context("writing the script")?;
        let out = File::create(&output).context("making the output")?;
        let mut shell = Command::new("bash");
        shell.arg(&script).current_dir(&self.checkout).env_clear();
        shell.env("PATH", &self.path).env("HOME", &self.home).env("TMPDIR", &self.notes);
        shell.env("DOCS_STATE", self.state()).env("LANG", "C.UTF-8").env("PYTHONUNBUFFERED", "1");
        shell.stdin(Stdio::null()).stderr(out.try_clone().context("sharing the output")?).stdout(out);
        Ok((shell, output))
    }
}

/// One block of commands.
struct Run<'a> {
    number: usize,
    commands: &'a str,
    output: Option<&'a Output>,
}

impl Run<'_> {
    fn carry_out(&self, sandbox: &Sandbox, how: How) -> anyhow::Result<()> {
        match how {
            How::Once => self.once(sandbox, true),
            How::Fails => self.once(sandbox, false),
            How::Background => self.start(sandbox),
            How::Wait => {
                let end = Instant::now() + PATIENCE;
                loop {
                    match self.once(sandbox, true) {
                        Err(_) if Instant::now() < end => thread::sleep(Duration::from_millis(200)),
                        result => return result,
                    }
                }
            }
        }
    }

    fn once(&self, sandbox: &Sandbox, succeeds: bool) -> anyhow::Result<()> {
        let (mut shell, output) = sandbox.shell(self.number, self.commands)?;
        let mut child = shell.spawn().context("starting bash")?;
        let end = Instant::now() + PATIENCE;
        let status = loop {
            if let Some(status) = child.try_wait().context("waiting for the commands")? {
                break status;
            }
            if Instant::now() > end {
                child.kill().context("ending the commands")?;
                bail!(
                    "it did not end within {} s; it printed\n{}",
                    PATIENCE.as_secs(),
                    read_output(&output)?
                );
            }
            thread::sleep(Duration::from_millis(10));
        };
        let printed = read_output(&output)?;
        ensure!(status.success() == succeeds, "it ended with {status}, and printed\n{printed}");
        self.output.map_or(Ok(()), |expected| expect::compare(expected, &printed))
    }

    /// Starts what runs until the page ends, and waits until it has printed what the page shows.
    fn start(&self, sandbox: &Sandbox) -> anyhow::Result<()> {
        let (mut shell, output) = sandbox.shell(self.number, self.commands)?;
        let mut child = shell.spawn().context("starting bash")?;
        let expected = self.output.context("a block in the background has an output")?.begins_with();
        let end = Instant::now() + PATIENCE;
        loop {
            let ended = child.try_wait().context("looking after the commands")?;
            let printed = read_output(&output)?;
            match (expect::compare(&expected, &printed), ended) {
                (Ok(()), None) => return Ok(()),
                (_, Some(status)) => bail!("it ended with {status}, and printed\n{printed}"),
                (Err(error), None) if Instant::now() > end => return Err(error),
                (Err(_), None) => thread::sleep(Duration::from_millis(50)),
            }
        }
    }
}

fn read_output(file: &Path) -> anyhow::Result<String> {
    let bytes = fs::read(file).with_context(|| format!("reading {}", file.display()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What becomes of blocks that are run one after another; the outputs are text.
    fn check(blocks: &[(&str, How, Option<&str>)]) -> anyhow::Result<()> {
        let folder = tempfile::tempdir().expect("there is room for temporary files");
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let root = root.ancestors().nth(2).expect("tools/xtask is two levels below the root");
        let sandbox = Sandbox::create(root, Path::new("/bin/true"), folder.path())?;
        for (number, (commands, how, output)) in blocks.iter().enumerate() {
            let output = output.map(|text| Output::Text(text.to_owned()));
            Run { number, commands, output: output.as_ref() }.carry_out(&sandbox, *how)?;
        }
        Ok(())
    }

    #[test]
    fn addresses_that_a_reader_is_sent_to_are_found() {
        let page = "See <http://127.0.0.1:7070/ui/runs> and <https://example.com/>; `<b>` is none.\n";
        assert_eq!(addresses(page), ["http://127.0.0.1:7070/ui/runs"]);
    }

    #[test]
    fn folders_and_variables_are_carried_from_block_to_block() {
        let blocks = [
            ("mkdir -p a/b && cd a/b\nNAME='two words'\nexport PATH=\"$PWD:$PATH\"\n", How::Once, None),
            ("basename \"$PWD\"\necho \"$NAME\"\n", How::Once, Some("b\ntwo words")),
            ("case $PATH in */a/b:*) echo first;; esac\n", How::Once, Some("first")),
        ];
        check(&blocks).expect("all of it is as it should be");
    }

    #[test]
    fn what_fails_and_what_prints_something_else_is_an_error() {
        assert!(check(&[("false\ntrue\n", How::Once, None)]).is_err(), "the first command failed");
        assert!(check(&[("false | true\n", How::Once, None)]).is_err(), "a part of a pipe failed");
        assert!(check(&[("echo a\n", How::Once, Some("b"))]).is_err(), "it printed something else");
        assert!(check(&[("true\n", How::Fails, None)]).is_err(), "it should have failed");
        check(&[("exit 3\n", How::Fails, None)]).expect("it failed, as it should");
    }

    #[test]
    fn what_is_waited_for_may_fail_at_first() {
        let later = "if [ -e here ]; then echo there; else touch here; false; fi\n";
        check(&[(later, How::Wait, Some("there"))]).expect("it comes to it");
    }

    #[test]
    fn what_runs_in_the_background_is_ready_when_it_says_so() {
        check(&[("echo ready\nexec sleep 5\n", How::Background, Some("ready"))]).expect("it was ready");
        let ended = check(&[("echo ready\nfalse\n", How::Background, Some("reddy"))]);
        assert!(ended.is_err(), "it ended");
    }
}
