//! End to end: a real server on a real disk, the real drone services, real HTTP.

#![allow(clippy::unwrap_used)]

mod admission;
mod azure;
mod bad_input;
mod bulk;
mod bus;
mod calls;
mod changes;
mod client;
mod deliveries;
mod duplicates;
mod error_actions;
mod faults;
mod jobs;
mod jobs_target;
mod jobs_world;
mod manifests;
mod messages_of_runs;
mod numbers;
mod pages_of_things;
mod pages_runs;
mod pages_signed_in;
mod parked;
mod queues;
mod queues_refused;
mod refused_nats;
mod restart;
mod routes;
mod stopped;
mod tail;
mod topics;
mod witnessed;
mod workflows;
mod world;
