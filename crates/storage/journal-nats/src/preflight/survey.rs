//! Checks the servers for as long as they are used: a server may return with another configuration, and storage fills up.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio::time::sleep;

use super::{Asker, Varz};
use crate::limits::ROOM_PERIOD;
use crate::wire::Storage;

/// What the servers reported when they were last asked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Survey {
    /// The storage of the server with the smallest free part.
    pub storage: Option<Storage>,
    /// Servers that would lose acknowledged messages, with what to change.
    pub unfit: BTreeMap<String, String>,
    /// Servers that should respond and do not.
    pub silent: usize,
}

/// Asks the servers again and again, until the last clone is dropped.
#[derive(Clone, Default)]
pub struct ServerWatch {
    surveys: Arc<watch::Sender<Survey>>,
    _task: Option<Arc<AbortOnDrop>>,
}

struct AbortOnDrop(AbortHandle);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl ServerWatch {
    /// Continues from what the servers have just reported.
    pub(super) fn start(asker: Asker, replicas: usize, servers: &BTreeMap<String, Varz>) -> ServerWatch {
        let surveys = Arc::default();
        let watch = Watch::new(asker, replicas, servers);
        watch.publish(&surveys);
        let task = host::spawn("NATS servers", watch.run(Arc::clone(&surveys)));
        ServerWatch { surveys, _task: Some(Arc::new(AbortOnDrop(task.abort_handle()))) }
    }

    /// What the servers report about themselves; an empty survey if they are trusted without being asked.
    pub fn survey(&self) -> watch::Receiver<Survey> {
        self.surveys.subscribe()
    }
}

struct Watch {
    asker: Asker,
    /// The replicas of each stream: so many servers must exist.
    replicas: usize,
    /// All servers with JetStream that have ever responded.
    known: BTreeSet<String>,
    seen: Survey,
}

impl Watch {
    /// Continues from what the servers have just reported.
    fn new(asker: Asker, replicas: usize, servers: &BTreeMap<String, Varz>) -> Watch {
        let mut watch = Watch { asker, replicas, known: BTreeSet::new(), seen: Survey::default() };
        watch.look_at(servers);
        watch
    }

    /// Asks the servers and publishes the survey, until it is aborted.
    async fn run(mut self, surveys: Arc<watch::Sender<Survey>>) {
        loop {
            sleep(ROOM_PERIOD).await;
            match self.asker.ask().await {
                Ok(servers) => self.look_at(&servers),
                Err(error) => {
                    tracing::debug!(%error, "could not ask the NATS servers for their configuration")
                }
            }
            self.publish(&surveys);
        }
    }

    fn publish(&self, surveys: &watch::Sender<Survey>) {
        surveys.send_if_modified(|told| {
            let new = *told != self.seen;
            told.clone_from(&self.seen);
            new
        });
    }

    fn look_at(&mut self, servers: &BTreeMap<String, Varz>) {
        let keeping = || servers.iter().filter(|(_, server)| server.keeps());
        self.known.extend(keeping().map(|(name, _)| name.clone()));
        let unfit = servers.iter().filter_map(|(name, server)| {
            let error = server.check(name).err()?;
            Some((name.clone(), error.to_string()))
        });
        let unfit: BTreeMap<String, String> = unfit.collect();
        for (server, why) in &unfit {
            if self.seen.unfit.get(server) != Some(why) {
                tracing::error!(
                    server,
                    why,
                    "NATS server fails the preflight check: it may lose acknowledged messages"
                );
            }
        }
        for server in self.seen.unfit.keys().filter(|server| !unfit.contains_key(*server)) {
            tracing::info!(server, "NATS server passes the preflight check again, or no longer responds");
        }
        // If no server responds, the last known storage is kept.
        let storage = keeping().filter_map(|(_, server)| server.storage()).reduce(Storage::tighter);
        self.seen = Survey {
            storage: storage.or(self.seen.storage),
            unfit,
            silent: self.known.len().max(self.replicas).saturating_sub(keeping().count()),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn servers(said: &[(&str, bool, u64)]) -> BTreeMap<String, Varz> {
        let server = |(name, sync_always, used): &(&str, bool, u64)| {
            let said = serde_json::json!({
                "server_name": name, "version": "2.15.1", "max_payload": 8 << 20,
                "jetstream": {
                    "config": { "sync_always": sync_always, "max_storage": 1000 },
                    "stats": { "storage": used },
                },
            });
            ((*name).to_owned(), serde_json::from_value(said).unwrap())
        };
        said.iter().map(server).collect()
    }

    fn watch(said: &[(&str, bool, u64)]) -> Watch {
        Watch::new(Asker::Monitoring(Vec::new()), 3, &servers(said))
    }

    #[test]
    fn a_server_that_returns_without_fsync_is_reported_until_it_is_fixed() {
        let mut watch = watch(&[("n1", true, 5), ("n2", true, 5)]);
        assert_eq!((watch.seen.silent, watch.seen.unfit.len()), (1, 0));
        watch.look_at(&servers(&[("n1", true, 5), ("n2", true, 5), ("n3", false, 5)]));
        assert_eq!(watch.seen.silent, 0);
        assert!(watch.seen.unfit["n3"].contains("sync_interval: always"), "{:?}", watch.seen.unfit);
        watch.look_at(&servers(&[("n1", true, 5), ("n2", true, 5), ("n3", true, 5)]));
        assert_eq!(watch.seen.unfit, BTreeMap::new());
        watch.look_at(&BTreeMap::new());
        assert_eq!(watch.seen.silent, 3);
    }

    #[test]
    fn the_fullest_server_is_the_room_of_all_and_silence_changes_nothing() {
        let mut watch = watch(&[("n1", true, 5), ("n2", true, 700), ("n3", true, 9)]);
        let fullest = Some(Storage { used_bytes: 700, bytes_max: Some(1000) });
        assert_eq!(watch.seen.storage, fullest);
        watch.look_at(&BTreeMap::new());
        assert_eq!(watch.seen.storage, fullest);
    }
}
