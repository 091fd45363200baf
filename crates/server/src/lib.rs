//! The wiring: the only place that names concrete parts and puts them together.

mod by_hand;
mod calls;
mod config;
mod descriptors;
mod gauges;
mod housekeeping;
mod journals;
mod membership;
mod memory;
mod nats;
mod others;
mod outbound;
mod owner;
mod pages;
mod passage;
mod post;
pub mod reference;
mod region;
mod settings;
mod start;
mod starter;

pub use config::{
    ClusterConfig, Config, ConfigError, EgressConfig, InstanceRole, JobsConfig, JournalConfig, KeyConfig,
    LimitsConfig, RegionConfig, SecretsConfig, SyncMode, TokenConfig,
};
pub use engine::{Applied, ApplyError};
pub use nats::NatsError;
pub use others::Others;
pub use passage::{HttpPassage, Neighbours};
pub use start::{Running, StartError, start, start_with_clock};
