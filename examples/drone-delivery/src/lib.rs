//! Drone Delivery: five plain HTTP services, a ledger of all they did, and switches that hurt them.

mod service;

mod check;
mod models;

mod answer;
mod call;

mod book;
mod commit;
mod ledger;

mod control;
mod fleet;
mod server;
mod switches;

mod audit;
pub mod workflows;

pub use audit::{Audit, Subject, audit};
pub use book::Totals;
pub use fleet::{Addresses, Durability, Fleet, Settings};
pub use ledger::{Effect, Entry, entries_of, read_directory};
pub use service::Service;
pub use switches::{Hits, Switches};
