//! An ended run and its encoding: a version byte, its summary, then its detail unchanged.

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use types::{BodyHash, Key, RunId, RunStatus, Timestamp, WorkflowName};

/// A run that has ended, with all its data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndedRun {
    pub id: RunId,
    pub workflow: WorkflowName,
    pub version: u32,
    pub key: Key,
    /// A final one.
    pub status: RunStatus,
    pub accepted_at: Timestamp,
    pub ended_at: Timestamp,
    pub body_hash: BodyHash,
    pub reason: Option<String>,
    /// Request and timeline, opaque to the view; compressed on disk.
    pub detail: Bytes,
}

/// A run as a list shows it: all but its detail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunSummary {
    pub id: RunId,
    pub workflow: WorkflowName,
    pub version: u32,
    pub key: Key,
    pub status: RunStatus,
    pub accepted_at: Timestamp,
    pub ended_at: Timestamp,
    pub body_hash: BodyHash,
    pub reason: Option<String>,
}

impl EndedRun {
    /// The run without its detail.
    pub fn summary(&self) -> RunSummary {
        RunSummary {
            id: self.id.clone(),
            workflow: self.workflow.clone(),
            version: self.version,
            key: self.key.clone(),
            status: self.status,
            accepted_at: self.accepted_at,
            ended_at: self.ended_at,
            body_hash: self.body_hash,
            reason: self.reason.clone(),
        }
    }
}

/// The first byte of every value; any other is from a version that this one does not know.
const FORMAT: u8 = 1;

/// The summary as stored. Field order and types are part of the data format: they never change under one `FORMAT`.
#[derive(Serialize, Deserialize)]
struct Stored<'a> {
    id: &'a str,
    workflow: &'a str,
    version: u32,
    key: &'a str,
    status: u8,
    accepted_at: i64,
    ended_at: i64,
    body_hash: [u8; 16],
    reason: Option<&'a str>,
}

/// The value of the small table of seen ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SeenId {
    pub body_hash: BodyHash,
    pub accepted_at: Timestamp,
}

/// The status byte in keys and values: part of the data format. Only final statuses reach the view.
pub(crate) fn status_byte(status: RunStatus) -> Option<u8> {
    match status {
        RunStatus::Completed => Some(b'c'),
        RunStatus::Undone => Some(b'u'),
        RunStatus::GivenUp => Some(b'g'),
        RunStatus::Accepted | RunStatus::Queued | RunStatus::Running => None,
        RunStatus::Undoing | RunStatus::Parked => None,
    }
}

fn status_of(byte: u8) -> Option<RunStatus> {
    RunStatus::ALL.into_iter().find(|status| status_byte(*status) == Some(byte))
}

/// The summary as bytes, with room for `extra` more.
pub(crate) fn encode_summary(run: &EndedRun, status: u8, extra: usize) -> Vec<u8> {
    let stored = Stored {
        id: run.id.as_str(),
        workflow: run.workflow.as_str(),
        version: run.version,
        key: run.key.as_str(),
        status,
        accepted_at: run.accepted_at.0,
        ended_at: run.ended_at.0,
        body_hash: run.body_hash.0,
        reason: run.reason.as_deref(),
    };
    let mut bytes = Vec::with_capacity(256 + extra);
    bytes.push(FORMAT);
    postcard::to_extend(&stored, bytes).expect("a vector takes all that is written to it")
}

/// The summary at the start of `bytes`, and the bytes after it; or why they are invalid.
pub(crate) fn decode_summary(bytes: &[u8]) -> Result<(RunSummary, &[u8]), String> {
    let body = strip_format(bytes)?;
    let (stored, rest) = postcard::take_from_bytes::<Stored>(body).map_err(|error| error.to_string())?;
    let summary = RunSummary {
        id: RunId::new(stored.id).map_err(|error| error.to_string())?,
        workflow: WorkflowName::new(stored.workflow).map_err(|error| error.to_string())?,
        version: stored.version,
        key: Key::new(stored.key).map_err(|error| error.to_string())?,
        status: status_of(stored.status).ok_or_else(|| format!("status {:#04x}", stored.status))?,
        accepted_at: Timestamp(stored.accepted_at),
        ended_at: Timestamp(stored.ended_at),
        body_hash: BodyHash(stored.body_hash),
        reason: stored.reason.map(str::to_owned),
    };
    Ok((summary, rest))
}

pub(crate) fn decode_run(bytes: &[u8]) -> Result<EndedRun, String> {
    let (summary, detail) = decode_summary(bytes)?;
    Ok(EndedRun {
        id: summary.id,
        workflow: summary.workflow,
        version: summary.version,
        key: summary.key,
        status: summary.status,
        accepted_at: summary.accepted_at,
        ended_at: summary.ended_at,
        body_hash: summary.body_hash,
        reason: summary.reason,
        detail: Bytes::copy_from_slice(detail),
    })
}

impl SeenId {
    pub(crate) fn encode(&self) -> [u8; 25] {
        let mut bytes = [FORMAT; 25];
        bytes[1..17].copy_from_slice(&self.body_hash.0);
        bytes[17..].copy_from_slice(&self.accepted_at.0.to_be_bytes());
        bytes
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<SeenId, String> {
        let body: &[u8; 24] = strip_format(bytes)?.try_into().map_err(|_| "a seen id of a wrong size")?;
        let (hash, time) = body.split_at(16);
        Ok(SeenId {
            body_hash: BodyHash(hash.try_into().expect("split at 16")),
            accepted_at: Timestamp(i64::from_be_bytes(time.try_into().expect("24 - 16 are 8"))),
        })
    }
}

/// The value of the flush mark.
pub(crate) fn encode_mark(through: u64) -> [u8; 9] {
    let mut bytes = [FORMAT; 9];
    bytes[1..].copy_from_slice(&through.to_be_bytes());
    bytes
}

pub(crate) fn decode_mark(bytes: &[u8]) -> Result<u64, String> {
    let body = strip_format(bytes)?.try_into().map_err(|_| "a flush mark of a wrong size")?;
    Ok(u64::from_be_bytes(body))
}

fn strip_format(bytes: &[u8]) -> Result<&[u8], String> {
    match bytes.split_first() {
        Some((&FORMAT, body)) => Ok(body),
        Some((format, _)) => Err(format!("a value of format {format}, this version knows {FORMAT}")),
        None => Err("an empty value".to_owned()),
    }
}
