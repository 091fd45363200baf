//! One delivery: its workflow, its request, and the answers of its services.

use std::sync::Arc;

use bytes::Bytes;
use drone_delivery::{Addresses, Service, workflows};
use kernel::Request;
use types::{BodyHash, Outcome, RunId, Timestamp, Work};
use workflow::Definition;

/// A request of 300 bytes, about.
const BODY: &str = concat!(
    r#"{"deliveryId":"delivery-000001","ownerId":"myowner","pickupLocation":"0,37.4316,-78.6569","#,
    r#""dropOffLocation":"0,37.5407,-77.4360","deadline":"","expedited":true,"confirmationRequired":"None","#,
    r#""packageInfo":{"packageId":"mypackage","size":"Small","weight":10,"tag":"xxxxxxxxxxxxxxxxxxxxxxxx"}}"#
);

pub fn body() -> Bytes {
    Bytes::from_static(BODY.as_bytes())
}

pub fn definition() -> Arc<Definition> {
    let addresses = Service::ALL.map(|service| (service, ([127, 0, 0, 1], service.default_port()).into()));
    let [workflow, _] = workflows::ready(&Addresses::from(addresses));
    Arc::new(Definition::parse(&workflow).unwrap_or_else(|problems| panic!("{problems}")))
}

pub fn request(definition: &Definition, number: u32) -> Request {
    let id = RunId::new(&format!("delivery-{number:06}")).expect("letters and digits make an id");
    Request {
        accepted_at: Timestamp(1_772_366_400_000),
        id: id.clone(),
        workflow: definition.name().clone(),
        version: 1,
        key: id.into(),
        body: body(),
        body_hash: BodyHash([7; 16]),
        trace: None,
    }
}

/// What the service of a call answers when all is well.
pub fn answer(definition: &Definition, work: Work) -> Bytes {
    let step = work.step().expect("a delivery makes the calls of its steps");
    Bytes::from_static(match definition.step_names()[usize::from(step.0)].as_str() {
        "account" => b"true",
        "transport" => b"false",
        "drone" => br#"{"droneId":"drone-9"}"#,
        _ => br#"{"id":"delivery-000001"}"#,
    })
}

pub fn done(definition: &Definition, work: Work) -> Outcome {
    Outcome::Done { status: 200, output: answer(definition, work) }
}
