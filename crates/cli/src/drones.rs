//! The drone delivery example: its workflows, ready to be applied to services wherever they listen.

use drone_delivery::{Addresses, workflows};

use crate::json::one_line;

/// A workflow's text with its schema put in and its services at their addresses.
fn ready(text: &str, schema_file: &str, schema: &str, addresses: &Addresses) -> String {
    // JSON on one line is a YAML value wherever the file's name is one.
    workflows::at(text, addresses).replace(schema_file, &one_line(schema))
}

/// The workflow that delivers.
pub fn delivery(addresses: &Addresses) -> String {
    let (file, schema) = ("delivery-request.schema.json", workflows::DELIVERY_REQUEST_SCHEMA);
    ready(workflows::DRONE_DELIVERY, file, schema, addresses)
}

/// The workflow that changes a delivery.
pub fn reschedule(addresses: &Addresses) -> String {
    ready(workflows::DRONE_RESCHEDULE, "reschedule.schema.json", workflows::RESCHEDULE_SCHEMA, addresses)
}

/// A request that passes, on one line.
pub fn sample_request() -> String {
    one_line(workflows::SAMPLE_REQUEST)
}

#[cfg(test)]
mod tests {
    use definition::Definition;
    use drone_delivery::Service;

    use super::*;

    #[test]
    fn the_workflows_are_well_wherever_the_services_listen() {
        let addresses = Service::ALL.map(|service| (service, ([127, 0, 0, 1], 9000 + service as u16).into()));
        let addresses = Addresses::from(addresses);
        for source in [delivery(&addresses), reschedule(&addresses)] {
            Definition::parse(&source).unwrap_or_else(|problems| panic!("{problems}"));
            assert!(source.contains("http://127.0.0.1:9004") && !source.contains(":710"), "{source}");
        }
    }
}
