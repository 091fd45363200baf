//! Whether the link between the regions keeps apart what it must: one publish must never be stored in both.

use std::time::Duration;

use serde_json::json;
use tokio::time::sleep;

use crate::{RegionAgent, RegionError};
use journal_nats::jetstream::JetStreamError;

/// Word of a new subject takes a moment to get through the link.
const TRIES: u32 = 6;
const BETWEEN: Duration = Duration::from_millis(150);

impl RegionAgent {
    /// Sends a message on a reserved subject of each kind while the pair stores it, if it gets there.
    pub(super) async fn check_link(&self) -> Result<(), RegionError> {
        let (i, name) = (&self.settings.installation, &self.settings.name);
        // The region's own: its pair may be asking the same the other way at this moment. Each with what a link must deny
        // so that it does not get through; `>` stands for whole tokens alone.
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
        match self.there.domain.create(&config).await {
            Ok(_) => {}
            // Looked at again at the next start: a link that is down carries nothing.
            Err(JetStreamError::Unreachable { .. }) => return Ok(()),
            Err(error) => return Err(self.pair_error(error)),
        }
        let carried = self.carried(&probes).await;
        // One that is left over is in nobody's way.
        let _ = self.there.domain.delete(&stream).await;
        match carried {
            None => Ok(()),
            Some(denied) => {
                let (subject, pair) = (denied.to_owned(), self.settings.pair.clone());
                Err(RegionError::LinkCarries { subject, pair })
            }
        }
    }

    /// What would have had to be denied for the first subject on which somebody answers.
    async fn carried<'p>(&self, probes: &'p [(String, String)]) -> Option<&'p str> {
        for _ in 0..TRIES {
            sleep(BETWEEN).await;
            for (subject, denied) in probes {
                if self.here.domain.has_responder(subject, BETWEEN).await {
                    return Some(denied);
                }
            }
        }
        None
    }
}
