//! Which situations durable events tell of.

use kernel::{DropReason, Event, Fact};

use crate::coverage::{Coverage, Sometimes};

pub fn note(coverage: &mut Coverage, event: &Event) {
    let case = match event {
        Event::Dropped { reason: DropReason::Duplicate, .. } => Sometimes::DroppedDuplicate,
        Event::CancelNoted { .. } => Sometimes::CancelBeforeTaken,
        Event::Run { fact, .. } => match fact {
            Fact::Begun => Sometimes::Queued,
            Fact::Parked { .. } => Sometimes::Parked,
            Fact::Decided { .. } => Sometimes::Decided,
            Fact::Undone => Sometimes::Undone,
            Fact::GivenUp => Sometimes::GivenUp,
            _ => return,
        },
        _ => return,
    };
    coverage.note(case);
}
