//! What the process provides to its parts: the clock, new ids, histograms, its memory use, tasks that never die silently, and TLS.

mod clock;
mod histogram;
mod memory;
mod task;
#[cfg(feature = "tls")]
pub mod tls;

pub use clock::Clock;
pub use histogram::{Counted, Histogram};
pub use memory::{Memory, resident_bytes};
pub use task::{run_blocking, spawn, survive_panics};

use types::RunId;

/// A new run id: a UUIDv7, so that ids sort by the time they were made.
pub fn new_run_id() -> RunId {
    let mut buffer = [0; uuid::fmt::Hyphenated::LENGTH];
    let text = uuid::Uuid::now_v7().hyphenated().encode_lower(&mut buffer);
    RunId::new(text).expect("a UUID is a valid run id")
}
