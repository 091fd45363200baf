//! Bugs planted on purpose, asleep: the simulator wakes one at a time and must catch it.
//!
//! A promise is only proved by a check that has been seen to fail. Each bug here breaks one; in a build without the
//! feature `live`, which is every build but the simulator's, [`is`] is the constant `false`.

macro_rules! bugs {
    ($($bug:ident $name:literal $what:literal,)*) => {
        /// A planted bug.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[repr(u8)]
        pub enum Bug {
            $(#[doc = $what] $bug,)*
        }

        impl Bug {
            pub const ALL: &'static [Bug] = &[$(Bug::$bug),*];

            /// What it is called on the command line.
            pub fn name(self) -> &'static str {
                match self { $(Bug::$bug => $name),* }
            }

            /// What goes wrong.
            pub fn what(self) -> &'static str {
                match self { $(Bug::$bug => $what),* }
            }
        }
    };
}

bugs! {
    AckBeforeSync "ack-before-sync" "a group is acknowledged without a sync",
    SyncErrorIgnored "sync-error-ignored" "a failed sync counts as done",
    SegmentNameNotSynced "segment-name-not-synced" "a new segment's name is not made durable",
    SuperblockBehind "superblock-behind" "the superblock does not learn of a new segment",
    SnapshotNotSynced "snapshot-not-synced" "a snapshot is renamed before its bytes are durable",
    DamageTakenForTail "damage-taken-for-tail" "the log ends at the first frame that cannot be read",
    TailTrusted "tail-trusted" "a tail that may be in the cache alone is gone on with",
    ActBeforeCommit "act-before-commit" "calls leave before their events are durable",
    EndedForgotten "ended-forgotten" "a request whose run has ended is taken again",
    TrimBeforeSnapshot "trim-before-snapshot" "the journal forgets before the snapshot is durable",
    TrimTooFar "trim-too-far" "the inbox is trimmed one request too far",
    ViewNotFlushed "view-not-flushed" "a snapshot is taken without flushing the view",
    OwedForgotten "owed-forgotten" "calls that were owed are not made after a start",
    OrphansForgotten "orphans-forgotten" "calls that cannot be made again never end",
    EndNotArchived "end-not-archived" "an ended run does not reach the view",
    EndNotReplayed "end-not-replayed" "an ended run does not reach the view when it is replayed",
    WaitingForgotten "waiting-forgotten" "ids of waiting requests are not known after a start",
    ReplayBeforeDurable "replay-before-durable" "a repeated request is acknowledged while the first is on its way",
    ConflictTakenForReplay "conflict-taken-for-replay" "another body under a used id is acknowledged",
    RefusalAcknowledged "refusal-acknowledged" "a request that the full disk refused is acknowledged",
    RefusedNotUndone "refused-not-undone" "a refused step is not undone, although an earlier attempt may arrive",
    UnknownNotUndone "unknown-not-undone" "a step whose outcome is unknown is not undone",
    UndoneTooEarly "undone-too-early" "a run counts as undone while undos are under way",
    UndoOutOfOrder "undo-out-of-order" "steps are undone before those that depend on them",
    CancelForgotten "cancel-forgotten" "a cancel that came before its request is forgotten",
    LiveForgotten "live-forgotten" "a request whose run is under way is taken again",
    ClockGoesBack "clock-goes-back" "time begins before what was written down, when the clock was set back",
    FullClaimGivenUp "full-claim-given-up" "a partition that starts on a full disk is given up",
    NewestIgnored "newest-ignored" "a job that is planned anew plans what was fired before the clock was set back",
    LatestSkipped "latest-skipped" "the newest of the missed occurrences is left out as well",
    CountOffByOne "count-off-by-one" "a job fires once more than its count",
    WindowNotFilled "window-not-filled" "jobs that were due before a start are forgotten",
    IfMatchIgnored "if-match-ignored" "an edit is made whatever version it names",
    EditNotReplanned "edit-not-replanned" "a job with a new rule keeps what it had planned",
    OverlapIgnored "overlap-ignored" "an occurrence begins beside the one before it",
    StandingNotWritten "standing-not-written" "where a job stands is not written with its firing",
    JobsNotReplayed "jobs-not-replayed" "what happened to jobs does not reach the view when it is replayed",
    StaleAtHand "stale-at-hand" "an edit does not reach a job whose occurrence is under way",
    DeletedAtHand "deleted-at-hand" "a job that is deleted while its occurrence is under way is still found",
    HandCounted "hand-counted" "an occurrence by hand is counted as a planned one",
    ReleaseForgotten "release-forgotten" "jobs stay held when their collection is enabled again",
    FinishForgotten "finish-forgotten" "a job does not end with its last occurrence",
    MissedKept "missed-kept" "missed occurrences that should be left out are fired",
    DueBeforeTime "due-before-time" "a job is due in the millisecond before its occurrence",
    QueueIgnored "queue-ignored" "occurrences that should wait for each other do not",
    ExpiredLockHeld "expired-lock-held" "a consumer completes a message whose lock has expired",
    PoisonKept "poison-kept" "a message that was delivered too often is delivered again",
    ExpiredDropped "expired-dropped" "a message that should become a dead letter when it expires is dropped",
    MessagesNotReplayed "messages-not-replayed" "the messages of queues do not reach the view when they are replayed",
    IdsForgotten "ids-forgotten" "the ids of messages are not known after a start from a snapshot",
    SessionOvertaken "session-overtaken" "a message is handed out beside another of its session",
    FilterIgnored "filter-ignored" "a subscription gets what it does not want",
    HolderNotCounted "holder-not-counted" "the row of a message goes with the first of the subscriptions that let it go",
    RowsKept "rows-kept" "the row of a message stays when no queue holds it",
    DueIgnored "due-ignored" "a scheduled message is handed out at once",
    LockNotWritten "lock-not-written" "a lock is not written to the journal",
    SettledTooEarly "settled-too-early" "a change of a queue is confirmed before it is durable",
    ExpiredHandedOut "expired-handed-out" "a message that has expired is handed out when nobody has looked at the clock",
    RenewalForgotten "renewal-forgotten" "a lock that was renewed ends when it would have ended",
    DeliveryNotCounted "delivery-not-counted" "deliveries are not counted",
    LinesForgotten "lines-forgotten" "consumers that wait are not served",
    WakesForgotten "wakes-forgotten" "after a start from a snapshot locks do not expire and nothing becomes due",
    TokensRepeated "tokens-repeated" "a process gives the tokens of locks that the one before has given",
    UnknownTakenForStored "unknown-taken-for-stored" "a frame whose outcome is unknown counts as stored",
    UnknownSentHigher "unknown-sent-higher" "a frame whose outcome is unknown is sent again behind whatever is there",
    NonceNotCompared "nonce-not-compared" "another's message is taken for one's own",
    ShortRangeAccepted "short-range-accepted" "what a replica leaves out of a range is not looked for",
    ClaimNotGuarded "claim-not-guarded" "a claim is stored wherever the stream ends",
    ClaimNotAwaited "claim-not-awaited" "an owner acts before its claim is acknowledged",
    OlderSnapshotWins "older-snapshot-wins" "a snapshot of an owner that was fenced takes the place of a newer one",
    FencedGoesOn "fenced-goes-on" "an owner that was overtaken goes on as if its frame had been taken",
    RegionEpochKept "region-epoch-kept" "a region that is promoted does not raise the epoch",
    TablesNotFetched "tables-not-fetched" "who takes a partition over does not know what has ended before",
    TurnsIgnored "turns-ignored" "serial runs with one key run side by side",
}

/// Whether the code should behave as if it had this bug.
#[cfg(not(feature = "live"))]
#[inline(always)]
pub const fn is(_bug: Bug) -> bool {
    false
}

#[cfg(feature = "live")]
pub use live::{is, wake};

#[cfg(feature = "live")]
mod live {
    use std::sync::atomic::{AtomicU8, Ordering};

    use super::Bug;

    const ASLEEP: u8 = u8::MAX;

    /// The one bug that is awake; one process plays one bug.
    static AWAKE: AtomicU8 = AtomicU8::new(ASLEEP);

    /// Whether the code should behave as if it had this bug.
    pub fn is(bug: Bug) -> bool {
        AWAKE.load(Ordering::Relaxed) == bug as u8
    }

    /// Wakes a bug, or lets all sleep.
    pub fn wake(bug: Option<Bug>) {
        AWAKE.store(bug.map_or(ASLEEP, |bug| bug as u8), Ordering::Relaxed);
    }
}
