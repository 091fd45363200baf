//! The address of the snapshot store, recorded in the metadata of the control stream: an instance with another address would
//! find no snapshots, and the events before them are trimmed.

use serde_json::{Map, Value, json};
use types::PartitionId;

use super::{find, is_opened_as, parse};
use crate::jetstream::{JetStream, JetStreamError, retry};
use crate::limits::CREATE_ATTEMPTS_MAX;
use crate::names;
use crate::nats_journal::Installation;
use crate::open::OpenError;

const SNAPSHOTS: &str = "sortie.snapshots";

/// Records the address of the snapshot store if none is recorded, and refuses a different one. Each region has its own
/// entry: metadata is mirrored to the pair, which may keep its snapshots elsewhere.
pub async fn note_snapshots(
    jetstream: &JetStream,
    installation: &Installation,
    region: Option<&str>,
    address: &str,
) -> Result<(), OpenError> {
    let key = region.map_or_else(|| SNAPSHOTS.to_owned(), |region| format!("{SNAPSHOTS}.{region}"));
    retry(CREATE_ATTEMPTS_MAX, || note(jetstream, installation, &key, address)).await?
}

async fn note(
    jetstream: &JetStream,
    installation: &Installation,
    key: &str,
    address: &str,
) -> Result<Result<(), OpenError>, JetStreamError> {
    let stream = names::events_stream(&installation.name, PartitionId::CONTROL);
    let Some(mut found) = find(jetstream, &stream).await? else {
        return Err(JetStreamError::NotReady(format!("{stream} does not exist yet")));
    };
    let config = parse(&stream, &found)?;
    match config.metadata.get(key) {
        Some(noted) if noted == address => return Ok(Ok(())),
        Some(noted) => {
            let (noted, asked, key) = (noted.clone(), address.to_owned(), key.to_owned());
            return Ok(Err(OpenError::Snapshots { noted, asked, stream, key }));
        }
        None => {}
    }
    let subject = names::events_subject(&installation.name, PartitionId::CONTROL);
    if config.mirror.is_some() || !is_opened_as(&config.subjects, &[subject]) {
        // Only the active region changes the stream.
        return Ok(Ok(()));
    }
    put(&mut found, key, address);
    jetstream.update(&found).await.map(Ok)
}

fn put(config: &mut Map<String, Value>, key: &str, value: &str) {
    let metadata = config.entry("metadata").or_insert_with(|| json!({}));
    if let Some(metadata) = metadata.as_object_mut() {
        metadata.insert(key.to_owned(), value.into());
    }
}
