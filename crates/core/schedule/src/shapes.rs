//! The members of jobs and collections: which there are, of which kind, and which must be there.

mod action;

use crate::shape::{Kind, Shape, optional, required};
use crate::spelling::{
    CollectionState, Frequency, Gap, Missed, Overlap, Plan, QuotaFrequency, Repeat, Switch, WeekDay,
};

use self::action::ACTION;

const COUNT_MAX: i64 = i32::MAX as i64;
const NOT_TO_CHOOSE: &str = "is told by the server: write enabled or disabled";
const BELONGS_BELOW: &str = "unknown member; it belongs below properties";

/// The body of a PUT or PATCH of a job.
pub(crate) static JOB: Shape = Shape {
    members: &[
        optional("id", Kind::ReadOnly),
        optional("type", Kind::ReadOnly),
        optional("name", Kind::ReadOnly),
        optional("etag", Kind::ReadOnly),
        required("properties", Kind::Object(&JOB_PROPERTIES)),
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
};

pub(crate) static JOB_PROPERTIES: Shape = Shape {
    members: &[
        optional("startTime", Kind::Date),
        required("action", Kind::Object(&ACTION)),
        optional("recurrence", Kind::Object(&RECURRENCE)),
        optional("at", Kind::Moment),
        optional("timeZone", Kind::Zone),
        optional("clockChange", Kind::Object(&CLOCK_CHANGE)),
        optional("missed", Kind::Word(Missed::SPELLINGS)),
        optional("overlap", Kind::Word(Overlap::SPELLINGS)),
        optional("jitter", Kind::Duration),
        optional(
            "state",
            Kind::WordOf {
                allowed: Switch::SPELLINGS,
                refused: &[("completed", NOT_TO_CHOOSE), ("faulted", NOT_TO_CHOOSE)],
            },
        ),
        optional("status", Kind::Status),
        optional("cron", Kind::Cron),
    ],
    hints: &[
        ("retryPolicy", "unknown member; it belongs to the action, as properties.action.retryPolicy"),
        ("errorAction", "unknown member; it belongs to the action, as properties.action.errorAction"),
        ("schedule", "unknown member; it belongs to the recurrence, as properties.recurrence.schedule"),
        ("endTime", "unknown member; it belongs to the recurrence, as properties.recurrence.endTime"),
    ],
};

/// A job as far as its time goes; the rest is passed over.
pub(crate) static PREVIEW: Shape = Shape {
    members: &[
        optional("startTime", Kind::Date),
        optional("recurrence", Kind::Object(&RECURRENCE)),
        optional("at", Kind::Moment),
        optional("timeZone", Kind::Zone),
        optional("clockChange", Kind::Object(&CLOCK_CHANGE)),
        optional("jitter", Kind::Duration),
        optional("cron", Kind::Cron),
        optional("now", Kind::Date),
        optional("count", Kind::Whole { min: 1, max: crate::limits::PREVIEW_MAX as i64 }),
        optional("action", Kind::ReadOnly),
        optional("missed", Kind::ReadOnly),
        optional("overlap", Kind::ReadOnly),
        optional("state", Kind::ReadOnly),
        optional("status", Kind::ReadOnly),
    ],
    hints: &[],
};

static RECURRENCE: Shape = Shape {
    members: &[
        optional("frequency", Kind::WordOf { allowed: Frequency::SPELLINGS, refused: NOT_A_FREQUENCY }),
        optional("count", Kind::Whole { min: 1, max: COUNT_MAX }),
        optional("endTime", Kind::Date),
        optional("interval", Kind::Whole { min: 1, max: COUNT_MAX }),
        optional("schedule", Kind::Object(&SCHEDULE)),
        optional("cron", Kind::Cron),
        optional("timeZone", Kind::Zone),
    ],
    hints: &[("startTime", "unknown member; it belongs beside the recurrence, as properties.startTime")],
};

const NOT_A_FREQUENCY: &[(&str, &str)] = &[
    ("second", "the shortest frequency is minute; for seconds use cron with six fields"),
    ("year", "the longest frequency is month; for years use an interval of 12 months, or cron"),
];

static SCHEDULE: Shape = Shape {
    members: &[
        optional("minutes", Kind::Wholes { min: 0, max: 59 }),
        optional("hours", Kind::Wholes { min: 0, max: 23 }),
        optional("weekDays", Kind::Words(WeekDay::SPELLINGS)),
        optional("monthDays", Kind::AllFromEitherEnd { max: 31 }),
        optional("monthlyOccurrences", Kind::Objects(&MONTHLY)),
    ],
    hints: &[
        ("months", "'months' of the classic API is not known here; name the months in a cron expression"),
        ("days", "'days' of the classic API is not known here; use weekDays or monthDays"),
    ],
};

static MONTHLY: Shape = Shape {
    members: &[
        required("day", Kind::Word(WeekDay::SPELLINGS)),
        optional("occurrence", Kind::FromEitherEnd { max: 5 }),
    ],
    hints: &[],
};

static CLOCK_CHANGE: Shape = Shape {
    members: &[
        optional("gap", Kind::Word(Gap::SPELLINGS)),
        optional("repeat", Kind::Word(Repeat::SPELLINGS)),
    ],
    hints: &[],
};

/// The body of a PUT or PATCH of a collection.
pub(crate) static COLLECTION: Shape = Shape {
    members: &[
        optional("id", Kind::ReadOnly),
        optional("type", Kind::ReadOnly),
        optional("name", Kind::ReadOnly),
        optional("etag", Kind::ReadOnly),
        optional("location", Kind::Text),
        optional("tags", Kind::Texts),
        optional("properties", Kind::Object(&COLLECTION_PROPERTIES)),
    ],
    hints: &[("sku", BELONGS_BELOW), ("quota", BELONGS_BELOW), ("state", BELONGS_BELOW)],
};

static COLLECTION_PROPERTIES: Shape = Shape {
    members: &[
        optional("sku", Kind::Object(&SKU)),
        optional(
            "state",
            Kind::WordOf {
                allowed: CollectionState::SPELLINGS,
                refused: &[("deleted", "a collection is deleted with DELETE")],
            },
        ),
        optional("quota", Kind::Object(&QUOTA)),
    ],
    hints: &[],
};

static SKU: Shape = Shape { members: &[required("name", Kind::Word(Plan::SPELLINGS))], hints: &[] };

static QUOTA: Shape = Shape {
    members: &[
        optional("maxJobCount", Kind::Whole { min: 1, max: COUNT_MAX }),
        optional("maxJobOccurrence", Kind::Whole { min: 0, max: COUNT_MAX }),
        optional("maxRecurrence", Kind::Object(&MAX_RECURRENCE)),
    ],
    hints: &[],
};

static MAX_RECURRENCE: Shape = Shape {
    members: &[
        required("frequency", Kind::Word(QuotaFrequency::SPELLINGS)),
        required("interval", Kind::Whole { min: 1, max: COUNT_MAX }),
    ],
    hints: &[],
};
