//! Opening a damaged directory within this program: the start code of the server in a child of its own, so that
//! a panic or an abort does not end this one.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use anyhow::Context;
use clap::Args;
use serde::{Deserialize, Serialize};
use server::Config;

use super::PARTITIONS;
use super::damage::{self, Damage, Files};
use super::inventory::{Examined, Inventory};
use super::sort::OpenResult;
use crate::report::RoundResult;

/// The time limit of one opening: far more than it needs, even when waiting requests are executed.
const PATIENCE: Duration = Duration::from_secs(60);
const MEMORY_KIB_MAX: u64 = 1 << 20;

/// Opens directories that come in line by line. For `bitrot`
#[derive(Args)]
pub struct OpenDamaged {
    /// What the directories held
    #[arg(long)]
    inventory: PathBuf,
}

#[derive(Serialize, Deserialize)]
enum OpenReport {
    Refused(String),
    Opened(Examined),
}

/// What the child reports about one opening.
#[derive(Serialize, Deserialize)]
struct Report {
    line: OpenReport,
    memory_kib: u64,
}

impl OpenDamaged {
    pub async fn run(self) -> anyhow::Result<RoundResult> {
        tracing_subscriber::fmt().with_ansi(false).with_writer(std::io::stderr).init();
        let inventory: Inventory = serde_json::from_slice(&std::fs::read(&self.inventory)?)?;
        let mut line = String::new();
        // The parent waits for each response before it sends the next request, so blocking is fine.
        while std::io::stdin().read_line(&mut line)? > 0 {
            // Resets the peak of the previous one.
            std::fs::write("/proc/self/clear_refs", "5").context("resetting the peak of memory")?;
            let line_out = open(&inventory, Path::new(line.trim())).await?;
            let report = Report { line: line_out, memory_kib: peak_kib()? };
            println!("{}", serde_json::to_string(&report)?);
            line.clear();
        }
        Ok(RoundResult::Kept)
    }
}

async fn open(inventory: &Inventory, data: &Path) -> anyhow::Result<OpenReport> {
    let mut config = Config { partitions: PARTITIONS, ..Config::dev(data.to_owned(), 0) };
    config.journal.segment_bytes = 16 << 20;
    config.journal.reserve_bytes = 1 << 20;
    let running = match server::start(config).await {
        Ok(running) => running,
        Err(error) => return Ok(OpenReport::Refused(format!("{:#}", anyhow::Error::new(error)))),
    };
    let examined = inventory.examine(running.address(), None).await;
    running.stop().await;
    Ok(OpenReport::Opened(examined?))
}

fn peak_kib() -> anyhow::Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).context("the peak of memory")?;
    Ok(line.trim().trim_end_matches(" kB").parse()?)
}

/// A child that opens, and is replaced when it dies.
pub struct Opener {
    inventory: PathBuf,
    directory: PathBuf,
    log: PathBuf,
    child: Option<OpeningChild>,
}

struct OpeningChild {
    process: Child,
    lines: Receiver<String>,
}

impl Drop for OpeningChild {
    fn drop(&mut self) {
        // Both fail only for a process that has ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Opener {
    pub fn new(inventory: &Path, directory: &Path) -> anyhow::Result<Opener> {
        std::fs::create_dir_all(directory)?;
        let log = directory.join("openings.log");
        Ok(Opener { inventory: inventory.to_owned(), directory: directory.to_owned(), log, child: None })
    }

    /// Opens a damaged copy; also returns what was logged while it did.
    pub fn open(
        &mut self,
        files: &Files,
        damage: &Damage,
        number: usize,
    ) -> anyhow::Result<(OpenResult, String)> {
        let place = self.directory.join(number.to_string());
        damage::write(files, Some(damage), &place)?;
        let logged = std::fs::metadata(&self.log).map_or(0, |about| about.len());
        let result = self.ask(&place)?;
        let mut log = Vec::new();
        let mut file = File::open(&self.log)?;
        file.seek(SeekFrom::Start(logged))?;
        file.read_to_end(&mut log)?;
        std::fs::remove_dir_all(&place)?;
        Ok((result, String::from_utf8_lossy(&log).into_owned()))
    }

    fn ask(&mut self, place: &Path) -> anyhow::Result<OpenResult> {
        let mut child = match self.child.take() {
            Some(child) => child,
            None => self.start()?,
        };
        let input = child.process.stdin.as_mut().expect("the input is piped");
        writeln!(input, "{}", place.display()).context("asking for an opening")?;
        let line = match child.lines.recv_timeout(PATIENCE) {
            Ok(line) => line,
            Err(RecvTimeoutError::Timeout) => {
                return Ok(OpenResult::Died(format!("it hung for {PATIENCE:?}")));
            }
            Err(RecvTimeoutError::Disconnected) => {
                let status = child.process.wait().context("looking after an opening")?;
                return Ok(OpenResult::Died(format!("it died: {status}")));
            }
        };
        self.child = Some(child);
        let report: Report =
            serde_json::from_str(&line).with_context(|| format!("an opening printed {line}"))?;
        if report.memory_kib > MEMORY_KIB_MAX {
            return Ok(OpenResult::Died(format!("it took {} MiB of memory", report.memory_kib >> 10)));
        }
        Ok(match report.line {
            OpenReport::Refused(message) => OpenResult::Refused { message },
            OpenReport::Opened(examined) => OpenResult::Opened(examined),
        })
    }

    fn start(&self) -> anyhow::Result<OpeningChild> {
        let log = File::options().create(true).append(true).open(&self.log)?;
        let mut process = Command::new(std::env::current_exe()?)
            .arg("open-damaged")
            .arg("--inventory")
            .arg(&self.inventory)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .context("starting a child for openings")?;
        let output = process.stdout.take().expect("the output is piped");
        let (tx, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if tx.send(line).is_err() {
                    return;
                }
            }
        });
        Ok(OpeningChild { process, lines })
    }
}
