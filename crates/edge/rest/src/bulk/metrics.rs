//! What bulks have in memory: a lock, and counters.

use std::sync::Arc;

use api_types::BulkAction;
use engine::Control;
use host::Clock;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;
use tokio::sync::Mutex;

use super::Acted;

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Labels {
    action: &'static str,
    outcome: &'static str,
}

/// Of all bulks that are driven here. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Bulks {
    pub(super) control: Control,
    pub(super) clock: Clock,
    /// One begins at a time: they are counted first.
    pub(super) beginning: Arc<Mutex<()>>,
    actions: Family<Labels, Counter>,
}

impl Bulks {
    pub(crate) fn new(control: Control, clock: Clock, registry: &mut Registry) -> Bulks {
        let actions = Family::default();
        registry.register("sortie_bulk_actions", "Runs that bulks have dealt with", actions.clone());
        Bulks { control, clock, beginning: Arc::default(), actions }
    }

    pub(super) fn count(&self, action: BulkAction, acted: &Acted) {
        let outcome = match acted {
            Acted::Done => "done",
            Acted::Skipped(_) => "skipped",
            Acted::Failed { .. } => "failed",
        };
        self.actions.get_or_create(&Labels { action: action.as_str(), outcome }).inc();
    }
}
