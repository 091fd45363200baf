//! Sources over a memory journal: a built-in queue, and real brokers.

#![allow(clippy::unwrap_used)]

mod broker;
mod life;
mod own_queue;
mod slow;
