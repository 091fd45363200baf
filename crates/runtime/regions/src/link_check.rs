//! Checks that the leaf link keeps the subjects of the journal in their region: a message must never be stored in both.

use std::time::Duration;

use serde_json::json;
use tokio::time::sleep;

use crate::RegionError;
use crate::sites::Sites;
use journal_nats::jetstream::JetStreamError;

/// Interest in a new subject takes a moment to propagate through the link.
const TRIES: u32 = 6;
const BETWEEN: Duration = Duration::from_millis(150);

/// Creates a stream in the pair that listens to reserved subjects, and publishes on them here. Fails if a message arrives.
pub(crate) async fn check(sites: &Sites) -> Result<(), RegionError> {
    let (i, name) = (&sites.settings.installation, &sites.settings.name);
    // The subjects contain the region's name: the pair may be checking the other direction at the same time. Each is paired
    // with the pattern that the link must deny; `>` matches whole tokens only.
    let probes = [
        (format!("{i}.ing.probe.{name}"), format!("{i}.ing.>")),
        (format!("{i}.jrn.probe.{name}"), format!("{i}.jrn.>")),
        (format!("$KV.{i}_probe.{name}"), "$KV.>".to_owned()),
        (format!("$O.{i}_probe.C.{name}"), "$O.>".to_owned()),
    ];
    let subjects: Vec<_> = probes.iter().map(|(subject, _)| subject).collect();
    let stream = format!("{i}_PROBE_{name}");
    let config = json!({
        "name": stream,
        "subjects": subjects,
        "storage": "memory",
        "num_replicas": 1,
        "max_msgs": 10,
        "retention": "limits",
        "discard": "old",
    });
    let config = config.as_object().cloned().unwrap_or_default();
    match sites.there.domain.create(&config).await {
        Ok(_) => {}
        // A link that is down carries nothing; the next start checks again.
        Err(JetStreamError::Unreachable { .. }) => return Ok(()),
        Err(error) => return Err(sites.pair_error(error)),
    }
    let carried = carried(sites, &probes).await;
    // A stream that is left over does no harm.
    let _ = sites.there.domain.delete(&stream).await;
    match carried {
        None => Ok(()),
        Some(denied) => {
            let (subject, pair) = (denied.to_owned(), sites.settings.pair.clone());
            Err(RegionError::LinkCarries { subject, pair })
        }
    }
}

/// The pattern that should have been denied, for the first subject that gets a response.
async fn carried<'p>(sites: &Sites, probes: &'p [(String, String)]) -> Option<&'p str> {
    for _ in 0..TRIES {
        sleep(BETWEEN).await;
        for (subject, denied) in probes {
            if sites.here.domain.has_responder(subject, BETWEEN).await {
                return Some(denied);
            }
        }
    }
    None
}
