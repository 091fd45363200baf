//! Delivery requests of a fixed size.

use bytes::Bytes;

/// What a request of the benches weighs.
pub const REQUEST_BYTES: usize = 300;

const HEAD: &str = r#"{"deliveryId":""#;
/// Where the id of a request begins.
pub const ID_AT: usize = HEAD.len();

/// A delivery request under an id. Ids of up to 40 characters keep it at [`REQUEST_BYTES`].
pub fn delivery(id: &str) -> Bytes {
    const MIDDLE: &str = concat!(
        r#"","ownerId":"myowner","pickupLocation":"0,37.4316,-78.6569","dropOffLocation":"0,37.5407,-77.4360","#,
        r#""deadline":"","expedited":true,"confirmationRequired":"None","#,
        r#""packageInfo":{"packageId":"mypackage","size":"Small","weight":10,"tag":""#
    );
    const TAIL: &str = r#""}}"#;
    let mut body = Vec::with_capacity(REQUEST_BYTES);
    for part in [HEAD, id, MIDDLE] {
        body.extend_from_slice(part.as_bytes());
    }
    body.resize(body.len().max(REQUEST_BYTES - TAIL.len()), b'x');
    body.extend_from_slice(TAIL.as_bytes());
    Bytes::from(body)
}

#[cfg(test)]
mod tests {
    use drone_delivery::{Addresses, Service};
    use workflow::Definition;

    use super::*;

    #[test]
    fn requests_have_their_size_and_pass_the_schema() {
        let addresses =
            Service::ALL.map(|service| (service, ([127, 0, 0, 1], service.default_port()).into()));
        let [workflow, _] = drone_delivery::workflows::ready(&Addresses::from(addresses));
        let workflow = Definition::parse(&workflow).unwrap_or_else(|problems| panic!("{problems}"));
        for id in ["b-1", "bench-000123-0000000000000001"] {
            let body = delivery(id);
            assert!(body[ID_AT..].starts_with(id.as_bytes()));
            assert_eq!(body.len(), REQUEST_BYTES, "{id}");
            assert_eq!(workflow.take(&body).unwrap().id.unwrap().as_str(), id);
        }
    }
}
