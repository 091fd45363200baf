//! Two regions on real servers: mirrors, planned and forced switches, and the return of an old region.

#![allow(clippy::unwrap_used)]

mod given_up;
mod levels;
mod pair_given_up;
mod proxy;
mod repaired;
mod secrets;
mod stage;
mod switches;
mod third_place;
