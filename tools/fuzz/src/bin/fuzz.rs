//! Replays inputs, and writes down what a target begins with.

use std::path::{Path, PathBuf};
use std::{fs, io};

use anyhow::Context;
use clap::{Parser, Subcommand};
use fuzz::{Target, files, targets};

#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// The names of the targets.
    List,
    /// Runs a target over one input, as it is.
    Replay { target: String, file: PathBuf },
    /// Writes the seeds and the dictionary of a target into a directory.
    Seeds { target: String, directory: PathBuf },
}

fn main() -> anyhow::Result<()> {
    match Arguments::parse().task {
        Task::List => targets::ALL.iter().for_each(|target| println!("{}", target.name)),
        Task::Replay { target, file } => {
            let input = fs::read(&file).with_context(|| format!("reading {}", file.display()))?;
            (find(&target)?.run)(&input);
            println!("{target}: {} bytes, and all held", input.len());
        }
        Task::Seeds { target, directory } => write_seeds(find(&target)?, &directory)
            .with_context(|| format!("writing to {}", directory.display()))?,
    }
    Ok(())
}

fn find(name: &str) -> anyhow::Result<&'static Target> {
    fuzz::find(name).with_context(|| format!("there is no target '{name}'; see: fuzz list"))
}

/// `seed-n` files, and `../<target>.dict` as libFuzzer reads it.
fn write_seeds(target: &Target, directory: &Path) -> io::Result<()> {
    fs::create_dir_all(directory)?;
    let committed = files::corpus(target.name)?.into_iter().chain(files::regressions(target.name)?);
    let inputs = (target.seeds)().into_iter().chain(committed.map(|(_, input)| input));
    for (n, input) in inputs.enumerate() {
        fs::write(directory.join(format!("seed-{n}")), input)?;
    }
    let quoted = |word: &&str| {
        let bytes: String = word.bytes().map(|byte| format!("\\x{byte:02x}")).collect();
        format!("\"{bytes}\"\n")
    };
    let dictionary: String = target.words.iter().map(quoted).collect();
    fs::write(directory.with_extension("dict"), dictionary)
}
