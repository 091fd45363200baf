//! `cargo xtask`: every command of a developer, so that nobody has to remember flags.

mod azure_sdk;
mod brokers;
mod browser;
mod clients;
mod command;
mod dev_server;
mod docs;
mod fuzz;
mod invariants;
mod long;
mod node;
mod peers;
mod python;
mod ratchet;
mod reference;
mod schemathesis;
mod sim;
mod suite;
mod tidy;
mod torture;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// What can be asked of this repository.
#[derive(Parser)]
#[command(name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Everything that must hold: format, tidy, lints, all tests and a small torture round.
    Test,
    /// The fast part of it: format, tidy and lints.
    Check,
    /// What neither the compiler nor the linter looks at: lengths, layers of crates, names, words, links, invariants.
    Tidy,
    /// The page of invariants, made of the tests that guard them: refuses a stale one, or writes it with `--write`.
    Invariants {
        #[arg(long)]
        write: bool,
    },
    /// The published Python client of Azure Scheduler against the real binary; part of the tests.
    AzureSdk,
    /// Runs every command of the documents as it is printed; part of the tests.
    Docs(docs::Docs),
    /// Installs the brokers and external clients that the tests use; part of the tests.
    Brokers,
    /// Generates, checks and packs the clients in Python and TypeScript, and runs their examples; part of the tests.
    Clients(clients::Clients),
    /// Every page of the dashboard in a real browser; part of the tests.
    Browser(browser::Browser),
    /// Pictures of every page of the dashboard, light and dark, into docs/screenshots.
    Screenshots,
    /// Requests made up from the description of the API, against the real binary; part of the tests.
    Schemathesis(schemathesis::Schemathesis),
    /// Hostile bytes for every parser, guided by coverage; the tests have a small part of it.
    Fuzz(fuzz::Fuzz),
    /// Builds the simulator and runs it with these arguments: `--seeds N`, `--mutants`, `--replay`, or `--help`.
    #[command(trailing_var_arg = true, disable_help_flag = true)]
    Sim {
        #[arg(allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
    /// Counts the instructions of the hot paths; part of the tests.
    Ratchet(ratchet::Ratchet),
    /// The tables of docs/reference that are made of the code: refuses stale ones, or writes them with `--write`.
    Reference(reference::Reference),
    /// All proofs for as long as one likes, in parts that can be resumed.
    Long(long::Long),
    /// Builds the release binaries, or with `--dev` the others, and runs `torture` with these arguments: `all`, one
    /// fault, or `--help`.
    #[command(trailing_var_arg = true, disable_help_flag = true)]
    Torture {
        #[arg(allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
    /// Sortie and its peers doing the same work on this machine in one run, in one table; see bench/peers.
    BenchPeers(peers::BenchPeers),
    /// Builds the release binary and runs `sortie bench` with these arguments.
    #[command(trailing_var_arg = true, disable_help_flag = true)]
    Bench {
        #[arg(allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
}

fn main() -> ExitCode {
    match carry_out(Arguments::parse().task) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn carry_out(task: Task) -> anyhow::Result<()> {
    let root = root();
    match task {
        Task::Test => suite::test(&root),
        Task::Check => suite::check(&root),
        Task::Tidy => tidy::run(&root),
        Task::Invariants { write } => invariants::run(&root, write),
        Task::AzureSdk => {
            azure_sdk::run(&root).map(|tests| println!("\nxtask azure-sdk: {tests} tests passed"))
        }
        Task::Docs(asked) => docs::run(&root, &asked).map(|done| println!("xtask docs: {done}")),
        Task::Brokers => brokers::ensure(&root).map(|()| println!("xtask brokers: everything is installed")),
        Task::Clients(asked) => clients::run(&root, &asked).map(|done| println!("\nxtask clients: {done}")),
        Task::Browser(asked) => asked.run(&root),
        Task::Screenshots => browser::screenshots(&root),
        Task::Schemathesis(asked) => {
            schemathesis::run(&root, &asked).map(|done| println!("\nxtask schemathesis: {done}"))
        }
        Task::Fuzz(asked) => fuzz::run(&root, &asked),
        Task::Sim { arguments } => sim::run(&root, &arguments),
        Task::Ratchet(asked) => ratchet::run(&root, &asked).map(|done| println!("\nxtask ratchet: {done}")),
        Task::Reference(asked) => {
            reference::run(&root, &asked).map(|done| println!("xtask reference: {done}"))
        }
        Task::Long(asked) => long::run(&root, &asked),
        Task::Torture { arguments } => torture::run(&root, &arguments),
        Task::BenchPeers(asked) => peers::run(&root, &asked),
        Task::Bench { arguments } => bench(&root, &arguments),
    }
}

fn bench(root: &Path, arguments: &[OsString]) -> anyhow::Result<()> {
    let cargo = command::cargo(root, ["run", "--release", "--locked", "--package", "cli", "--", "bench"]);
    command::run(command::with(cargo, arguments))
}

fn root() -> PathBuf {
    let xtask = Path::new(env!("CARGO_MANIFEST_DIR"));
    xtask.ancestors().nth(2).expect("tools/xtask is two levels below the root").to_owned()
}
