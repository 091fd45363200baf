//! Limits and breakers that people have set for services: read from the control partition, applied where calls are made.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use api_types::{ServiceRequest, ServiceView};
use engine::{Documents, StoredDocument};
use outbound::{BreakerState, Override, ServicePool};
use rest::SERVICE_DOCUMENTS;

/// The services of this process and the overrides that people have set for them. Cheap to clone.
#[derive(Clone)]
pub(crate) struct ServiceOverrides {
    services: ServicePool,
    documents: Documents,
    // The version that is applied here, by service. Locked while the overrides are read and applied, so that an older
    // version is never applied after a newer one.
    applied: Arc<Mutex<BTreeMap<String, u64>>>,
}

impl ServiceOverrides {
    /// Applies at once the overrides that are stored.
    pub(crate) fn start(services: &ServicePool, documents: &Documents) -> ServiceOverrides {
        let (services, documents) = (services.clone(), documents.clone());
        let overrides = ServiceOverrides { services, documents, applied: Arc::default() };
        overrides.apply();
        overrides
    }

    /// Applies every change, whichever instance it was made at.
    pub(crate) async fn follow_changes(self) {
        let mut changes = self.documents.watch();
        loop {
            self.apply();
            if changes.changed().await.is_err() {
                return;
            }
        }
    }

    /// Applies what is stored now.
    fn apply(&self) {
        let mut applied = self.applied.lock().expect("no code panics while it holds this lock");
        let documents = self.documents.load();
        let stored: BTreeMap<&str, &StoredDocument> = documents.all(SERVICE_DOCUMENTS).collect();
        applied.retain(|service, _| {
            let still = stored.contains_key(service.as_str());
            if !still {
                self.services.set_override(service, Override::Automatic);
                self.services.set_limit(service, None);
            }
            still
        });
        for (service, document) in stored {
            if applied.get(service) == Some(&document.version) {
                continue;
            }
            if let Some(request) = read(service, document) {
                self.services.set_override(service, breaker(&request));
                self.services.set_limit(service, request.limit);
            }
            applied.insert(service.to_owned(), document.version);
        }
    }

    /// The state of the services, after applying the newest overrides.
    pub(crate) fn services(&self) -> Vec<ServiceView> {
        self.apply();
        let view = |(service, snapshot): (String, outbound::Snapshot)| ServiceView {
            service,
            names: Vec::new(),
            limit: snapshot.limit as usize,
            in_flight: snapshot.in_flight as usize,
            waiting: snapshot.waiting,
            breaker: breaker_name(snapshot.breaker).to_owned(),
            p50_ms: snapshot.latency_p50.map(ms),
            p99_ms: snapshot.latency_p99.map(ms),
            // The API adds the names that workflows have for a service, and its override.
            by_hand: None,
        };
        self.services.snapshots().into_iter().map(view).collect()
    }
}

fn breaker(request: &ServiceRequest) -> Override {
    match request.breaker.as_str() {
        "open" => Override::Open,
        "closed" => Override::Closed,
        _ => Override::Automatic,
    }
}

fn breaker_name(breaker: BreakerState) -> &'static str {
    match breaker {
        BreakerState::Closed => "closed",
        BreakerState::Open { .. } => "open",
        BreakerState::HalfOpen => "half_open",
        BreakerState::HeldOpen => "held_open",
        BreakerState::HeldClosed => "held_closed",
    }
}

/// The override in a document; none when a newer version of the program wrote what this one cannot read.
fn read(service: &str, document: &StoredDocument) -> Option<ServiceRequest> {
    let request = serde_json::from_str(&document.text);
    request
        .inspect_err(|error| tracing::warn!(service, %error, "the override of a service cannot be read"))
        .ok()
}

fn ms(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1000.0
}
