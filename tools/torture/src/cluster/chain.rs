//! Every stream of events read from its beginning: epochs rise by one with each claim, frames by one within them, and
//! each message names the one before it. The bytes are read here by themselves, not by the code that wrote them.

use anyhow::{Context, ensure};
use bytes::Bytes;
use journal_nats::{Installation, Login, NatsWire, Proof, Servers, Settings, Source, Tls, Wire, names};
use types::PartitionId;

use crate::cluster::region::{INSTALLATION, Layout, NATS_PASSWORD, NATS_USER, PARTITIONS};
use crate::report::Closing;

const PAGE_BYTES: usize = 1 << 20;
const HEAD_BYTES: usize = 52;
const CHECKSUM_BYTES: usize = 4;
const CLAIM: u8 = 1;
const FRAME: u8 = 2;

/// The header of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Link {
    kind: u8,
    partition: u16,
    epoch: u64,
    number: u64,
    before: u32,
    checksum: u32,
}

/// Reads all events streams of a region, counts claims and frames, and reports every break.
pub async fn check(layout: &Layout, closing: &mut Closing) -> anyhow::Result<()> {
    let client = connect(layout).await?;
    let (mut claims, mut frames) = (0u64, 0u64);
    for partition in (0..PARTITIONS).map(PartitionId).chain([PartitionId::CONTROL]) {
        let mut previous: Option<Link> = None;
        for (sequence, bytes) in all(&client, partition).await? {
            let link = read(&bytes)
                .and_then(|link| judge(&link, previous.as_ref(), partition, sequence).map(|()| link));
            match link {
                Ok(link) => {
                    claims += u64::from(link.kind == CLAIM);
                    frames += u64::from(link.kind == FRAME);
                    previous = Some(link);
                }
                Err(error) => {
                    closing.add_finding(format!("events of partition {partition} at {sequence}: {error:#}"));
                    break;
                }
            }
        }
    }
    closing.count(claims, "claims");
    closing.count(frames, "frames in order");
    Ok(())
}

async fn connect(layout: &Layout) -> anyhow::Result<NatsWire> {
    let installation =
        Installation { name: INSTALLATION.to_owned(), partitions: PARTITIONS, inbox_bytes_max: None };
    let login = Login::Password { user: NATS_USER.to_owned(), password: NATS_PASSWORD.to_owned() };
    let settings = Settings {
        servers: Servers(layout.nats_urls()),
        login,
        tls: Tls::default(),
        installation,
        replicas: 3,
        pair_domain: None,
        proof: Proof::Trusted,
    };
    NatsWire::connect(&settings).await.context("connecting to NATS")
}

/// All that the stream holds, with its sequences; a gap is an error.
async fn all(client: &NatsWire, partition: PartitionId) -> anyhow::Result<Vec<(u64, Bytes)>> {
    let stream = names::events_stream(INSTALLATION, partition);
    let bounds = client.bounds(&stream).await.with_context(|| format!("asking for {stream}"))?;
    let mut messages = Vec::new();
    let mut next = bounds.first.max(1);
    while next <= bounds.last {
        let page = client.range(&stream, next, bounds.last, PAGE_BYTES).await?;
        let page: Vec<_> = match page.first() {
            Some((first, _)) if *first == next => page,
            // Some replica lags: the leader has it.
            _ => {
                let one = client.get(&stream, next, Source::Leader).await?;
                vec![(next, one.with_context(|| format!("{stream} has no message {next}"))?)]
            }
        };
        for (sequence, bytes) in page {
            if sequence != next {
                break;
            }
            messages.push((sequence, bytes));
            next += 1;
        }
    }
    Ok(messages)
}

fn read(bytes: &Bytes) -> anyhow::Result<Link> {
    ensure!(bytes.len() >= HEAD_BYTES + CHECKSUM_BYTES, "it is too short");
    let (body, end) = bytes.split_at(bytes.len() - CHECKSUM_BYTES);
    let checksum = u32::from_le_bytes(end.try_into()?);
    ensure!(crc32c::crc32c(body) == checksum, "its checksum does not fit");
    ensure!(body.starts_with(b"SrtE"), "it is not a message of the events");
    Ok(Link {
        kind: body[5],
        partition: u16::from_le_bytes(body[6..8].try_into()?),
        epoch: u64::from_le_bytes(body[8..16].try_into()?),
        number: u64::from_le_bytes(body[16..24].try_into()?),
        before: u32::from_le_bytes(body[24..28].try_into()?),
        checksum,
    })
}

fn judge(link: &Link, previous: Option<&Link>, partition: PartitionId, sequence: u64) -> anyhow::Result<()> {
    ensure!(link.partition == partition.0, "it is of partition {}", link.partition);
    ensure!(link.number + link.epoch == sequence, "frame {} of epoch {} is there", link.number, link.epoch);
    ensure!(link.kind == CLAIM || link.kind == FRAME, "it is neither a claim nor a frame");
    // What came before the first that is left was trimmed.
    let Some(previous) = previous else { return Ok(()) };
    ensure!(link.before == previous.checksum, "it does not follow the message before it");
    let expected = match link.kind {
        CLAIM => (previous.epoch + 1, previous.number),
        _ => (previous.epoch, previous.number + 1),
    };
    ensure!((link.epoch, link.number) == expected, "{link:?} after {previous:?}");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(kind: u8, epoch: u64, number: u64) -> Link {
        Link { kind, partition: 3, epoch, number, before: 7, checksum: 7 }
    }

    #[test]
    fn only_what_may_follow_is_taken() {
        let p = PartitionId(3);
        let frame = link(FRAME, 2, 5);
        judge(&frame, None, p, 7).unwrap();
        judge(&link(FRAME, 2, 6), Some(&frame), p, 8).unwrap();
        judge(&link(CLAIM, 3, 5), Some(&frame), p, 8).unwrap();
        for (wrong, sequence) in [
            (link(FRAME, 1, 7), 8),
            (link(FRAME, 3, 5), 8),
            (link(CLAIM, 2, 6), 8),
            (link(FRAME, 2, 6), 9),
            (Link { before: 8, ..link(FRAME, 2, 6) }, 8),
            (Link { partition: 4, ..link(FRAME, 2, 6) }, 8),
        ] {
            assert!(judge(&wrong, Some(&frame), p, sequence).is_err(), "{wrong:?}");
        }
    }
}
