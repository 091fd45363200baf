//! The workflow files, as text.

use crate::fleet::Addresses;
use crate::service::Service;

/// Delivers a package: five services, each step undoable.
pub const DRONE_DELIVERY: &str = include_str!("../workflows/drone-delivery.yaml");
/// Changes place or time of a delivery.
pub const DRONE_RESCHEDULE: &str = include_str!("../workflows/drone-reschedule.yaml");
/// What a delivery request looks like (JSON Schema).
pub const DELIVERY_REQUEST_SCHEMA: &str = include_str!("../workflows/delivery-request.schema.json");
/// What a reschedule request looks like (JSON Schema).
pub const RESCHEDULE_SCHEMA: &str = include_str!("../workflows/reschedule.schema.json");
/// A request that passes.
pub const SAMPLE_REQUEST: &str = include_str!("../requests/delivery.json");

/// A workflow's text with the services where they really are instead of at the default ports.
pub fn at(text: &str, addresses: &Addresses) -> String {
    // Two passes by way of names, so that an address that is another's default port is not replaced again.
    let named = Service::ALL.into_iter().fold(text.to_owned(), |text, service| {
        text.replace(&format!("http://127.0.0.1:{}", service.default_port()), &format!("{{{service}}}"))
    });
    addresses.iter().fold(named, |text, (service, address)| {
        text.replace(&format!("{{{service}}}"), &format!("http://{address}"))
    })
}

/// Both workflows, self-contained: their schemas inside, their services at their addresses.
pub fn ready(addresses: &Addresses) -> [String; 2] {
    let inline = |text: &str, file: &str, schema: &str| {
        let schema: serde_json::Value = serde_json::from_str(schema).expect("the schemas are JSON");
        // JSON on one line is a YAML value wherever the file's name is one.
        at(text, addresses).replace(file, &schema.to_string())
    };
    [
        inline(DRONE_DELIVERY, "delivery-request.schema.json", DELIVERY_REQUEST_SCHEMA),
        inline(DRONE_RESCHEDULE, "reschedule.schema.json", RESCHEDULE_SCHEMA),
    ]
}
