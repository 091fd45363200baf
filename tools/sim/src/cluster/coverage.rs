//! What some seed of a cluster must meet.

macro_rules! sometimes {
    ($($case:ident $what:literal,)*) => {
        /// A situation that some seed must meet.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[repr(u8)]
        pub enum Sometimes {
            $($case,)*
        }

        impl Sometimes {
            pub const ALL: &'static [Sometimes] = &[$(Sometimes::$case),*];

            pub fn what(self) -> &'static str {
                match self { $(Sometimes::$case => $what),* }
            }
        }
    };
}

sometimes! {
    StoredLate "a message was stored after its sender had given up",
    StoredByNextLeader "a message that nobody acknowledged was stored by the next leader",
    StoredOnce "a message that was sent again was stored once",
    StreamFull "a stream was full",
    RangeShort "a replica that lagged answered",
    RangeWithGap "a replica left something out",
    ReplicaDamaged "a replica lost or changed what was stored",
    Purged "a stream was purged",
    BeatLost "a sign of life was lost",
    Fenced "an owner that was overtaken was refused",
    FrozenFenced "an owner that had stood still was refused",
    ZombieCalled "an owner made a call when another had taken its partition",
    ClaimRefused "two wanted a partition at once",
    TakenOver "a partition was taken from somebody who was gone",
    HandedOver "a partition was handed over by somebody who lives",
    TakenFromSnapshot "a partition was taken with a snapshot and the frames after it",
    DroppedDuplicate "a request that was in the inbox twice became one run",
    DroppedByNextOwner "a request that one owner took was dropped by the next",
    FiredByNextOwner "a job was fired by two owners in turn",
    AllKilled "all instances died at once",
    Undone "a run was undone",
    Switched "regions were switched and nothing was lost",
    Usurped "a region became active while its pair went on",
    NotLevel "a region that never had everything was not made active",
    TailLost "the pair never got the last messages of a region that was lost",
    Rejoined "a region came back and mirrored",
    MirrorCut "a purge that was late reached a mirror",
    InboxFilled "the inbox of a region that became active lagged its events",
}

/// Which situations were met.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Coverage(u64);

impl Coverage {
    pub fn note(&mut self, case: Sometimes) {
        self.0 |= 1 << case as u8;
    }

    pub fn add(&mut self, other: Coverage) {
        self.0 |= other.0;
    }

    pub fn missing(self) -> Vec<Sometimes> {
        Sometimes::ALL.iter().copied().filter(|case| self.0 & (1 << *case as u8) == 0).collect()
    }

    pub fn met(self) -> usize {
        self.0.count_ones() as usize
    }
}
