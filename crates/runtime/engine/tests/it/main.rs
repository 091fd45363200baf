//! Partitions over journals in memory: crashes, takeovers and hand-overs, jobs and queues.

#![allow(clippy::unwrap_used, reason = "a failed setup is a failed test")]

mod crash;
mod drafts;
mod hand_over;
mod jobs;
mod queues;
mod takeover;
