//! Which sources run: those of the current version of every workflow.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use action::Origin;
use engine::CatalogEntry;
use futures_util::future::join_all;
use kernel::queue::QueueRef;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use types::WorkflowName;
use workflow::Source;

use crate::broker::{self, Intake};
use crate::{SourceParts, own_queue};

/// How often the workflows are looked at for changes.
const LOOK: Duration = Duration::from_millis(500);

/// How long a source may take to settle what it has.
const STOP_PATIENCE: Duration = Duration::from_secs(10);

/// A source that runs, and the version it belongs to.
struct Running {
    version: u32,
    stop: watch::Sender<bool>,
    tasks: Vec<JoinHandle<()>>,
}

impl Running {
    async fn stop(self) {
        // A source that has ended has nobody to tell.
        let _ = self.stop.send(true);
        let patience = tokio::time::Instant::now() + STOP_PATIENCE;
        for mut task in self.tasks {
            if tokio::time::timeout_at(patience, &mut task).await.is_err() {
                // What it holds is not settled, and comes again.
                task.abort();
            }
        }
    }
}

/// Keeps the sources in step with the workflows until it is stopped.
pub(crate) async fn keep(parts: Arc<SourceParts>, mut stopped: watch::Receiver<bool>) {
    let mut running: BTreeMap<WorkflowName, Running> = BTreeMap::new();
    let mut seen = None;
    loop {
        let catalog = parts.catalogs.load();
        if seen.as_ref().is_none_or(|seen| !Arc::ptr_eq(seen, &catalog)) {
            let wanted: BTreeMap<WorkflowName, CatalogEntry> = catalog
                .all()
                .filter(|entry| !entry.definition.sources().is_empty())
                .map(|entry| (entry.definition.name().clone(), entry.clone()))
                .collect();
            for gone in changed(&running, &wanted) {
                let old = running.remove(&gone).expect("found among those that run");
                old.stop().await;
            }
            for (name, entry) in wanted {
                running.entry(name).or_insert_with(|| start(&parts, &entry));
            }
            seen = Some(catalog);
        }
        tokio::select! {
            biased;
            _ = stopped.changed() => break,
            () = tokio::time::sleep(LOOK) => {}
        }
    }
    join_all(running.into_values().map(Running::stop)).await;
}

/// The workflows whose sources must end: deleted, or applied again.
fn changed(
    running: &BTreeMap<WorkflowName, Running>,
    wanted: &BTreeMap<WorkflowName, CatalogEntry>,
) -> Vec<WorkflowName> {
    let stale = |(name, each): &(&WorkflowName, &Running)| {
        wanted.get(*name).is_none_or(|entry| entry.version != each.version)
    };
    running.iter().filter(stale).map(|(name, _)| name.clone()).collect()
}

fn start(parts: &Arc<SourceParts>, entry: &CatalogEntry) -> Running {
    let (stop, stopped) = watch::channel(false);
    let sources = entry.definition.sources().iter().cloned();
    let tasks = sources.map(|source| start_one(parts, entry, source, stopped.clone())).collect();
    Running { version: entry.version, stop, tasks }
}

fn start_one(
    parts: &Arc<SourceParts>,
    entry: &CatalogEntry,
    source: Source,
    stopped: watch::Receiver<bool>,
) -> JoinHandle<()> {
    tracing::info!(workflow = %entry.definition.name(), source = %source.from, "receiving messages");
    let (parts, entry) = (parts.clone(), entry.clone());
    host::spawn("source", async move {
        let name = source.from.to_string();
        let at = match source.from {
            Origin::Queue { queue } => QueueRef::queue(queue),
            Origin::Subscription { topic, subscription } => QueueRef::subscription(topic, subscription),
            Origin::Broker { service, from } => {
                let Source { concurrency, park, .. } = source;
                let intake = Intake { parts, entry, service, from, name, park, concurrency };
                return broker::take_all(&intake, stopped).await;
            }
        };
        own_queue::take_all(&parts, &entry, at, source.concurrency, stopped).await;
    })
}
