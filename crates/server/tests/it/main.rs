//! End to end: a real server on a real disk, the real drone services, real HTTP.

#![allow(clippy::unwrap_used)]

mod azure;
mod bad_input;
mod changes;
mod client;
mod deliveries;
mod duplicates;
mod faults;
mod jobs;
mod jobs_target;
mod jobs_world;
mod parked;
mod restart;
mod stopped;
mod workflows;
mod world;
