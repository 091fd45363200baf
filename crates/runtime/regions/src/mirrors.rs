//! Mirrors: how a stream of the active region becomes one here, how far each is, and how one becomes a stream again.

use futures_util::StreamExt;
use futures_util::stream;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::record::{Point, RecordStore};
use journal_nats::jetstream::{JetStream, JetStreamError, StreamInfo, name_of};
use journal_nats::names::{self, FENCED};

/// Streams that are asked about or changed at once.
pub(crate) const SIDE_BY_SIDE: usize = 16;

/// How far the mirror of a stream is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MirrorStatus {
    pub stream: String,
    /// The last sequence here; none when there is no mirror yet.
    pub last: Option<u64>,
    /// The last sequence at the active region, when it answers.
    pub origin_last: Option<u64>,
    /// Messages that are missing here: counted when the active region answers, else as last known.
    pub lag: Option<u64>,
    /// When the newest message that is here was stored at the active region.
    pub newest: Option<String>,
}

/// A mirror that moves on while it is looked at is never quite there.
const LAG_MAX: u64 = 1_000;

impl MirrorStatus {
    /// Whether more is missing than is on its way.
    pub(crate) fn lags_too_far(&self) -> bool {
        self.last.is_none() || self.lag.is_none_or(|lag| lag > LAG_MAX)
    }
}

/// Whether a stream belongs to what a pair shares.
pub(crate) fn is_shared(installation: &str, stream: &str) -> bool {
    let starts = |kind: &str| stream.starts_with(&format!("{installation}_{kind}_"));
    starts("ING") || starts("JRN") || stream == format!("OBJ_{}", names::snapshot_bucket(installation))
}

/// The streams that a domain has of what a pair shares, in order.
pub(crate) async fn shared_streams(
    domain: &JetStream,
    installation: &str,
) -> Result<Vec<String>, JetStreamError> {
    let mut streams = domain.stream_names().await?;
    streams.retain(|stream| is_shared(installation, stream));
    streams.sort_unstable();
    Ok(streams)
}

/// How far each mirror is, of all streams that either side has. An origin that was silent a moment ago is none: each
/// question to it would take as long as an answer may.
pub(crate) async fn status(
    here: &JetStream,
    origin: Option<&JetStream>,
    streams: Vec<String>,
) -> Result<Vec<MirrorStatus>, JetStreamError> {
    let asked = stream::iter(streams).map(|stream| async move {
        let at_origin = async {
            let origin = origin?;
            origin.info(&stream).await.ok()
        };
        let (stream_here, origin) = tokio::join!(here.info_if_exists(&stream), at_origin);
        let stream_here = stream_here?;
        let origin_last = origin.map(|info| info.last);
        // What was a mirror, and is a stream by now, has what it had.
        let had = stream_here.as_ref().map(|info| info.last).unwrap_or_default();
        let counted = origin_last.map(|origin| origin.saturating_sub(had));
        let mirror = stream_here.filter(StreamInfo::is_mirror);
        let last = mirror.as_ref().map(|info| info.last);
        let lag = counted.or_else(|| mirror.as_ref().and_then(|info| info.mirror_lag));
        let newest = mirror.filter(|info| info.last > 0).map(|info| info.newest);
        Ok(MirrorStatus { stream, last, origin_last, lag, newest })
    });
    let answers: Vec<_> = asked.buffered(SIDE_BY_SIDE).collect().await;
    answers.into_iter().collect()
}

/// Notes how a stream of the active region is configured, and makes its mirror here unless it is there.
pub(crate) async fn keep_mirror(
    here: &JetStream,
    records: &RecordStore,
    origin: &JetStream,
    origin_api: &str,
    stream: &str,
    replicas: usize,
) -> Result<(), JetStreamError> {
    let config = open_config(&origin.info(stream).await?, replicas);
    records.set_config(stream, &config).await?;
    match here.info_if_exists(stream).await? {
        Some(info) if info.is_mirror() || info.last > 0 => return Ok(()),
        // Somebody made a stream here before it was mirrored, and nothing was ever in it.
        Some(_) => here.delete(stream).await?,
        None => {}
    }
    here.create(&mirror_config(&config, origin_api)).await.map(drop)
}

/// The configuration of a stream as it is when its region is active, whether it is fenced now or not.
pub(crate) fn open_config(info: &StreamInfo, replicas: usize) -> Map<String, Value> {
    let mut config = info.config.clone();
    config.insert("subjects".to_owned(), open_subjects(info));
    config.insert("num_replicas".to_owned(), json!(replicas));
    // A mirror that may hold less than there is would forget the oldest, and a promotion must not be refused for want of
    // room that is only reserved: whoever starts in an active region sets the limit.
    config.insert("max_bytes".to_owned(), json!(-1));
    config.remove("mirror");
    // Where it is placed is each region's own matter, and so is what its servers have noted.
    config.remove("placement");
    if let Some(metadata) = config.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.retain(|key, _| !key.starts_with("_nats."));
    }
    config
}

/// The subjects of a stream as they are when it is not fenced.
pub(crate) fn open_subjects(info: &StreamInfo) -> Value {
    let subjects = info.config_subjects().into_iter();
    subjects.map(|subject| subject.strip_prefix(FENCED).unwrap_or(&subject).to_owned()).collect()
}

/// The same stream with its subjects out of everybody's way.
pub(crate) fn fenced_config(config: &Map<String, Value>) -> Map<String, Value> {
    let mut config = config.clone();
    let subjects = config.get("subjects").and_then(Value::as_array).cloned().unwrap_or_default();
    let fenced = subjects.iter().filter_map(Value::as_str).map(|subject| {
        if subject.starts_with(FENCED) { subject.to_owned() } else { format!("{FENCED}{subject}") }
    });
    config.insert("subjects".to_owned(), fenced.collect());
    config
}

fn mirror_config(config: &Map<String, Value>, origin_api: &str) -> Map<String, Value> {
    let mut mirror = config.clone();
    for field in ["subjects", "duplicate_window", "sources", "first_seq"] {
        mirror.remove(field);
    }
    // A mirror takes what there is; only whoever writes can be refused.
    mirror.insert("discard".to_owned(), json!("old"));
    // The origin's direct reads are not answered by a mirror that may lag.
    mirror.insert("mirror_direct".to_owned(), json!(false));
    let source = json!({ "name": name_of(config), "external": { "api": origin_api, "deliver": "" } });
    mirror.insert("mirror".to_owned(), source);
    mirror
}

/// Moves the subjects of a stream away, so that whoever writes gets an error. A mirror has none.
pub(crate) async fn fence(domain: &JetStream, stream: &str) -> Result<(), JetStreamError> {
    let Some(info) = domain.info_if_exists(stream).await? else { return Ok(()) };
    let fenced = fenced_config(&info.config);
    if info.is_mirror() || info.config == fenced {
        return Ok(());
    }
    domain.update(&fenced).await
}

/// Makes a mirror a stream that nobody writes to yet, and says where it ends.
pub(crate) async fn detach(
    here: &JetStream,
    records: &RecordStore,
    stream: &str,
) -> Result<Point, JetStreamError> {
    let info = here.info(stream).await?;
    if info.is_mirror() {
        let config = records.config(stream).await?.ok_or_else(|| {
            JetStreamError::invalid(stream, "the configuration of the mirrored stream is not recorded")
        })?;
        here.update(&fenced_config(&config)).await?;
    }
    let last = here.info(stream).await?.last;
    point_at(here, stream, last).await
}

pub(crate) async fn point_at(domain: &JetStream, stream: &str, last: u64) -> Result<Point, JetStreamError> {
    let message = if last == 0 { None } else { domain.message(stream, last).await? };
    Ok(Point { last, check: message.map(|message| check_of(&message.data, &message.time)) })
}

/// Tells one message from another with the same sequence.
pub(crate) fn check_of(data: &[u8], time: &str) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(data), time.as_bytes())
}

/// Gives a stream its subjects: those of a partition are this epoch's, where nothing arrives that was sent before.
pub(crate) async fn open(
    here: &JetStream,
    records: &RecordStore,
    (installation, epoch): (&str, u64),
    stream: &str,
) -> Result<(), JetStreamError> {
    let info = here.info(stream).await?;
    let config = records.config(stream).await?;
    let mut config = config.unwrap_or_else(|| open_config(&info, replicas_of(&info)));
    if let Some(subject) = names::subject_of(installation, stream) {
        config.insert("subjects".to_owned(), json!([names::subject_in(&subject, epoch)]));
    }
    if info.config_subjects() == subjects_of(&config) {
        return Ok(());
    }
    here.update(&config).await
}

pub(crate) fn subjects_of(config: &Map<String, Value>) -> Vec<String> {
    let subjects = config.get("subjects").and_then(Value::as_array).into_iter().flatten();
    subjects.filter_map(|subject| subject.as_str().map(str::to_owned)).collect()
}

fn replicas_of(info: &StreamInfo) -> usize {
    let replicas = info.config.get("num_replicas").and_then(Value::as_u64).unwrap_or(1);
    usize::try_from(replicas).unwrap_or(1)
}
