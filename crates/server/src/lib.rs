//! The wiring: the only place that names concrete parts and puts them together.

mod config;
mod gauges;
mod housekeeping;
mod start;

pub use config::{Config, ConfigError, EgressConfig, JournalConfig, LimitsConfig, SyncMode, TokenConfig};
pub use engine::{Applied, ApplyError};
pub use start::{Running, StartError, start};
