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
