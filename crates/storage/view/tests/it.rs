//! The view from outside: its contents through flushes, losses, damage and concurrent use.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "it/common.rs"]
mod common;
#[path = "it/damage.rs"]
mod damage;
#[path = "it/jobs.rs"]
mod jobs;
#[path = "it/lists.rs"]
mod lists;
#[path = "it/measure.rs"]
mod measure;
#[path = "it/model.rs"]
mod model;
#[path = "it/protocol.rs"]
mod protocol;
#[path = "it/tables.rs"]
mod tables;
#[path = "it/threads.rs"]
mod threads;
