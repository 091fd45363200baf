//! The binary as its users have it: commands without a server and with one, terminals, benches and simulations.

#![allow(clippy::unwrap_used, reason = "a failed setup is a failed test")]

mod bench;
mod bulk;
mod offline;
mod online;
mod process;
mod reference;
mod simulate;
mod tail;
mod terminal;
mod tls;
