//! Paired regions: one is active, the other one mirrors it and can take its place.
//!
//! Each region is a JetStream domain, joined to the other by leaf nodes. The bucket `<installation>_region` of a domain has
//! the record of its region: role, epoch, and how far a promotion has come. The records decide; everything else follows
//! from them.
//!
//! - Every instance runs a `RegionAgent`, which reads both records twice a second, publishes whether its region is active
//!   ([`Regions::active`]), and makes the changes that the records require ([`on_pair`]). It keeps the mirrors of a
//!   standby complete (`replication`).
//! - [`Regions::promote`] makes a standby active (`promote`): *planned*, after the pair was fenced and the mirrors have
//!   caught up, so that nothing is lost; or *forced*, without the pair. Work that only one instance may do is done under a
//!   claim (`work`).
//! - A region that finds a higher epoch in its pair was overtaken. It closes its streams (`fence`), keeps the messages that
//!   only it has (`divergent_tail`), and becomes a mirror (`rejoin`).
//! - With a witness, a region is active only while it holds a lease (`leases`, renewed in `lease_renewal`), and a standby
//!   promotes itself once the leases of its pair have expired.
//! - With semi-synchronous replication, an append counts only when the pair has it (`semi_sync`).
//!
//! What it promises: with a witness at most one region is active at any time, and after a planned switch nothing that was
//! acknowledged is missing. What it needs: NATS 2.15 in both regions, leaf nodes that deny the subjects of the journal
//! (`link_check` refuses others), and clocks that run at about the same rate. If the pair or the witness does not respond,
//! the role of a region stays, until its leases expire. `docs/internals/regions.md` has the states, the timing and the
//! argument why only one region is active.

mod regions;

mod agent;
mod decide;
mod roles;
mod sites;

mod lease_renewal;
mod leases;

mod mirrors;
mod replication;

mod fence;
mod promote;
mod work;

mod divergent_tail;
mod rejoin;
mod tail_requests;

mod semi_sync;

mod drill;
mod error;
mod link_check;
mod meter;
mod record;
mod secrets;
mod settings;
mod status;

pub use decide::role::{RegionState, Role, RoleChange, Side, may_promote, must_be_level, on_pair};
pub use divergent_tail::Tail;
pub use error::RegionError;
pub use meter::{Meter, RegionReading};
pub use promote::{Mode, Promoted};
pub use record::{Promotion, PromotionStep, Record};
pub use regions::Regions;
pub use semi_sync::Paired;
pub use settings::Settings;
pub use status::Status;
pub use tail_requests::{TailRequest, TailRequests};
