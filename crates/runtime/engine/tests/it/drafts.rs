//! A collection, and jobs in it.

use engine::jobs::JobCommand;
use kernel::job::{CollectionDraft, Draft, Expect, PutMode};
use types::{
    CollectionSpec, Gap, JobSpec, Missed, Overlap, Recurrence, Repeat, Retry, Span, Ticks, Timing, Uid,
};

pub const COLLECTION: &str = "s/g/c";

pub fn collection() -> JobCommand {
    let spec = CollectionSpec {
        jobs_max: 10_000,
        period_min: Span::from_secs(1),
        authentication: true,
        enabled: true,
    };
    let draft = CollectionDraft {
        subscription: "s".to_owned(),
        group: "g".to_owned(),
        name: "c".to_owned(),
        uid: Uid([7; 16]),
        spec,
        document: "{}".to_owned(),
    };
    JobCommand::PutCollection { draft, expect: Expect::Anything }
}

pub fn job(n: u8, start: Ticks, recurrence: Option<Recurrence>) -> JobCommand {
    let timing = Timing {
        start: Some(start),
        recurrence,
        zone: None,
        gap: Gap::End,
        repeat: Repeat::First,
        jitter: Span::ZERO,
    };
    let spec = JobSpec {
        timing,
        retry: Retry::Fixed { delay: Span::from_ms(1), attempts: 100 },
        alternative: None,
        missed: Missed::All,
        overlap: Overlap::Allow,
        enabled: true,
        authenticates: false,
    };
    let draft = Draft {
        name: format!("j{n}"),
        uid: Uid([n; 16]),
        spec,
        document: format!("{{\"number\":{n}}}"),
        delay: Span::ZERO,
    };
    JobCommand::PutJob {
        collection: COLLECTION.to_owned(),
        draft: Box::new(draft),
        expect: Expect::Anything,
        manner: PutMode::Replace,
    }
}
