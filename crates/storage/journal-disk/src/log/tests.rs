//! Tests of the log over a simulated disk: a model predicts the contents.

mod crash;
mod full;
mod model;
mod rot;
