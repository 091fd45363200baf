//! The wiring: the only place that names concrete parts and puts them together.

mod calls;
mod config;
mod descriptors;
mod gauges;
mod housekeeping;
mod journals;
mod membership;
mod memory;
mod nats;
mod outbound;
mod owner;
mod peers;
mod queue_sender;
pub mod reference;
mod region;
mod remote_owners;
mod service_overrides;
mod settings;
mod start;
mod starter;

pub use config::{
    ClusterConfig, Config, ConfigError, EgressConfig, InstanceRole, JobsConfig, JournalConfig, KeyConfig,
    LimitsConfig, RegionConfig, SecretsConfig, SyncMode, TokenConfig,
};
pub use engine::{Applied, ApplyError};
pub use nats::NatsError;
pub use peers::{HttpPeerClient, Peers};
pub use remote_owners::RemoteOwners;
pub use start::{Running, StartError, start, start_with_clock};
