//! All targets: one file for each parser, or for a few that read the same.

mod answer;
mod codec;
mod collection;
mod config;
mod cron;
mod crontab;
mod cursor;
mod definition;
mod expression;
mod frame;
mod headers;
mod http;
mod job;
mod journal;
mod json;
mod recurrence;
mod schema;
mod secrets;
mod url;
mod wire;

use crate::target::Target;

pub const ALL: &[Target] = &[
    frame::TARGET,
    journal::TARGET,
    codec::TARGET,
    json::TARGET,
    definition::TARGET,
    expression::TARGET,
    schema::TARGET,
    recurrence::TARGET,
    cron::TARGET,
    crontab::TARGET,
    job::TARGET,
    collection::TARGET,
    headers::TARGET,
    answer::TARGET,
    url::TARGET,
    config::TARGET,
    secrets::TARGET,
    secrets::CERTIFICATE,
    cursor::TARGET,
    wire::TARGET,
    http::TARGET,
];

/// Writes the checksum that belongs to bytes of one segment of one installation.
fn checksummed(installation: u128, segment: u32, bytes: &mut [u8], at: usize) {
    let seeded = crc32c::crc32c(&installation.to_le_bytes());
    let seeded = crc32c::crc32c_append(seeded, &segment.to_le_bytes());
    let sum = crc32c::crc32c_append(seeded, &bytes[..at]);
    bytes[at..at + 4].copy_from_slice(&sum.to_le_bytes());
}
