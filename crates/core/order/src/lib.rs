//! Orders: the calls that the engine wants made, what each may read of its run, and where its outcome goes.
//!
//! The engine writes orders, `outbound` carries them out, and tests and the simulator stand in for either side.

mod context;
mod key;
mod order;
mod reply;
mod stop;

pub use context::CallContext;
pub use key::idempotency_key;
pub use order::{CallOrder, CallSubject, Effects};
pub use reply::{CallReport, Reply, ReportTo};
pub use stop::Stop;
