//! The things the services keep: which fields they have, and how each service shows them.

use std::io;

use crate::answer::Answer;
use crate::call::{Call, Target, Verb, View, percent_encoded};
use crate::check::{Field, Given, Invalid, Kind, Need, members, part, push_text, whole, write_object};
use crate::service::Service;

const ACCOUNT: &[Field] = &[required("active", Kind::Flag), optional("id", Kind::PathId)];

const PACKAGE: &[Field] = &[
    optional("id", Kind::PathId),
    required("size", SIZE),
    optional("weight", Kind::Amount),
    optional("tag", Kind::Text),
];

const TRANSPORT: &[Field] = &[
    optional("id", Kind::PathId),
    optional("deliveryId", Kind::PathId),
    required("pickup", PLACE),
    required("dropoff", PLACE),
];

const DRONE: &[Field] = &[
    optional("id", Kind::PathId),
    optional("deliveryId", Kind::PathId),
    required("pickup", PLACE),
    required("dropoff", PLACE),
    optional("packageDetail", Kind::Object(PARCEL)),
    optional("packageDetails", Kind::ListOf(PARCEL)),
    Field { name: "expedited", kind: Kind::Flag, need: Need::Default("false") },
];

const DELIVERY: &[Field] = &[
    optional("id", Kind::PathId),
    required("owner", Kind::Object(OWNER)),
    required("pickup", PLACE),
    required("dropoff", PLACE),
    Field { name: "deadline", kind: Kind::Text, need: Need::Default("\"\"") },
    Field { name: "expedited", kind: Kind::Flag, need: Need::Default("false") },
    Field { name: "confirmationRequired", kind: CONFIRMATION, need: Need::Default("\"None\"") },
    required("droneId", Kind::Word),
];

/// What a PATCH of a delivery may change.
const RESCHEDULE: &[Field] = &[
    optional("id", Kind::PathId),
    optional("pickup", PLACE),
    optional("dropoff", PLACE),
    optional("deadline", Kind::Text),
];

const OWNER: &[Field] = &[required("userId", Kind::Word), optional("accountId", Kind::Word)];
const PARCEL: &[Field] = &[required("id", Kind::Word), required("size", SIZE)];
const COORDINATES: &[Field] = &[
    required("altitude", Kind::Number),
    required("latitude", Kind::Number),
    required("longitude", Kind::Number),
];

const PLACE: Kind = Kind::TextOr(COORDINATES);
const SIZE: Kind = Kind::OneOf(&["\"Small\"", "\"Medium\"", "\"Large\""]);
const CONFIRMATION: Kind =
    Kind::OneOf(&["\"FingerPrint\"", "\"Picture\"", "\"Voice\"", "\"None\"", "0", "1", "2", "3"]);

const fn required(name: &'static str, kind: Kind) -> Field {
    Field { name, kind, need: Need::Required }
}

const fn optional(name: &'static str, kind: Kind) -> Field {
    Field { name, kind, need: Need::Optional }
}

/// What a checked call asks the book to do.
pub(crate) enum Work<'a> {
    Read(View),
    /// Keep this content.
    Put(String),
    /// Put these fields over what is kept.
    Merge(Given<'a>),
    /// Take back a change: put these fields over what is kept, if the change was ever made.
    Revert(Given<'a>),
    Withdraw,
}

/// Checks the body of a call before any lock is taken.
pub(crate) fn prepare(service: Service, call: &Call) -> Result<Work<'_>, Invalid> {
    let id = &call.target.id;
    let (fields, changeable) = match service {
        Service::Account => (ACCOUNT, ACCOUNT),
        Service::Package => (PACKAGE, PACKAGE),
        Service::Transport => (TRANSPORT, TRANSPORT),
        Service::Drone => (DRONE, DRONE),
        Service::Delivery => (DELIVERY, RESCHEDULE),
    };
    match call.verb {
        Verb::Get(view) => Ok(Work::Read(view)),
        Verb::Put => Ok(Work::Put(write_object(id, &whole(fields, &call.body, id)?))),
        Verb::Patch => Ok(Work::Merge(part(changeable, &call.body, id)?)),
        Verb::Revert => Ok(Work::Revert(part(changeable, &call.body, id)?)),
        Verb::Delete => Ok(Work::Withdraw),
    }
}

/// `content` with the given fields replaced.
pub(crate) fn merged(service: Service, id: &str, content: &str, given: &Given<'_>) -> String {
    let fields = if service == Service::Package { PACKAGE } else { DELIVERY };
    let kept = members(content).expect("the ledger keeps only objects that were checked");
    let mut result: Given<'_> = Vec::with_capacity(fields.len());
    for field in fields.iter().filter(|field| field.name != "id") {
        let new = given.iter().find(|(name, _)| *name == field.name).map(|(_, raw)| *raw);
        let old = kept.iter().find(|(name, _)| name == field.name).map(|(_, raw)| *raw);
        if let Some(raw) = new.or(old) {
            result.push((field.name, raw));
        }
    }
    write_object(id, &result)
}

/// How a service shows a thing after an effect or a repeat. `made` is the entry that created it.
pub(crate) fn shown(
    service: Service,
    status: u16,
    target: &Target,
    made: u64,
    content: impl FnOnce() -> io::Result<String>,
) -> io::Result<Answer> {
    match (status, service) {
        (204, _) => Ok(Answer::no_content()),
        (_, Service::Account | Service::Package) => Ok(Answer::json(status, content()?)),
        (_, Service::Transport) => Ok(Answer::json(status, third_party_required(&content()?).to_string())),
        (_, Service::Drone) => Ok(Answer::json(status, assignment(&target.id, made))),
        (201, Service::Delivery) => {
            Ok(Answer::created_at(content()?, format!("/api/deliveries/{}", percent_encoded(&target.id))))
        }
        (_, Service::Delivery) => Ok(Answer::json(status, content()?)),
    }
}

/// The status of a repeated PUT. Two services have something to say that the caller needs each time.
pub(crate) fn repeat_status(service: Service) -> u16 {
    match service {
        Service::Transport | Service::Drone => 200,
        Service::Account | Service::Package | Service::Delivery => 204,
    }
}

/// Whether an account is active, by what is kept of it.
pub(crate) fn is_active(content: &str) -> bool {
    member(content, "active") == Some("true")
}

/// One member of a kept thing, as raw JSON.
pub(crate) fn member<'a>(content: &'a str, name: &str) -> Option<&'a str> {
    members(content)?.into_iter().find(|(found, _)| found == name).map(|(_, raw)| raw)
}

/// Drones do not fly to places that say so.
fn third_party_required(content: &str) -> bool {
    ["pickup", "dropoff"]
        .into_iter()
        .filter_map(|name| member(content, name))
        .any(|place| place.to_ascii_lowercase().contains("thirdparty"))
}

/// The drone is numbered after the ledger entry that assigned it, so it is the same on every asking.
fn assignment(delivery_id: &str, made: u64) -> String {
    let mut out = String::from("{\"deliveryId\":");
    push_text(&mut out, delivery_id);
    out.push_str(&format!(",\"droneId\":\"drone-{made}\"}}"));
    out
}
