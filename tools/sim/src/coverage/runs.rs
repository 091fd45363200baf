//! Situations that durable events of runs show.

use kernel::{DropReason, Event, Fact};

use crate::coverage::{Coverage, Situation};

pub fn note(coverage: &mut Coverage, event: &Event) {
    let case = match event {
        Event::Dropped { reason: DropReason::Duplicate, .. } => Situation::DroppedDuplicate,
        Event::CancelNoted { .. } => Situation::CancelBeforeTaken,
        Event::Run { fact, .. } => match fact {
            Fact::Begun => Situation::Queued,
            Fact::Parked { .. } => Situation::Parked,
            Fact::Decided { .. } => Situation::Decided,
            Fact::Undone => Situation::Undone,
            Fact::GivenUp => Situation::GivenUp,
            _ => return,
        },
        _ => return,
    };
    coverage.note(case);
}
