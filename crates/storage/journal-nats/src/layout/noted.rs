//! Where an installation keeps its snapshots, noted with its control stream: an instance that looks elsewhere finds none,
//! and the events before them are gone.

use serde_json::{Map, Value, json};
use types::PartitionId;

use super::{Made, TRIES_MAX, find, is_opened_as, parse};
use crate::client::{Answer, CREATE_MAX, Client, PREFIX};
use crate::names;
use crate::nats_journal::Installation;
use crate::open::OpenError;
use crate::pause::ask_again;
use crate::wire::WireError;

const SNAPSHOTS: &str = "sortie.snapshots";

/// Notes the place of the snapshots when none is noted yet, and refuses another one. Each region has a note of its own:
/// what is noted with a stream goes with it to the pair, which may keep its snapshots elsewhere.
pub async fn note_snapshots(
    client: &Client,
    installation: &Installation,
    region: Option<&str>,
    address: &str,
) -> Result<(), OpenError> {
    let key = region.map_or_else(|| SNAPSHOTS.to_owned(), |region| format!("{SNAPSHOTS}.{region}"));
    ask_again(TRIES_MAX, || note(client, installation, &key, address)).await?
}

async fn note(
    client: &Client,
    installation: &Installation,
    key: &str,
    address: &str,
) -> Result<Result<(), OpenError>, WireError> {
    let stream = names::events_stream(&installation.name, PartitionId::CONTROL);
    let Some(mut found) = find(client, &stream).await? else {
        return Err(WireError(format!("{stream} is not there yet")));
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
        // It is not this region's to change.
        return Ok(Ok(()));
    }
    put(&mut found, key, address);
    let what = format!("STREAM.UPDATE.{stream}");
    match client.ask::<Made>(PREFIX, &what, &found, CREATE_MAX).await? {
        Answer::Done(_) => Ok(Ok(())),
        Answer::Refused { error } => Err(WireError(format!("{what}: {}", error.description))),
    }
}

fn put(config: &mut Map<String, Value>, key: &str, value: &str) {
    let metadata = config.entry("metadata").or_insert_with(|| json!({}));
    if let Some(metadata) = metadata.as_object_mut() {
        metadata.insert(key.to_owned(), value.into());
    }
}
