//! The zones of the IANA database that comes with the program, never those of the machine: all machines agree.

use jiff::Timestamp;
use jiff::tz::{TimeZone, TimeZoneDatabase};

use super::calendar::TICKS;

/// A zone name that the IANA database does not have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown time zone {name:?}; {}", hint(nearest.as_deref()))]
pub struct UnknownZone {
    pub name: String,
    /// The name that was probably meant.
    pub nearest: Option<String>,
}

/// Whether a zone is known, by its IANA name in any case.
pub fn check_zone(name: &str) -> Result<(), UnknownZone> {
    if find(name).is_some() {
        return Ok(());
    }
    Err(UnknownZone { name: name.chars().take(64).collect(), nearest: nearest(name) })
}

/// The offset of a zone's clocks from one change to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Piece {
    /// Local time is the instant plus this.
    pub offset: i64,
    pub change: Option<ClockChange>,
}

/// A moment at which a zone's clocks are set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ClockChange {
    pub at: i64,
    /// The offsets before and after.
    pub before: i64,
    pub after: i64,
}

impl ClockChange {
    /// What the clocks would have shown, had they not been set.
    pub fn local_before(self) -> i64 {
        self.at + self.before
    }

    /// What the clocks show at that moment.
    pub fn local_after(self) -> i64 {
        self.at + self.after
    }
}

/// The clocks of one place. All times are in ticks.
#[derive(Debug)]
pub(super) struct Clocks {
    /// `None`: the offset is zero for ever.
    zone: Option<TimeZone>,
}

impl Clocks {
    /// The clocks of a zone. One that is not known counts as UTC: `check_zone` keeps such names out.
    pub fn of(name: Option<&str>) -> Clocks {
        let zone = name.and_then(find).filter(|zone| *zone != TimeZone::UTC);
        Clocks { zone }
    }

    pub fn local(&self, at: i64) -> i64 {
        at.saturating_add(self.offset(at))
    }

    fn offset(&self, at: i64) -> i64 {
        self.zone.as_ref().map_or(0, |zone| offset(zone, timestamp(at)))
    }

    pub fn piece(&self, at: i64) -> Piece {
        let Some(zone) = &self.zone else { return Piece { offset: 0, change: None } };
        let second = timestamp(at);
        let before = offset(zone, second);
        let change = zone.following(second).next().map(|next| ClockChange {
            at: next.timestamp().as_second() * TICKS,
            before,
            after: i64::from(next.offset().seconds()) * TICKS,
        });
        Piece { offset: before, change }
    }

    /// The changes at or before a moment and not before another, latest first.
    pub fn changes_back(&self, at: i64, not_before: i64) -> impl Iterator<Item = ClockChange> {
        self.zone.iter().flat_map(move |zone| {
            zone.preceding(timestamp(at.saturating_add(TICKS)))
                .map(|change| (change.timestamp(), change.offset()))
                .take_while(move |(moment, _)| moment.as_second() >= not_before.div_euclid(TICKS))
                .filter(move |(moment, _)| moment.as_second() <= at.div_euclid(TICKS))
                .map(move |(moment, after)| ClockChange {
                    at: moment.as_second() * TICKS,
                    before: offset(zone, Timestamp::from_second(moment.as_second() - 1).unwrap_or(moment)),
                    after: i64::from(after.seconds()) * TICKS,
                })
        })
    }
}

fn find(name: &str) -> Option<TimeZone> {
    TimeZoneDatabase::bundled().get(name).ok()
}

/// The whole second of a moment: clocks are only ever set at one.
fn timestamp(at: i64) -> Timestamp {
    let limit = if at < 0 { Timestamp::MIN } else { Timestamp::MAX };
    Timestamp::from_second(at.div_euclid(TICKS)).unwrap_or(limit)
}

fn offset(zone: &TimeZone, at: Timestamp) -> i64 {
    i64::from(zone.to_offset(at).seconds()) * TICKS
}

fn hint(nearest: Option<&str>) -> String {
    match nearest {
        Some(name) => format!("did you mean {name}?"),
        None => "write an IANA name like Europe/Berlin".to_owned(),
    }
}

/// The name with the fewest slips of the pen, of the whole or of the city alone; `None` when all are far off.
fn nearest(name: &str) -> Option<String> {
    // Longer than any zone, and the table of distances is square.
    if name.chars().count() > 40 {
        return None;
    }
    let wanted = name.trim().to_ascii_lowercase().replace(' ', "_");
    let city = |name: &str| name.rsplit('/').next().unwrap_or(name).to_owned();
    let slips_max = wanted.chars().count() / 3;
    let database = TimeZoneDatabase::bundled();
    let candidates = database.available().map(|known| {
        let lower = known.as_str().to_ascii_lowercase();
        let whole = distance(&wanted, &lower);
        // A right city in the wrong place is a better guess than a name that merely looks alike.
        let by_city = distance(&city(&wanted), &city(&lower)) * 2 + 1;
        (whole.min(by_city), known.as_str().to_owned())
    });
    candidates.min().filter(|(slips, _)| *slips <= slips_max.max(1)).map(|(_, known)| known)
}

/// How many letters must be put in, taken out or replaced to turn one text into the other.
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (line, letter) in one.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = line + 1;
        for (column, facing) in other.iter().enumerate() {
            let replaced = diagonal + usize::from(letter != *facing);
            diagonal = row[column + 1];
            row[column + 1] = replaced.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[other.len()]
}
