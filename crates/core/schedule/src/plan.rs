//! What each plan of a collection allows.

use types::Span;

use crate::spelling::{Plan, QuotaFrequency};

impl Plan {
    /// Jobs per collection.
    pub fn jobs_max(self) -> u32 {
        match self {
            Plan::Free => 5,
            // The plan Premium of the older API versions became P10Premium.
            Plan::Standard | Plan::P10Premium | Plan::Premium => 50,
            Plan::P20Premium => 1000,
            Plan::Sortie => 10_000,
        }
    }

    /// The shortest period of a job.
    pub fn period_min(self) -> Span {
        match self {
            Plan::Free => Span::from_secs(3600),
            Plan::Standard | Plan::P10Premium | Plan::P20Premium | Plan::Premium => Span::from_secs(60),
            Plan::Sortie => Span::from_secs(1),
        }
    }

    /// Whether actions may sign in at their targets.
    pub fn authentication(self) -> bool {
        self != Plan::Free
    }

    /// Collections of this plan per subscription; without a bound for Sortie's own.
    pub fn collections_max(self) -> Option<u32> {
        match self {
            Plan::Free => Some(1),
            Plan::Standard => Some(100),
            Plan::P10Premium | Plan::P20Premium | Plan::Premium => Some(10_000),
            Plan::Sortie => None,
        }
    }
}

impl QuotaFrequency {
    /// So many of these units, as the least time between two occurrences: a month may have 28 days.
    pub(crate) fn times(self, interval: u32) -> Span {
        const DAY: u64 = 24 * 3600;
        let seconds = match self {
            QuotaFrequency::Second => 1,
            QuotaFrequency::Minute => 60,
            QuotaFrequency::Hour => 3600,
            QuotaFrequency::Day => DAY,
            QuotaFrequency::Week => 7 * DAY,
            QuotaFrequency::Month => 28 * DAY,
        };
        Span::from_secs(u64::from(interval) * seconds)
    }
}
