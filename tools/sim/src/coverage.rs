//! What must happen sometimes: a simulation that never meets a situation proves nothing about it.

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
    PowerCutWithUnsynced "power was cut with unsynced data",
    DiedInOperation "the process died in the middle of a disk operation",
    DiedInRecovery "the process died while it came back",
    DiedFiveTimesInRecovery "the process died five times in a row while it came back",
    SyncFailed "a sync failed and the process stopped itself",
    OpenAppendKept "an append without an answer was found to be kept",
    OpenAppendLost "an append without an answer was found to be lost",
    SnapshotAndTail "a partition came back from a snapshot and the events after it",
    SegmentGone "a segment was no longer needed and went",
    RefusedBacklog "a request was refused because of the backlog",
    RefusedDisk "a request was refused because of the disk",
    CommitWaitedForRoom "events waited for room on the disk",
    Replayed "a repeated request was answered as the first",
    Conflict "another body under a used id was refused",
    DroppedDuplicate "a request that was in the inbox twice became one run",
    LateAfterUndo "a call arrived after its undo and was kept out",
    ArrivedTwice "a call arrived twice",
    AnswerLost "a call was done and its answer lost",
    RetryAfter "a service said when to come back",
    UndoRetried "an undo was tried again",
    Alternative "an alternative was tried",
    Withdrawn "a call was stopped before it left",
    Queued "a run waited for another with its key",
    Undone "a run was undone",
    Parked "a run was parked",
    Decided "a person decided",
    GivenUp "a run was given up",
    CancelGranted "a cancel was granted",
    CancelBeforeTaken "a cancel came before its request was taken",
    CancelRefused "a cancel was refused because the run was too far",
    ClockBack "the clock on the wall was set back",
    ClockForward "the clock on the wall was set forward",
    Paused "the process stood still for longer than any timeout",
    MissedLatest "the newest of several missed occurrences was fired",
    MissedAll "a missed occurrence was fired late, as all of them",
    MissedSkipped "missed occurrences were left out",
    OverlapSkipped "an occurrence was left out because the one before was under way",
    OverlapQueued "an occurrence waited for the one before",
    FiredInGap "an occurrence was fired when a gap of the clocks ended",
    FiredInRepeat "an occurrence was fired in an hour that the clocks show twice",
    ClockBackOverOccurrence "the clock was set back over an occurrence that was fired",
    JobEditedUnderWay "a job was edited while its occurrence was under way",
    JobDeletedUnderWay "a job was deleted while its occurrence was under way",
    IfMatchConflict "an edit was refused because of another edit",
    JobByHand "a job was run by hand",
    JobAlternative "the alternative of a job was tried",
    CollectionHeld "a job was held with its collection",
    CollectionReleased "a job was released with its collection",
    LockExpired "a lock expired and its message went back",
    LockLost "a consumer wanted to settle what it no longer had",
    LockRenewed "a lock was renewed",
    LockOverCrash "a consumer settled after a crash what it had received before",
    PoisonSetAside "a message was delivered too often and became a dead letter",
    DeadByConsumer "a consumer made a message a dead letter",
    MessageExpired "a message expired and was gone",
    ExpiredDead "a message expired and became a dead letter",
    Redriven "a dead letter was brought back",
    RedrivenCompleted "a dead letter that was brought back was completed",
    ScheduledDue "a scheduled message became due",
    DeliveryReleased "a message was handed to a consumer that had gone away",
    TakenAtOnce "a message was received and deleted at once",
    Purged "a queue was purged",
    WaitingServed "a consumer that waited was served",
    SessionWaited "a message waited for another of its session",
    DuplicateDropped "a message that was sent before was dropped",
    FilterLeftOut "a subscription did not want a message of its topic",
    QueueDeleted "a queue was deleted with messages in it",
    SubscriptionDeleted "a subscription was deleted with messages that another one holds",
    QueueRemade "a queue that was deleted was made again",
    QueueChanged "a queue with messages in it was changed",
    QueueFull "a queue was full",
    QueueDrained "a queue was emptied by its consumers when all was well",
    SendRefusedDisk "messages were refused because of the disk",
    DamageFound "damage was found when the journal was opened",
    DamageHarmless "damage was where nothing was",
}

/// Which situations were met.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Coverage(u128);

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
