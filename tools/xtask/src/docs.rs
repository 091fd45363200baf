//! `cargo xtask docs`: runs every command of the documents as it is printed, and compares what comes with the page.
//!
//! What a fenced block is, its first line says. Viewers of Markdown show the block and leave the words out.
//!
//! | first line | what is done with it |
//! |---|---|
//! | `sh` | run, in order, in one folder per page; it must succeed |
//! | `sh background` | started, and ended with the page; it is ready when it has printed what is below it |
//! | `sh wait` | repeated until its output is the one below it |
//! | `sh fails` | run; it must fail |
//! | `sh not-run="why"` | not run; it is listed with its reason |
//! | `text`, `json output` | what the commands before it print; `…` stands for anything, on a line of its own for lines |
//! | `yaml title=order.yaml` | written to that file |
//! | `text figure` | a drawing, or a shape of something |
//! | `yaml`, `toml`, `json`, … | shown, nothing more |
//!
//! Commands of `sortie` that a page names in its text must exist; addresses on this machine in angle brackets are opened
//! when the page has been run.
//!
//! Durations of less than a minute and times of day in UTC may differ from those on the page; so may spaces.

mod blocks;
mod expect;
mod named;
mod page;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::thread;

use anyhow::{Context, ensure};
use clap::Args;

use crate::command;
use crate::peers::install::{apt, on_path};

/// Which pages, and with which binary.
#[derive(Debug, Args)]
pub struct Docs {
    /// The pages; without any: README.md, CONTRIBUTING.md and all below docs
    pages: Vec<String>,
    /// The binary that the pages call; without it: a fresh development build
    #[arg(long)]
    sortie: Option<PathBuf>,
    /// The folder for one page: this process has its own network
    #[arg(long, hide = true)]
    alone: Option<PathBuf>,
}

impl Docs {
    /// All pages with the development build: what is part of the tests.
    pub fn all() -> Docs {
        Docs { pages: Vec::new(), sortie: None, alone: None }
    }
}

/// Pages that run at the same time: each has a network, processes and files of its own.
const AT_ONCE: usize = 2;

/// Runs the pages and says what came of them.
pub fn run(root: &Path, asked: &Docs) -> anyhow::Result<String> {
    let pages = if asked.pages.is_empty() { all_pages(root)? } else { asked.pages.clone() };
    if let Some(folder) = &asked.alone {
        let sortie = asked.sortie.as_ref().context("--alone needs --sortie")?;
        let [name] = pages.as_slice() else { anyhow::bail!("--alone takes one page") };
        return page::run(root, name, sortie, folder);
    }
    // Every page is read before any of them is run: a wrong first line should not wait for them.
    let mut runnable = Vec::new();
    let (mut blocks, mut left_out) = (0, Vec::new());
    for name in &pages {
        let steps = page::read(root, name)?;
        blocks += steps.iter().filter(|step| step.is_run()).count();
        left_out.extend(steps.iter().filter_map(|step| step.left_out(name)));
        if steps.iter().any(blocks::Step::is_run) {
            runnable.push(name.clone());
        }
    }
    for line in &left_out {
        println!("not run: {line}");
    }
    let Some(alone) = alone() else {
        println!(
            "SKIPPED: docs: unshare cannot create a network namespace here, and the pages use the usual ports"
        );
        return Ok("docs SKIPPED".to_owned());
    };
    for (package, program) in [("curl", "curl"), ("jq", "jq"), ("python3", "python3"), ("iproute2", "ip")] {
        apt(package, || on_path(program))?;
    }
    let sortie = match &asked.sortie {
        Some(sortie) => {
            fs::canonicalize(sortie).with_context(|| format!("looking for {}", sortie.display()))?
        }
        None => command::build_all(root)?.join("sortie"),
    };
    let named = named_commands(root, &pages)?;
    let unknown = named::unknown(&named, &sortie)?;
    ensure!(unknown.is_empty(), "{}", unknown.join("\n"));
    let count = runnable.len();
    run_all(runnable, &alone, &sortie)?;
    Ok(format!(
        "{blocks} blocks of {count} pages, {} not run, {} commands named",
        left_out.len(),
        named.len()
    ))
}

/// Every command that the text of a page names, with the first page that does.
fn named_commands(root: &Path, pages: &[String]) -> anyhow::Result<BTreeMap<Vec<String>, String>> {
    let mut named = BTreeMap::new();
    for name in pages {
        let text = fs::read_to_string(root.join(name)).with_context(|| format!("reading {name}"))?;
        for words in named::commands(&text) {
            named.entry(words).or_insert_with(|| name.clone());
        }
    }
    Ok(named)
}

fn run_all(mut pages: Vec<String>, alone: &[&str], sortie: &Path) -> anyhow::Result<()> {
    let built = command::built("debug")?;
    let target = built.parent().context("finding the target directory")?;
    let scratch = target.join(format!("docs-{}", std::process::id()));
    fs::create_dir_all(&scratch).with_context(|| format!("making {}", scratch.display()))?;
    pages.reverse();
    let (waiting, failed) = (Mutex::new(pages), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                loop {
                    let Some(name) = waiting.lock().expect("nobody panics with the lock").pop() else {
                        return;
                    };
                    if let Err(error) = run_alone(&name, alone, sortie, &scratch.join(name.replace('/', "-")))
                    {
                        eprintln!("{name}: {error:#}");
                        failed.lock().expect("nobody panics with the lock").push(name);
                    }
                }
            });
        }
    });
    let failed = failed.into_inner().expect("nobody panics with the lock");
    ensure!(failed.is_empty(), "{} failed; what they left is in {}", failed.join(", "), scratch.display());
    fs::remove_dir_all(&scratch).with_context(|| format!("removing {}", scratch.display()))
}

/// One page in a process of its own, with which everything ends that the page started.
fn run_alone(name: &str, alone: &[&str], sortie: &Path, folder: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(folder).with_context(|| format!("making {}", folder.display()))?;
    // Not by asking for the file of this process: a build of everything has put a newer one in its place.
    let own = command::built("debug")?.join("xtask");
    let mut page = Command::new("unshare");
    page.args(alone).arg(own).args(["docs", name, "--sortie"]).arg(sortie).arg("--alone").arg(folder);
    command::run(page)
}

/// What gives a command a network and processes of its own here, if anything does.
fn alone() -> Option<Vec<&'static str>> {
    let ways: [&[&str]; 2] = [&[], &["--user", "--map-root-user"]];
    ways.into_iter().find_map(|who| {
        let flags = [who, &["--net", "--pid", "--fork", "--kill-child", "--mount-proc"]].concat();
        let mut trial = Command::new("unshare");
        trial.args(&flags).arg("true").stdout(Stdio::null()).stderr(Stdio::null());
        trial.status().is_ok_and(|status| status.success()).then_some(flags)
    })
}

fn all_pages(root: &Path) -> anyhow::Result<Vec<String>> {
    let mut pages = vec!["README.md".to_owned(), "CONTRIBUTING.md".to_owned()];
    let mut folders = vec!["docs".to_owned()];
    while let Some(folder) = folders.pop() {
        let listing = root.join(&folder);
        for entry in fs::read_dir(&listing).with_context(|| format!("reading {}", listing.display()))? {
            let entry = entry?;
            let path = format!("{folder}/{}", entry.file_name().to_string_lossy());
            if entry.file_type()?.is_dir() {
                folders.push(path);
            } else if path.ends_with(".md") {
                pages.push(path);
            }
        }
    }
    pages.sort();
    Ok(pages)
}
