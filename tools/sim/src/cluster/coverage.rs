//! What some seed of a cluster must meet.

use crate::coverage::{Met, declare_situations};

/// The situations that a cluster has met.
pub type Coverage = Met<Situation>;

declare_situations! {
    StoredLate "a message was stored after its sender had given up",
    StoredByNextLeader "a message that nobody acknowledged was stored by the next leader",
    StoredOnce "a message that was sent again was stored once",
    StreamFull "a stream was full",
    RangeShort "a replica that lagged answered",
    RangeWithGap "a replica left something out",
    ReplicaDamaged "a replica lost or changed what was stored",
    Purged "a stream was purged",
    HeartbeatLost "a heartbeat was lost",
    Fenced "a stale owner was fenced",
    FrozenFenced "an owner that had been frozen was fenced",
    ZombieCalled "an owner made a call when another had taken its partition",
    ClaimRefused "two instances claimed a partition at once",
    TakenOver "a partition was taken from a dead owner",
    HandedOver "a partition was handed over by a live owner",
    TakenFromSnapshot "a partition was taken with a snapshot and the frames after it",
    DroppedDuplicate "a request that was in the inbox twice became one run",
    DroppedByNextOwner "a request that one owner took was dropped by the next",
    FiredByNextOwner "a job was fired by two owners in turn",
    AllKilled "all instances died at once",
    Undone "a run was undone",
    Switched "regions were switched and nothing was lost",
    BothActive "a region became active while its pair was still active",
    NotLevel "a region that never had everything was not made active",
    TailLost "the pair never got the last messages of a region that was lost",
    Rejoined "a region came back and mirrored",
    MirrorCut "a purge that was late reached a mirror",
    InboxFilled "the inbox of a region that became active lagged its events",
}
