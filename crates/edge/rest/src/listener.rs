//! The listener: connections in, bounded in number and in the time that they may take.

mod patience;
mod serve;

pub use serve::{Server, serve};
