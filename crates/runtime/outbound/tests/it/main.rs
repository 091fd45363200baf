//! Calls over real sockets, to servers that behave badly on purpose and to external ones.

#![allow(clippy::unwrap_used, reason = "a failed setup is a failed test")]

mod azurite;
mod client;
mod egress;
mod flow;
mod job;
mod job_certificate;
mod job_message;
mod job_oauth;
mod namespace;
mod reuse;
mod speed;
mod support;
mod tls;
