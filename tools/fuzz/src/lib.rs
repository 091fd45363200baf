//! Hostile bytes for every parser that sees what others wrote: the targets, and how inputs for them are made.
//!
//! A target is a function of bytes that panics when something does not hold. Two drivers feed it: [`drive`] in every
//! test run, from a seed, and libFuzzer in `cargo xtask fuzz`, by coverage.

pub mod drive;
pub mod files;
pub mod input;
pub mod measure;
pub mod mutate;
pub mod target;
pub mod targets;

pub use target::{Target, find};
