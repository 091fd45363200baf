//! The rules of a run: which events follow from an input, and what a state becomes by an event.
//!
//! Pure: no I/O, no clock, no randomness, no hash order. Time and ids are arguments. `apply` decides by the
//! state, evolves it by what was decided, and goes on until nothing more follows; replay only evolves.

mod command;
mod decide;
pub mod drill;
mod event;
pub mod job;
mod parked;
mod pending_call;
pub mod queue;
pub mod recurrence;
mod retry;
mod run;
mod settle;
mod state;
mod step;
mod undo;

pub use command::{Command, Decision, Input, Rejection, Request};
pub use event::{Accepted, Cause, DropReason, Event, Fact, Fired, JobFact, Moment, RunNo, Then};
pub use pending_call::PendingCall;
pub use run::{Direction, Ending, Phase, Run};
pub use state::{Plans, State, UnknownPlan};
pub use step::{DoneBy, Failure, Step, StepState, Try, UndoneBy};
