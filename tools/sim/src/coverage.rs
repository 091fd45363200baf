//! What must happen sometimes: a simulation that never meets a situation proves nothing about it.

pub mod jobs;
pub mod queues;
pub mod runs;
mod situations;

use std::marker::PhantomData;

pub use situations::Situation;

/// The situations of one of the two simulations.
pub trait Situations: Copy + 'static {
    const ALL: &'static [Self];

    /// Its place in the list.
    fn index(self) -> u8;

    fn what(self) -> &'static str;
}

/// Declares the enum `Situation` with a description of each.
macro_rules! declare_situations {
    ($($case:ident $what:literal,)*) => {
        /// A situation that some seed must meet.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[repr(u8)]
        pub enum Situation {
            $(#[doc = $what] $case,)*
        }

        impl $crate::coverage::Situations for Situation {
            const ALL: &'static [Situation] = &[$(Situation::$case),*];

            fn index(self) -> u8 {
                self as u8
            }

            fn what(self) -> &'static str {
                match self { $(Situation::$case => $what),* }
            }
        }
    };
}

pub(crate) use declare_situations;

/// The situations that a single instance has met.
pub type Coverage = Met<Situation>;

/// Which situations were met.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Met<S>(u128, PhantomData<S>);

impl<S> Default for Met<S> {
    fn default() -> Met<S> {
        Met(0, PhantomData)
    }
}

impl<S: Situations> Met<S> {
    pub fn note(&mut self, case: S) {
        self.0 |= 1 << case.index();
    }

    pub fn add(&mut self, other: Met<S>) {
        self.0 |= other.0;
    }

    pub fn missing(self) -> impl Iterator<Item = S> {
        S::ALL.iter().copied().filter(move |case| self.0 & (1 << case.index()) == 0)
    }

    pub fn count(self) -> usize {
        self.0.count_ones() as usize
    }
}
