//! Faulty parts around the shipped ones: each breaks one promise, and the simulator must catch it.
//!
//! A checker proves something only after it has been seen to fail. A fault sleeps in a decorator of a seam (disk,
//! journal, NATS, snapshots) until [`wake`] names it. Bugs that no seam can have are in [`crate::mutations`].

pub mod disk;
pub mod journal;
pub mod wire;

use std::sync::atomic::{AtomicU8, Ordering};

use crate::mutants::Simulation;

macro_rules! faults {
    ($($fault:ident $name:literal $simulation:ident $breaks:literal,)*) => {
        /// A fault that a decorator can have.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[repr(u8)]
        pub enum Fault {
            $(#[doc = $breaks] $fault,)*
        }

        impl Fault {
            pub const ALL: &'static [Fault] = &[$(Fault::$fault),*];

            /// Its name on the command line.
            pub fn name(self) -> &'static str {
                match self { $(Fault::$fault => $name),* }
            }

            /// What goes wrong.
            pub fn breaks(self) -> &'static str {
                match self { $(Fault::$fault => $breaks),* }
            }

            /// The simulation that must catch it.
            pub fn simulation(self) -> Simulation {
                match self { $(Fault::$fault => Simulation::$simulation),* }
            }
        }
    };
}

faults! {
    AckBeforeSync "ack-before-sync" Single "a group is acknowledged without a sync",
    SyncErrorIgnored "sync-error-ignored" Single "a failed sync counts as done",
    SegmentNameNotSynced "segment-name-not-synced" Single "the name of a new segment is not made durable",
    SnapshotNotSynced "snapshot-not-synced" Single "a snapshot is renamed before its bytes are durable",
    TrimBeforeSnapshot "trim-before-snapshot" Single "the journal is trimmed before the snapshot is durable",
    TrimTooFar "trim-too-far" Single "the inbox is trimmed one request too far",
    RefusalAcknowledged "refusal-acknowledged" Single "a request is acknowledged although the full disk refused it",
    UnknownTakenForStored "unknown-taken-for-stored" Cluster "a message whose outcome is unknown counts as stored",
    ClaimNotGuarded "claim-not-guarded" Cluster "a claim is stored wherever the stream ends",
    OlderSnapshotWins "older-snapshot-wins" Cluster "a fenced owner's snapshot replaces a newer one",
    FencedGoesOn "fenced-goes-on" Cluster "a fenced owner continues as if its frame had been stored",
}

const ASLEEP: u8 = u8::MAX;

/// The one fault that is awake: a process activates one at a time.
static AWAKE: AtomicU8 = AtomicU8::new(ASLEEP);

/// Wakes a fault, or none.
pub fn wake(fault: Option<Fault>) {
    AWAKE.store(fault.map_or(ASLEEP, |fault| fault as u8), Ordering::Relaxed);
}

impl Fault {
    pub fn is_awake(self) -> bool {
        AWAKE.load(Ordering::Relaxed) == self as u8
    }
}
