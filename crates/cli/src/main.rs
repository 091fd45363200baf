//! The binary `sortie`: the server, its command line and its benchmarks.

mod arguments;

mod cluster;
mod dev;
mod serve;

mod bulk;
mod completions;
mod doctor;
mod exit_codes;
mod job;
mod parked;
mod partition;
mod queue;
mod reference;
mod region;
mod run;
mod service;
mod simulate;
mod top;
mod topic;
mod workflow;

mod client;
mod session;
mod signals;

mod failure;
mod file;
mod json;
mod names;
mod page;
mod roles;
mod watch;
mod when;

use std::process::ExitCode;

use terminal::{machine, screen, table};

use crate::arguments::Arguments;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let (arguments, words) = match Arguments::read() {
        Ok(read) => read,
        Err(error) => return failure::usage(&error),
    };
    arguments.run().unwrap_or_else(|error| failure::report(&error, &words))
}
