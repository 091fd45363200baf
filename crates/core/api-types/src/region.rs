//! Regions as the API shows them.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::{ApiSchema, Time};

/// A region and its pair.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ApiSchema)]
#[schema(name = "Region")]
pub struct RegionView {
    /// The region that responds, and its pair.
    pub here: SideView,
    pub pair: SideView,
    /// Whether the pair can be reached.
    pub pair_reachable: bool,
    /// The region that is active, as far as is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active: Option<String>,
    /// The mirrors of the standby.
    pub mirrors: Vec<MirrorView>,
    /// With a witness, if the region is active by its record: which leases it holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leases: Option<LeasesView>,
    /// With a witness, if the region is a standby: whether its mirrors were caught up recently. Otherwise it does not promote
    /// itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub follows: Option<bool>,
    /// The divergent tail that was kept when this region was last overtaken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tail: Option<TailView>,
}

/// The leases of a region with a witness; an active region needs one of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ApiSchema)]
#[schema(name = "RegionLeases")]
pub struct LeasesView {
    /// The lease at the witness.
    pub witness: bool,
    /// The consent of the pair.
    pub pair: bool,
}

/// One of the two.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ApiSchema)]
#[schema(name = "RegionSide")]
pub struct SideView {
    pub region: String,
    /// active, standby, fenced, or unknown
    #[schema(one_of("active", "standby", "fenced", "unknown"))]
    pub role: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epoch: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Time>,
    /// The region and instance that wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// Of a standby: whether its mirrors have caught up once. Before that it is promoted only with `force` and `incomplete`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level: Option<bool>,
    /// The step of a promotion that is not complete: fence, catch_up or open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(one_of("fence", "catch_up", "open"))]
    pub promotion: Option<String>,
}

/// The mirror of a stream.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ApiSchema)]
#[schema(name = "RegionMirror")]
pub struct MirrorView {
    pub stream: String,
    /// The last sequence of the mirror; absent if there is no mirror yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<u64>,
    /// The last sequence of the origin, if it responds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin_last: Option<u64>,
    /// By how many messages the mirror lags, as far as is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lag: Option<u64>,
    /// When the newest message of the mirror was stored in the active region.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub newest: Option<String>,
}

/// The messages that an overtaken region has and its pair never received.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ApiSchema)]
#[schema(name = "RegionTail")]
pub struct TailView {
    pub kept_at: Time,
    pub epoch: u64,
    pub overtaken_by: u64,
    /// The instance on whose disk it is, and the folder there.
    pub instance: String,
    pub folder: String,
    /// The bucket of objects in the region's NATS that has the files as well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bucket: Option<String>,
    pub streams: Vec<StreamTailView>,
}

/// What was kept of one stream.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ApiSchema)]
#[schema(name = "RegionStreamTail")]
pub struct StreamTailView {
    pub stream: String,
    pub from: u64,
    pub through: u64,
    pub messages: u64,
    pub bytes: u64,
    /// Why the whole stream was kept, if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub whole: Option<String>,
    /// What the messages contain: requested runs, frames.
    pub contents: Vec<String>,
}

/// A request of a divergent tail, as it can be submitted again. It has `body` or `text`, or else `problem`.
#[derive(Debug, Clone, Serialize, Deserialize, ApiSchema)]
#[schema(name = "TailRequest")]
pub struct TailRequestView {
    /// The inbox that it was kept from.
    pub stream: String,
    /// The sequence of its message in the stream.
    pub sequence: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workflow: Option<String>,
    /// The id of its run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accepted_at: Option<Time>,
    /// The body, byte by byte as it was received.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<Box<RawValue>>,
    /// Instead of `body`, if the body cannot be a member of a JSON line as it was received: with white space around it or
    /// line breaks in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Why it cannot be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// How to promote a region.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ApiSchema)]
#[serde(deny_unknown_fields, default)]
#[schema(name = "PromoteDraft", input)]
pub struct PromoteRequest {
    /// Without the pair: what the mirrors lack is lost.
    #[schema(default = false)]
    pub force: bool,
    /// With force: even if this region never caught up, or was overtaken. What it lacks is lost.
    #[schema(default = false)]
    pub incomplete: bool,
}

/// The result of a promotion.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ApiSchema)]
#[schema(name = "Promoted")]
pub struct PromotedView {
    pub region: String,
    pub epoch: u64,
    pub forced: bool,
    /// From the call until the region was active: the RTO, without the time until the call.
    pub took_ms: u64,
    /// Messages that this region is known to lack: the RPO.
    pub lost_messages: u64,
    pub mirrors: Vec<MirrorView>,
    /// Whether the pair mirrors this region already.
    pub pair_mirrors: bool,
}

/// How to run a drill.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ApiSchema)]
#[serde(deny_unknown_fields, default)]
#[schema(name = "DrillDraft", input)]
pub struct DrillRequest {
    /// Make a planned switch to the other region, and back.
    #[schema(default = false)]
    pub switch: bool,
}

/// The result of a drill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ApiSchema)]
#[schema(name = "Drill")]
pub struct DrillView {
    /// Whether a switch would work.
    pub ready: bool,
    pub checks: Vec<CheckView>,
    pub switches: Vec<PromotedView>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ApiSchema)]
#[schema(name = "DrillCheck")]
pub struct CheckView {
    pub check: String,
    pub passed: bool,
    pub detail: String,
}
