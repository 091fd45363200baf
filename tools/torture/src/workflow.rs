//! The work that is done under torture: drone deliveries, with faults at every service.

use std::collections::BTreeMap;

use anyhow::ensure;
use drone_delivery::{Addresses, Service, Switches, workflows};

/// Where deliveries are posted.
pub const RUNS: &str = "/v1/workflows/drone-delivery/runs";

/// How long a late request is on its way: longer than most rounds, so that it arrives in another life.
pub const LATE_MS: u64 = 400;

/// The drone workflow with its schema inside, wide enough for padded requests, its services where they listen, and retries that are quick, so
/// that a torture is not mostly waiting.
pub fn source(addresses: &Addresses) -> anyhow::Result<String> {
    let [text, _] = workflows::ready(addresses);
    let text = text.replace("\"maxLength\":1024", "\"maxLength\":100000");
    let (kept, _) = text.split_once("\nretry:").unwrap_or((&text, ""));
    ensure!(kept.len() < text.len(), "the drone workflow no longer ends with its retry policy");
    Ok(format!(
        "{kept}
retry: {{ type: exponential, first: 20ms, factor: 2, max: 500ms, attempts: 12 }}
undo_retry: {{ type: exponential, first: 20ms, factor: 2, max: 500ms, patience: 1h }}
deadline: 1h
"
    ))
}

/// A delivery request with this id. Several deliveries share a package.
pub fn request(id: &str, padding_bytes: usize) -> String {
    let padding = "x".repeat(padding_bytes);
    let spread: u32 = id.bytes().map(u32::from).sum();
    serde_json::json!({
        "deliveryId": id,
        "ownerId": "owner-1",
        "pickupLocation": "0,37.4316,-78.6569",
        "dropOffLocation": "0,37.5407,-77.4360",
        "confirmationRequired": "None",
        "packageInfo": { "packageId": format!("package-{}", spread % 50), "size": "Small", "weight": 1, "tag": format!("t{padding}") },
    })
    .to_string()
}

/// The services at which a completed delivery has one effect each. The account is only asked.
pub const EFFECTS: [Service; 4] = [Service::Package, Service::Transport, Service::Drone, Service::Delivery];

/// What hurts the services: lost answers everywhere, faults, late requests, and a drone that says no.
pub fn switches(seed: u64) -> BTreeMap<Service, Switches> {
    let of = |service: Service| Switches {
        seed: seed.wrapping_add(service as u64),
        error_rate: 0.03,
        lost_rate: 0.03,
        late_rate: 0.03,
        late_ms: LATE_MS,
        undo_error_rate: 0.05,
        refuse_rate: if service == Service::Drone { 0.05 } else { 0.0 },
        ..Switches::default()
    };
    Service::ALL.map(|service| (service, of(service))).into()
}
