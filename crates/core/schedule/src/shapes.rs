//! The members of jobs and collections: which there are, of which kind, and which must be there.

mod action;

use std::sync::LazyLock;

use crate::shape::{MemberKind, Shape, optional, required};
use crate::spelling::{
    CollectionState, Frequency, Gap, Missed, Overlap, Plan, QuotaFrequency, Repeat, Switch, WeekDay,
};

pub use self::action::{action_members, secret_members};

use self::action::ACTION;

const COUNT_MAX: i64 = i32::MAX as i64;
const NOT_TO_CHOOSE: &str = "is set by the server: write enabled or disabled";
const BELONGS_BELOW: &str = "unknown member; it belongs below properties";

/// The body of a PUT or PATCH of a job.
pub(crate) static JOB: LazyLock<Shape> = LazyLock::new(|| Shape {
    members: vec![
        optional("id", MemberKind::ReadOnly),
        optional("type", MemberKind::ReadOnly),
        optional("name", MemberKind::ReadOnly),
        optional("etag", MemberKind::ReadOnly),
        required("properties", MemberKind::Object(&JOB_PROPERTIES)),
    ],
    hints: &[
        ("action", BELONGS_BELOW),
        ("recurrence", BELONGS_BELOW),
        ("startTime", BELONGS_BELOW),
        ("state", BELONGS_BELOW),
        ("cron", BELONGS_BELOW),
        ("timeZone", BELONGS_BELOW),
        ("at", BELONGS_BELOW),
    ],
});

pub(crate) static JOB_PROPERTIES: LazyLock<Shape> = LazyLock::new(|| Shape {
    members: vec![
        optional("startTime", MemberKind::Date),
        required("action", MemberKind::Object(&ACTION)),
        optional("recurrence", MemberKind::Object(&RECURRENCE)),
        optional("at", MemberKind::Moment),
        optional("timeZone", MemberKind::Zone),
        optional("clockChange", MemberKind::Object(&CLOCK_CHANGE)),
        optional("missed", MemberKind::Word(Missed::SPELLINGS)),
        optional("overlap", MemberKind::Word(Overlap::SPELLINGS)),
        optional("jitter", MemberKind::Duration),
        optional(
            "state",
            MemberKind::WordOf {
                allowed: Switch::SPELLINGS,
                refused: &[("completed", NOT_TO_CHOOSE), ("faulted", NOT_TO_CHOOSE)],
            },
        ),
        optional("status", MemberKind::Status),
        optional("cron", MemberKind::Cron),
    ],
    hints: &[
        ("retryPolicy", "unknown member; it belongs to the action, as properties.action.retryPolicy"),
        ("errorAction", "unknown member; it belongs to the action, as properties.action.errorAction"),
        ("schedule", "unknown member; it belongs to the recurrence, as properties.recurrence.schedule"),
        ("endTime", "unknown member; it belongs to the recurrence, as properties.recurrence.endTime"),
    ],
});

/// A job as far as its time goes; the rest is passed over.
pub(crate) static PREVIEW: LazyLock<Shape> = LazyLock::new(|| Shape {
    members: vec![
        optional("startTime", MemberKind::Date),
        optional("recurrence", MemberKind::Object(&RECURRENCE)),
        optional("at", MemberKind::Moment),
        optional("timeZone", MemberKind::Zone),
        optional("clockChange", MemberKind::Object(&CLOCK_CHANGE)),
        optional("jitter", MemberKind::Duration),
        optional("cron", MemberKind::Cron),
        optional("now", MemberKind::Date),
        optional("count", MemberKind::Whole { min: 1, max: crate::limits::PREVIEW_MAX as i64 }),
        optional("action", MemberKind::ReadOnly),
        optional("missed", MemberKind::ReadOnly),
        optional("overlap", MemberKind::ReadOnly),
        optional("state", MemberKind::ReadOnly),
        optional("status", MemberKind::ReadOnly),
    ],
    hints: &[],
});

static RECURRENCE: LazyLock<Shape> = LazyLock::new(|| Shape {
    members: vec![
        optional("frequency", MemberKind::WordOf { allowed: Frequency::SPELLINGS, refused: NOT_A_FREQUENCY }),
        optional("count", MemberKind::Whole { min: 1, max: COUNT_MAX }),
        optional("endTime", MemberKind::Date),
        optional("interval", MemberKind::Whole { min: 1, max: COUNT_MAX }),
        optional("schedule", MemberKind::Object(&SCHEDULE)),
        optional("cron", MemberKind::Cron),
        optional("timeZone", MemberKind::Zone),
    ],
    hints: &[("startTime", "unknown member; it belongs beside the recurrence, as properties.startTime")],
});

const NOT_A_FREQUENCY: &[(&str, &str)] = &[
    ("second", "the shortest frequency is minute; for seconds use cron with six fields"),
    ("year", "the longest frequency is month; for years use an interval of 12 months, or cron"),
];

static SCHEDULE: LazyLock<Shape> = LazyLock::new(|| Shape {
    members: vec![
        optional("minutes", MemberKind::Wholes { min: 0, max: 59 }),
        optional("hours", MemberKind::Wholes { min: 0, max: 23 }),
        optional("weekDays", MemberKind::Words(WeekDay::SPELLINGS)),
        optional("monthDays", MemberKind::AllFromEitherEnd { max: 31 }),
        optional("monthlyOccurrences", MemberKind::Objects(&MONTHLY)),
    ],
    hints: &[
        ("months", "'months' of the classic API is not known here; name the months in a cron expression"),
        ("days", "'days' of the classic API is not known here; use weekDays or monthDays"),
    ],
});

static MONTHLY: LazyLock<Shape> = LazyLock::new(|| Shape {
    members: vec![
        required("day", MemberKind::Word(WeekDay::SPELLINGS)),
        optional("occurrence", MemberKind::FromEitherEnd { max: 5 }),
    ],
    hints: &[],
});

static CLOCK_CHANGE: LazyLock<Shape> = LazyLock::new(|| Shape {
    members: vec![
        optional("gap", MemberKind::Word(Gap::SPELLINGS)),
        optional("repeat", MemberKind::Word(Repeat::SPELLINGS)),
    ],
    hints: &[],
});

/// The body of a PUT or PATCH of a collection.
pub(crate) static COLLECTION: LazyLock<Shape> = LazyLock::new(|| Shape {
    members: vec![
        optional("id", MemberKind::ReadOnly),
        optional("type", MemberKind::ReadOnly),
        optional("name", MemberKind::ReadOnly),
        optional("etag", MemberKind::ReadOnly),
        optional("location", MemberKind::Text),
        optional("tags", MemberKind::Texts),
        optional("properties", MemberKind::Object(&COLLECTION_PROPERTIES)),
    ],
    hints: &[("sku", BELONGS_BELOW), ("quota", BELONGS_BELOW), ("state", BELONGS_BELOW)],
});

static COLLECTION_PROPERTIES: LazyLock<Shape> = LazyLock::new(|| Shape {
    members: vec![
        optional("sku", MemberKind::Object(&SKU)),
        optional(
            "state",
            MemberKind::WordOf {
                allowed: CollectionState::SPELLINGS,
                refused: &[("deleted", "a collection is deleted with DELETE")],
            },
        ),
        optional("quota", MemberKind::Object(&QUOTA)),
    ],
    hints: &[],
});

static SKU: LazyLock<Shape> = LazyLock::new(|| Shape {
    members: vec![required("name", MemberKind::Word(Plan::SPELLINGS))],
    hints: &[],
});

static QUOTA: LazyLock<Shape> = LazyLock::new(|| Shape {
    members: vec![
        optional("maxJobCount", MemberKind::Whole { min: 1, max: COUNT_MAX }),
        optional("maxJobOccurrence", MemberKind::Whole { min: 0, max: COUNT_MAX }),
        optional("maxRecurrence", MemberKind::Object(&MAX_RECURRENCE)),
    ],
    hints: &[],
});

static MAX_RECURRENCE: LazyLock<Shape> = LazyLock::new(|| Shape {
    members: vec![
        required("frequency", MemberKind::Word(QuotaFrequency::SPELLINGS)),
        required("interval", MemberKind::Whole { min: 1, max: COUNT_MAX }),
    ],
    hints: &[],
});
