//! Regions as the API shows them.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::{ApiSchema, Time};

/// A region and its pair.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ApiSchema)]
#[schema(name = "Region")]
pub struct RegionView {
    /// The region that answers, and the other one.
    pub here: SideView,
    pub pair: SideView,
    /// Whether the pair answers.
    pub pair_reachable: bool,
    /// The region that is active, as far as is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active: Option<String>,
    /// How far the mirrors of the standby are.
    pub mirrors: Vec<MirrorView>,
    /// With a witness, of a region that is active by its record: what it has to be so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leases: Option<LeasesView>,
    /// With a witness, of a region that stands by: whether it has had nearly everything of late. If not, it does not take
    /// over by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub follows: Option<bool>,
    /// What was kept when this region was last overtaken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tail: Option<TailView>,
}

/// What a region with a witness must have one of to work.
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
    /// Of a standby: whether its mirrors have had everything once. Until then it is not promoted, unless that is meant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level: Option<bool>,
    /// What a promotion that has begun is doing: fence, catch_up or open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(one_of("fence", "catch_up", "open"))]
    pub promotion: Option<String>,
}

/// How far the mirror of a stream is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ApiSchema)]
#[schema(name = "RegionMirror")]
pub struct MirrorView {
    pub stream: String,
    /// The last sequence of the mirror; none when there is no mirror yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<u64>,
    /// The last sequence of the origin, when it answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin_last: Option<u64>,
    /// Messages that are missing, as far as is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lag: Option<u64>,
    /// When the newest message that is there was stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub newest: Option<String>,
}

/// What an overtaken region had and its pair never got.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ApiSchema)]
#[schema(name = "RegionTail")]
pub struct TailView {
    pub kept_at: Time,
    pub epoch: u64,
    pub overtaken_by: u64,
    /// The instance on whose disk it is, and the folder there.
    pub instance: String,
    pub folder: String,
    /// The bucket of objects in the region's NATS where it is, too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bucket: Option<String>,
    pub streams: Vec<StreamTailView>,
}

/// What was kept of one stream.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ApiSchema)]
#[schema(name = "RegionStreamTail")]
pub struct StreamTailView {
    pub stream: String,
    pub from: u64,
    pub through: u64,
    pub messages: u64,
    pub bytes: u64,
    /// Why all of the stream was kept, when that is so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub whole: Option<String>,
    /// What is in it: runs that were asked for, frames.
    pub contents: Vec<String>,
}

/// A request of a divergent tail, as it can be handed in again. Of `body` and `text` one is there, or else `problem`.
#[derive(Debug, Clone, Serialize, Deserialize, ApiSchema)]
#[schema(name = "TailRequest")]
pub struct TailRequestView {
    /// The stream and the message in it that it was kept from.
    pub stream: String,
    /// The message of the stream that it was in.
    pub sequence: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workflow: Option<String>,
    /// The id that its run was to have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accepted_at: Option<Time>,
    /// The body, byte by byte as it came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<Box<RawValue>>,
    /// In its place, when it cannot stand in a line as it came: with space around it or lines in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Why it cannot be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// What a promotion is asked for with.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ApiSchema)]
#[serde(deny_unknown_fields, default)]
#[schema(name = "PromoteDraft", input)]
pub struct PromoteRequest {
    /// Without the pair: what the mirrors do not have is lost.
    #[schema(default = false)]
    pub force: bool,
    /// With force: even if this region was never level, or was overtaken. What it does not have is lost.
    #[schema(default = false)]
    pub incomplete: bool,
}

/// A promotion that has ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ApiSchema)]
#[schema(name = "Promoted")]
pub struct PromotedView {
    pub region: String,
    pub epoch: u64,
    pub forced: bool,
    /// From the call until the region was active: the RTO, without the time until somebody called.
    pub took_ms: u64,
    /// Messages that this region is known not to have: the RPO.
    pub lost_messages: u64,
    pub mirrors: Vec<MirrorView>,
    /// Whether the pair mirrors this region already.
    pub pair_mirrors: bool,
}

/// What a drill is asked for with.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ApiSchema)]
#[serde(deny_unknown_fields, default)]
#[schema(name = "DrillDraft", input)]
pub struct DrillRequest {
    /// Make a planned switch to the other region, and back.
    #[schema(default = false)]
    pub switch: bool,
}

/// What a drill has shown.
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
