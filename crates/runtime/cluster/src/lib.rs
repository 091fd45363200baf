//! Which instance owns which partition.
//!
//! Every instance sends heartbeats to a shared register ([`Register`]), computes the desired owners of all partitions from
//! the members that are alive ([`assign`]), and acquires or releases partitions until what it owns is what it should own
//! ([`Membership`]). There is no leader: all instances compute the same assignment from the same members.
//!
//! Nothing here guarantees exclusive ownership. The journal does: acquiring a partition raises its epoch, and the journal
//! refuses appends under an older one. This crate only ensures that some instance acquires every partition soon.

mod assignment;
mod backoffs;
mod decide;
mod directory;
mod heartbeat;
mod member;
mod membership;
mod metrics;
mod nats_register;
mod owner;
mod rebalancer;
mod register;
mod settings;
mod versions;

pub use assignment::{Owners, assign};
pub use decide::{Decision, HandoverWait, Observation, RebalanceAction, decide};
pub use directory::{Directory, PartitionLocation};
pub use member::{InstanceId, Member, Roles};
pub use membership::Membership;
pub use metrics::ClusterMetrics;
pub use nats_register::NatsRegister;
pub use owner::PartitionOwner;
pub use register::{ClusterView, DurableEnd, Ownership, Register, RegisterError};
pub use settings::{MEMBER_TTL, Settings};
