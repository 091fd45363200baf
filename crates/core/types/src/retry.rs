//! When to try again: the policy is data, the delay a function of the policy, the attempt and a seed.

use serde::{Deserialize, Serialize};

use crate::Span;

/// How often and after which delays an action is tried again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Retry {
    /// One attempt, no second.
    None,
    /// `attempts` in all, the same delay between them.
    Fixed { delay: Span, attempts: u32 },
    /// `attempts` in all; the delay grows by `factor_percent` each time up to `max`.
    Exponential { first: Span, factor_percent: u32, max: Span, attempts: u32 },
    /// Growing delays up to `max` until `patience` has passed since the first attempt.
    Patient { first: Span, factor_percent: u32, max: Span, patience: Span },
}

impl Retry {
    /// What a step does when its workflow says nothing.
    pub const STEP: Retry = Retry::Exponential {
        first: Span::from_ms(500),
        factor_percent: 200,
        max: Span::from_secs(60),
        attempts: 5,
    };

    /// What an undo does when its workflow says nothing: growing delays up to an hour, for a day.
    pub const UNDO: Retry = Retry::Patient {
        first: Span::from_ms(500),
        factor_percent: 200,
        max: Span::from_secs(3600),
        patience: Span::from_secs(24 * 3600),
    };

    /// What a job does when it says nothing: four more times at intervals of 30 seconds.
    pub const JOB: Retry = Retry::Fixed { delay: Span::from_secs(30), attempts: 5 };

    /// The delay before the attempt that follows `attempt` (the first is 1), or `None` when it was the last.
    ///
    /// `spent` is the time since the first attempt began. `seed` draws the jitter: the same seed, the same delay.
    pub fn delay_after(&self, attempt: u32, spent: Span, seed: u64) -> Option<Span> {
        match *self {
            Retry::None => None,
            Retry::Fixed { delay, attempts } => (attempt < attempts).then_some(delay),
            Retry::Exponential { first, factor_percent, max, attempts } => {
                (attempt < attempts).then(|| jittered(grown(first, factor_percent, max, attempt), seed))
            }
            Retry::Patient { first, factor_percent, max, patience } => {
                (spent < patience).then(|| jittered(grown(first, factor_percent, max, attempt), seed))
            }
        }
    }
}

fn grown(first: Span, factor_percent: u32, max: Span, attempt: u32) -> Span {
    let mut delay_ms = first.as_ms();
    for _ in 1..attempt {
        if delay_ms >= max.as_ms() {
            break;
        }
        let grown_ms = delay_ms.saturating_mul(u64::from(factor_percent)) / 100;
        // A factor of 100 % or less never reaches `max`; stop instead of looping over many attempts.
        if grown_ms <= delay_ms {
            break;
        }
        delay_ms = grown_ms;
    }
    Span::from_ms(delay_ms.min(max.as_ms()))
}

/// Between half and all of the delay, so that runs that failed together do not return together.
fn jittered(delay: Span, seed: u64) -> Span {
    let half_ms = delay.as_ms() / 2;
    let draw = mix(seed) >> 32;
    Span::from_ms(delay.as_ms() - ((half_ms.saturating_mul(draw)) >> 32))
}

/// The finalizer of SplitMix64: every bit of the seed reaches every bit of the result.
pub fn mix(seed: u64) -> u64 {
    let mut z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fixed_gives_up_after_the_last_attempt() {
        let retry = Retry::Fixed { delay: Span::from_secs(30), attempts: 5 };
        let delays: Vec<_> = (1..=5).map(|n| retry.delay_after(n, Span::ZERO, n.into())).collect();
        let thirty = Some(Span::from_secs(30));
        assert_eq!(delays, [thirty, thirty, thirty, thirty, None]);
    }

    #[test]
    fn exponential_grows_to_its_cap_within_half_and_all_of_it() {
        for attempt in 1..5 {
            for seed in 0..1000 {
                let delay = Retry::STEP.delay_after(attempt, Span::ZERO, seed).unwrap().as_ms();
                let full = 500 << (attempt - 1);
                assert!((full / 2..=full).contains(&delay), "attempt {attempt} seed {seed}: {delay}");
            }
        }
        assert_eq!(Retry::STEP.delay_after(5, Span::ZERO, 0), None);
    }

    #[test]
    fn patience_counts_time_not_attempts() {
        assert!(Retry::UNDO.delay_after(u32::MAX, Span::from_secs(86_399), 1).is_some());
        assert_eq!(Retry::UNDO.delay_after(2, Span::from_secs(86_400), 1), None);
    }
}
