//! When the requests of an open loop are due.

use std::time::Duration;

/// So many requests per second, for so long.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stretch {
    pub per_second: f64,
    pub length: Duration,
}

impl Stretch {
    fn requests(&self) -> u64 {
        (self.per_second * self.length.as_secs_f64()).round() as u64
    }
}

/// The due times of all requests of some stretches, one after the other, from the beginning of the first.
#[derive(Debug, Clone)]
pub struct Dues {
    stretches: std::vec::IntoIter<Stretch>,
    /// The current stretch, its start in seconds, and the next request in it.
    current: Option<(Stretch, f64, u64)>,
}

impl Dues {
    pub fn new(stretches: Vec<Stretch>) -> Dues {
        let mut stretches = stretches.into_iter();
        let current = stretches.next().map(|first| (first, 0.0, 0));
        Dues { stretches, current }
    }
}

impl Iterator for Dues {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        loop {
            let (stretch, begin, number) = self.current.as_mut()?;
            if *number < stretch.requests() {
                let due = *begin + *number as f64 / stretch.per_second;
                *number += 1;
                return Some(Duration::from_secs_f64(due));
            }
            let begin = *begin + stretch.length.as_secs_f64();
            self.current = self.stretches.next().map(|next| (next, begin, 0));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_spread_evenly_in_each_stretch() {
        let stretch = |per_second, seconds| Stretch { per_second, length: Duration::from_secs(seconds) };
        let dues = Dues::new(vec![stretch(2.0, 1), stretch(0.0, 1), stretch(4.0, 1)]);
        let ms: Vec<_> = dues.map(|due| due.as_millis()).collect();
        assert_eq!(ms, [0, 500, 2000, 2250, 2500, 2750]);
        assert_eq!(Dues::new(Vec::new()).next(), None);
    }
}
