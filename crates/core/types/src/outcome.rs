//! What an attempt came to, sorted: the one thing the kernel learns of the outside.

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::Span;

/// How an attempt of an action ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Outcome {
    /// It was done; `output` is JSON that later steps can use.
    Done { status: u16, output: Bytes },
    /// The service said no: a business answer. Trying again would not help.
    Refused { status: Option<u16>, reason: String },
    /// A fault that may pass. `retry_after` is the service's own wish.
    Transient { status: Option<u16>, reason: String, retry_after: Option<Span> },
    /// The request may have been applied or not: its answer was lost or came too late.
    Unknown { reason: String },
}

/// A kind of [`Outcome`]. The names are part of the API, the CLI and the labels of metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutcomeKind {
    Done,
    Refused,
    Transient,
    Unknown,
}

impl OutcomeKind {
    pub const ALL: [OutcomeKind; 4] =
        [OutcomeKind::Done, OutcomeKind::Refused, OutcomeKind::Transient, OutcomeKind::Unknown];

    pub const fn name(self) -> &'static str {
        match self {
            OutcomeKind::Done => "done",
            OutcomeKind::Refused => "refused",
            OutcomeKind::Transient => "transient",
            OutcomeKind::Unknown => "unknown",
        }
    }

    /// The kind with this name.
    pub fn parse(name: &str) -> Option<OutcomeKind> {
        OutcomeKind::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

impl Outcome {
    pub const fn kind(&self) -> OutcomeKind {
        match self {
            Outcome::Done { .. } => OutcomeKind::Done,
            Outcome::Refused { .. } => OutcomeKind::Refused,
            Outcome::Transient { .. } => OutcomeKind::Transient,
            Outcome::Unknown { .. } => OutcomeKind::Unknown,
        }
    }

    /// The name of its kind.
    pub const fn name(&self) -> &'static str {
        self.kind().name()
    }
}
