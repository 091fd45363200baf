//! Processes of the peers: each is ended, by its id, with what holds it.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};

const START_MAX: Duration = Duration::from_secs(60);
/// The longest that a worker is at work before it answers, and more.
const ANSWER_MAX: Duration = Duration::from_secs(120);
const END_MAX: Duration = Duration::from_secs(10);
const POLL: Duration = Duration::from_millis(20);

/// How a process is asked to end.
#[derive(Debug, Clone, Copy)]
pub enum End {
    Terminate,
    /// PostgreSQL takes this as: do not wait for connected clients.
    Interrupt,
}

/// A process that ends with this.
pub struct Process {
    name: String,
    child: Child,
    /// Of a worker, which is talked to.
    talk: Option<(ChildStdin, Receiver<String>)>,
    end: End,
}

impl Process {
    /// A server: whatever it says goes to a file.
    pub fn server(name: &str, mut command: Command, logs: &Path, end: End) -> anyhow::Result<Process> {
        let log = log(name, logs)?;
        let output = log.try_clone().context("opening a log twice")?;
        command.stdin(Stdio::null()).stdout(output).stderr(log);
        let child = command.spawn().with_context(|| format!("starting {name}"))?;
        Ok(Process { name: name.to_owned(), child, talk: None, end })
    }

    /// A worker: it takes lines and answers with lines; its complaints go to a file.
    pub fn worker(name: &str, mut command: Command, logs: &Path) -> anyhow::Result<Process> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(log(name, logs)?);
        let mut child = command.spawn().with_context(|| format!("starting {name}"))?;
        let input = child.stdin.take().expect("the input was asked for");
        let output = BufReader::new(child.stdout.take().expect("the output was asked for"));
        // A thread reads, so that one can stop waiting; it ends with the output.
        let (sender, lines) = mpsc::channel();
        thread::spawn(move || output.lines().map_while(Result::ok).try_for_each(|line| sender.send(line)));
        Ok(Process { name: name.to_owned(), child, talk: Some((input, lines)), end: End::Terminate })
    }

    /// The next line that a worker prints.
    pub fn line(&mut self) -> anyhow::Result<String> {
        let (_, lines) = self.talk.as_ref().expect("only workers are listened to");
        match lines.recv_timeout(ANSWER_MAX) {
            Ok(line) => Ok(line.trim_end().to_owned()),
            Err(RecvTimeoutError::Timeout) => bail!("{} says nothing for {ANSWER_MAX:?}", self.name),
            Err(RecvTimeoutError::Disconnected) => bail!("{} ended; its log may say why", self.name),
        }
    }

    pub fn send_line(&mut self, line: &str) -> anyhow::Result<()> {
        let (input, _) = self.talk.as_mut().expect("only workers are talked to");
        writeln!(input, "{line}").with_context(|| format!("writing to {}", self.name))
    }

    /// Waits until it takes connections there.
    pub fn listens(&mut self, address: SocketAddr) -> anyhow::Result<()> {
        let begun = Instant::now();
        while TcpStream::connect(address).is_err() {
            if let Some(status) = self.child.try_wait().context("asking for a process")? {
                bail!("{} ended before it was ready: {status}; its log may say why", self.name);
            }
            ensure!(begun.elapsed() < START_MAX, "{} does not listen on {address}", self.name);
            thread::sleep(POLL);
        }
        Ok(())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let signal = match self.end {
            End::Terminate => "-TERM",
            End::Interrupt => "-INT",
        };
        // Each of these fails only for a process that has ended already.
        let _ =
            Command::new("kill").args([signal, &self.child.id().to_string()]).stderr(Stdio::null()).status();
        let begun = Instant::now();
        while matches!(self.child.try_wait(), Ok(None)) {
            if begun.elapsed() > END_MAX {
                let _ = self.child.kill();
            }
            thread::sleep(POLL);
        }
    }
}

fn log(name: &str, logs: &Path) -> anyhow::Result<File> {
    let file = logs.join(format!("{name}.log"));
    File::create(&file).with_context(|| format!("making {}", file.display()))
}

/// A command that gets a signal when this program dies, however it does.
pub fn bound(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "TERM", "--"]).arg(program);
    command
}

/// A port that was free a moment ago.
pub fn free_address() -> anyhow::Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0").context("looking for a free port")?;
    listener.local_addr().context("looking for a free port")
}
