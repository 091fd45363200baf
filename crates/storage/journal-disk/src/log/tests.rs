//! Tests of the log over a simulated disk: a model says what must be there.

mod crash;
mod full;
mod model;
mod rot;
