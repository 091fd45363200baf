//! Definitions as they are written, rendered and judged.

#![allow(clippy::unwrap_used, reason = "a failed setup is a failed test")]

mod bad_definitions;
mod common;
mod drone_delivery;
mod messages;
mod policies;
mod random;
mod speed;
mod templates;
