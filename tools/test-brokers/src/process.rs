//! A process with a folder of its own; both go with what holds them.

use std::fs::{self, File};
use std::io::Write;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use rustix::process::{Pid, Signal, kill_process_group};
use tempfile::TempDir;

/// Generous: a broker on a busy machine takes its time.
const START_MAX: Duration = Duration::from_secs(90);
const END_MAX: Duration = Duration::from_secs(10);
const POLL: Duration = Duration::from_millis(20);

/// A process and all that it starts, as one group.
pub(crate) struct Process {
    name: &'static str,
    child: Child,
    /// Ends the group when this process dies without having done so.
    watch: Watch,
    log: PathBuf,
    listens: Option<SocketAddr>,
    /// Whether it was waited for: then its id may be another's.
    ended: bool,
}

impl Process {
    pub(crate) fn start(name: &'static str, mut command: Command, folder: &Path) -> anyhow::Result<Process> {
        let log = folder.join(format!("{name}.log"));
        let output = File::options().create(true).append(true).open(&log).context("opening a log")?;
        let errors = output.try_clone().context("opening a log twice")?;
        // What it leaves where it stands goes with the folder.
        command.current_dir(folder).stdin(Stdio::null()).stdout(output).stderr(errors).process_group(0);
        let child = command.spawn().with_context(|| format!("starting {name}"))?;
        let group = child.id().to_string();
        let watch = Watch::start("kill -s KILL -- \"-$1\"", &group)?;
        Ok(Process { name, child, watch, log, listens: None, ended: false })
    }

    /// Waits until it takes connections there.
    pub(crate) fn listens(&mut self, address: SocketAddr) -> anyhow::Result<()> {
        let begun = Instant::now();
        while TcpStream::connect(address).is_err() {
            if let Some(status) = self.child.try_wait().context("asking for a process")? {
                bail!("{} ended before it was ready: {status}\n{}", self.name, self.said());
            }
            ensure!(
                begun.elapsed() < START_MAX,
                "{} does not listen on {address}\n{}",
                self.name,
                self.said()
            );
            thread::sleep(POLL);
        }
        self.listens = Some(address);
        Ok(())
    }

    /// Stops it where it is, as if its machine had frozen.
    pub(crate) fn freeze(&self) {
        self.signal(Signal::STOP);
    }

    pub(crate) fn thaw(&self) {
        self.signal(Signal::CONT);
    }

    /// Asks it to end, and waits until it has; one that does not is killed.
    pub(crate) fn end(mut self) {
        self.signal(Signal::TERM);
        let asked = Instant::now();
        while asked.elapsed() < START_MAX && !self.ended {
            self.ended = matches!(self.child.try_wait(), Ok(Some(_)));
            thread::sleep(POLL);
        }
    }

    /// Whether it has ended by itself.
    pub(crate) fn has_ended(&mut self) -> bool {
        self.ended |= matches!(self.child.try_wait(), Ok(Some(_)));
        self.ended
    }

    fn signal(&self, signal: Signal) {
        let group = Pid::from_raw(i32::try_from(self.child.id()).expect("ids of processes are small"));
        // It fails only for a group that has ended.
        let _ = kill_process_group(group.expect("no process has the id 0"), signal);
    }

    pub(crate) fn said(&self) -> String {
        fs::read_to_string(&self.log).unwrap_or_default()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if !self.ended {
            self.signal(Signal::KILL);
            let _ = self.child.wait();
        }
        // What it has started is not ours to wait for, and takes a moment longer.
        let killed = Instant::now();
        while self.listens.is_some_and(|address| TcpStream::connect(address).is_ok())
            && killed.elapsed() < END_MAX
        {
            thread::sleep(POLL);
        }
        // The id of the group may be given to others from now on.
        self.watch.forget();
    }
}

/// A folder that is gone with this, or with the process.
pub(crate) struct Folder {
    folder: TempDir,
    watch: Watch,
}

impl Folder {
    pub(crate) fn new() -> anyhow::Result<Folder> {
        let folder = TempDir::with_prefix("peer-").context("making a folder")?;
        // The processes that write there are stopped first.
        let watch = Watch::start("sleep 1; rm -rf -- \"$1\"", &folder.path().to_string_lossy())?;
        Ok(Folder { folder, watch })
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn write(&self, name: &str, text: &str) -> anyhow::Result<PathBuf> {
        let file = self.path().join(name);
        fs::write(&file, text).with_context(|| format!("writing {}", file.display()))?;
        Ok(file)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        self.watch.forget();
    }
}

/// A shell that waits for the end of this process, however it comes: then the pipe between them closes.
struct Watch {
    shell: Child,
}

impl Watch {
    fn start(script: &str, argument: &str) -> anyhow::Result<Watch> {
        let script = format!("read line && exit 0; {script}");
        let mut shell = Command::new("sh");
        shell.args(["-c", &script, "watch", argument]).process_group(0);
        shell.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        Ok(Watch { shell: shell.spawn().context("starting a shell")? })
    }

    fn forget(&mut self) {
        if let Some(mut pipe) = self.shell.stdin.take() {
            let _ = pipe.write_all(b"forget\n");
        }
        let _ = self.shell.wait();
    }
}

/// A port that was free a moment ago.
pub(crate) fn free_port() -> anyhow::Result<u16> {
    let listener = TcpListener::bind("127.0.0.1:0").context("looking for a free port")?;
    Ok(listener.local_addr().context("looking for a free port")?.port())
}

/// A free port below those that the system gives to outgoing connections, so that a server that is down for a while
/// finds it free when it comes back.
pub(crate) fn lasting_port() -> anyhow::Result<u16> {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    const FIRST: u32 = 12_000;
    const COUNT: u32 = 20_000;
    for _ in 0..COUNT {
        // Processes begin far from each other.
        let step = u32::from(NEXT.fetch_add(1, Ordering::Relaxed));
        let port = (FIRST + (std::process::id().wrapping_mul(97) + step) % COUNT) as u16;
        if TcpListener::bind(local(port)).is_ok() {
            return Ok(port);
        }
    }
    bail!("no port is free")
}

pub(crate) fn local(port: u16) -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], port))
}
