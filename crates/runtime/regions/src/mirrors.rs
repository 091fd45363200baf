//! Mirrors of single streams: creating them, how far they lag, and converting them to ordinary streams.

use api_types::MirrorView;
use futures_util::StreamExt;
use futures_util::stream;
use serde_json::{Map, Value, json};

use crate::record::{Point, RecordStore};
use journal_nats::jetstream::{JetStream, JetStreamError, StreamInfo, name_of};
use journal_nats::names::{self, FENCED};

/// Streams that are read or changed concurrently.
pub(crate) const CONCURRENT_STREAMS: usize = 16;

/// Messages by which a mirror may lag and still count as caught up: it receives messages while its position is read.
const LAG_MAX: u64 = 1_000;

/// Whether a mirror is missing, or lags by more than what is in flight.
pub(crate) fn lags(mirror: &MirrorView) -> bool {
    mirror.last.is_none() || mirror.lag.is_none_or(|lag| lag > LAG_MAX)
}

/// Whether a stream is replicated between the two regions.
pub(crate) fn is_shared(installation: &str, stream: &str) -> bool {
    let starts = |kind: &str| stream.starts_with(&format!("{installation}_{kind}_"));
    starts("ING") || starts("JRN") || stream == format!("OBJ_{}", names::snapshot_bucket(installation))
}

/// The replicated streams of a domain, sorted.
pub(crate) async fn shared_streams(
    domain: &JetStream,
    installation: &str,
) -> Result<Vec<String>, JetStreamError> {
    let mut streams = domain.stream_names().await?;
    streams.retain(|stream| is_shared(installation, stream));
    streams.sort_unstable();
    Ok(streams)
}

/// How far each mirror is. Callers pass no origin if it has just failed to respond: every request to it would time out.
pub(crate) async fn status(
    here: &JetStream,
    origin: Option<&JetStream>,
    streams: Vec<String>,
) -> Result<Vec<MirrorView>, JetStreamError> {
    let asked = stream::iter(streams).map(|stream| async move {
        let at_origin = async {
            let origin = origin?;
            origin.info(&stream).await.ok()
        };
        let (stream_here, origin) = tokio::join!(here.info_if_exists(&stream), at_origin);
        let stream_here = stream_here?;
        let origin_last = origin.map(|info| info.last);
        // A mirror that was converted to an ordinary stream still has its messages.
        let had = stream_here.as_ref().map(|info| info.last).unwrap_or_default();
        let counted = origin_last.map(|origin| origin.saturating_sub(had));
        let mirror = stream_here.filter(StreamInfo::is_mirror);
        let last = mirror.as_ref().map(|info| info.last);
        let lag = counted.or_else(|| mirror.as_ref().and_then(|info| info.mirror_lag));
        let newest = mirror.filter(|info| info.last > 0).map(|info| info.newest);
        Ok(MirrorView { stream, last, origin_last, lag, newest })
    });
    let answers: Vec<_> = asked.buffered(CONCURRENT_STREAMS).collect().await;
    answers.into_iter().collect()
}

/// Records the configuration of a stream of the active region, and creates its mirror here if it does not exist.
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
        // An ordinary stream was created here before it was mirrored, and it is empty.
        Some(_) => here.delete(stream).await?,
        None => {}
    }
    here.create(&mirror_config(&config, origin_api)).await.map(drop)
}

/// The configuration that a stream has when its region is active, whether it is closed now or not.
pub(crate) fn open_config(info: &StreamInfo, replicas: usize) -> Map<String, Value> {
    let mut config = info.config.clone();
    config.insert("subjects".to_owned(), open_subjects(info));
    config.insert("num_replicas".to_owned(), json!(replicas));
    // With a limit, a mirror would delete its oldest messages, and a promotion could be refused for storage that is only
    // reserved. An instance that starts in the active region sets the limit again.
    config.insert("max_bytes".to_owned(), json!(-1));
    config.remove("mirror");
    // The placement and the metadata of the servers belong to each region.
    config.remove("placement");
    if let Some(metadata) = config.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.retain(|key, _| !key.starts_with("_nats."));
    }
    config
}

/// The subjects that a stream has when it is open.
pub(crate) fn open_subjects(info: &StreamInfo) -> Value {
    let subjects = info.config_subjects().into_iter();
    subjects.map(|subject| subject.strip_prefix(FENCED).unwrap_or(&subject).to_owned()).collect()
}

/// The same stream with its subjects renamed, so that no publisher reaches it.
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
    // A mirror must take every message of its origin.
    mirror.insert("discard".to_owned(), json!("old"));
    // A mirror may lag, so it must not respond to direct reads of its origin.
    mirror.insert("mirror_direct".to_owned(), json!(false));
    let source = json!({ "name": name_of(config), "external": { "api": origin_api, "deliver": "" } });
    mirror.insert("mirror".to_owned(), source);
    mirror
}

/// Closes a stream: renames its subjects, so that publishers get an error. A mirror has none.
pub(crate) async fn fence(domain: &JetStream, stream: &str) -> Result<(), JetStreamError> {
    let Some(info) = domain.info_if_exists(stream).await? else { return Ok(()) };
    let fenced = fenced_config(&info.config);
    if info.is_mirror() || info.config == fenced {
        return Ok(());
    }
    domain.update(&fenced).await
}

/// Converts a mirror to a closed ordinary stream and returns where it ends.
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

/// Distinguishes messages with the same sequence.
pub(crate) fn check_of(data: &[u8], time: &str) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(data), time.as_bytes())
}

/// Opens a stream. The subject of a partition's stream contains the epoch, so that messages that were sent under an earlier
/// epoch do not reach it.
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
