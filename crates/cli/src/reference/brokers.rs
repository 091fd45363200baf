//! External brokers as tables, generated from their declaration.

use action::{
    BrokerSpec, BrokerType, DestinationType, Field, FieldKind, FieldValue, FieldValues, JobEndpoint,
};

use super::table;

/// Every broker: its names in workflow files, job documents and simulations, and its addresses.
pub fn types() -> String {
    let rows = BrokerType::ALL.map(|broker| {
        let spec = broker.spec();
        [
            spec.title.to_owned(),
            code(spec.name),
            schemes(spec),
            format!("{}, {}", code(spec.job.action_type), code(spec.job.member)),
            spec.job.endpoint.as_ref().map(address).unwrap_or_default(),
            place(broker),
        ]
    });
    let titles = [
        "broker",
        "`type` in workflows",
        "its `service`",
        "`type` and member in jobs",
        "address in jobs",
        "simulated",
    ];
    table(titles, rows)
}

/// The fields of each broker's messages, and of the sources that it can be.
pub fn fields() -> String {
    let rows = BrokerType::ALL.into_iter().flat_map(|broker| {
        let spec = broker.spec();
        let sent = spec.destination.iter().map(|field| row(spec, "a message", &code(field.member), field));
        let taken = spec.origin.unwrap_or_default().iter().map(|field| row(spec, "a source", "", field));
        sent.chain(taken).collect::<Vec<_>>()
    });
    table(["`type`", "of", "field", "in jobs", "required", "meaning"], rows)
}

fn row(spec: &BrokerSpec, of: &str, member: &str, field: &Field) -> [String; 6] {
    let required = if field.required { "yes" } else { "no" };
    let meaning = field.doc.trim_end_matches('.').to_owned();
    [code(spec.name), of.to_owned(), code(field.name), member.to_owned(), required.to_owned(), meaning]
}

fn address(endpoint: &JobEndpoint) -> String {
    format!("{}: {}", code(endpoint.member), endpoint.doc.trim_end_matches('.'))
}

fn schemes(spec: &BrokerSpec) -> String {
    let schemes: Vec<String> = spec.schemes.iter().map(|scheme| format!("`{scheme}://`")).collect();
    let hosts = if spec.several_hosts { ", several hosts separated by commas" } else { "" };
    schemes.join(" or ") + hosts
}

/// What a simulation calls the destination of a message, with the names of the fields for their values.
fn place(broker: BrokerType) -> String {
    let kind = DestinationType::Broker(broker);
    let mut values = FieldValues::default();
    for field in kind.fields() {
        let value = match field.kind {
            FieldKind::Name | FieldKind::Text => FieldValue::Text(field.name.to_uppercase()),
            FieldKind::Flag => FieldValue::Flag(true),
            FieldKind::Choice(words) => FieldValue::Choice(words[0]),
        };
        values.push(field, value);
    }
    let to = kind.destination(values, None).expect("every declared field is there");
    code(&crate::simulate::place_of(&to))
}

fn code(text: &str) -> String {
    format!("`{text}`")
}
