//! How large a job may be. The defaults are Azure's; an installation may widen them.

use types::{Frequency, Span};

/// The bounds that a job is checked against.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// The canonical job as JSON, secrets apart.
    pub job_bytes_max: usize,
    pub uri_chars_max: usize,
    pub headers_max: usize,
    /// All names and values of headers together.
    pub header_chars_max: usize,
    pub body_chars_max: usize,
    pub retry_interval_min: Span,
    pub retry_interval_max: Span,
    pub retry_count_max: u32,
    /// How far ahead a job may begin.
    pub start_ahead_max: Span,
    pub jitter_max: Span,
}

/// 18 months, as Azure counts them in days.
const MONTHS_18: Span = Span::from_secs(548 * 24 * 3600);

/// One secret: a PKCS#12 file with a chain of certificates in base64 stays below it.
pub(crate) const SECRET_CHARS_MAX: usize = 16 * 1024;
/// Tags of a collection, as Azure Resource Manager bounds them today.
pub(crate) const TAGS_MAX: usize = 50;
pub(crate) const TAG_NAME_CHARS_MAX: usize = 512;
pub(crate) const TAG_VALUE_CHARS_MAX: usize = 256;
/// Occurrences that one preview lists.
pub(crate) const PREVIEW_MAX: u32 = 1000;
/// Lines of one crontab: as many as a collection of Sortie's own plan has jobs.
pub(crate) const CRONTAB_LINES_MAX: usize = 10_000;

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            job_bytes_max: 16 * 1024,
            uri_chars_max: 2048,
            headers_max: 50,
            header_chars_max: 4096,
            body_chars_max: 8192,
            retry_interval_min: Span::from_secs(15),
            retry_interval_max: MONTHS_18,
            retry_count_max: 20,
            start_ahead_max: MONTHS_18,
            jitter_max: Span::from_secs(24 * 3600),
        }
    }
}

/// The longest interval of a recurrence: 1,000 minutes or hours, else about 18 months.
pub(crate) fn interval_max(frequency: Frequency) -> u32 {
    match frequency {
        Frequency::Minute | Frequency::Hour => 1000,
        Frequency::Day => 548,
        Frequency::Week => 78,
        Frequency::Month => 18,
    }
}
