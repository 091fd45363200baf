//! Where messages go and where they come from: each kind of destination and origin is declared here once.
//!
//! Workflow files fill a destination with templates, job documents with literal texts. Parsing, stored forms, secrets,
//! descriptions for people and the OpenAPI document walk the declaration, so that a broker is one variant here and one
//! module in `brokers`.

mod broker;
mod destination;
mod field;
mod origin;

pub use broker::{BrokerDestination, BrokerOrigin, BrokerSpec, BrokerType, JobEndpoint, JobSpelling};
pub use destination::{Destination, DestinationType, Transport};
pub use field::{Field, FieldKind, FieldValue, FieldValues};
pub use origin::{Origin, OriginType};
