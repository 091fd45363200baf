//! The paths of Service Bus: `/{queue}/messages…`, `/{topic}/subscriptions/{s}/messages…`, and their dead letters.
//!
//! Fixed parts and names are not case-sensitive.

use kernel::queue::{QueueRef, SubQueue};
use percent_encoding::percent_decode_str;
use types::{QueueName, Uid};
use uuid::Uuid;

use crate::error::ApiError;

/// First parts of paths that are the API's own; no queue can have them as its name.
const RESERVED: [&str; 8] =
    ["v1", "subscriptions", "livez", "readyz", "metrics", "openapi.json", "docs", "ui"];

/// What a path of the bus names.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct BusPath {
    pub at: QueueRef,
    pub sub_queue: SubQueue,
    pub spot: Spot,
}

/// What in a queue is meant.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Spot {
    /// `…/messages`
    Messages,
    /// `…/messages/head`
    Head,
    /// `…/messages/{sequence number}/{lock token}`
    Lock(Uid),
    /// `…/messages/{sequence number}/{lock token}/deadletter`
    DeadLetter(Uid),
}

impl BusPath {
    /// The place that a path names; none when it belongs to another API.
    pub(crate) fn of(path: &str) -> Option<Result<BusPath, ApiError>> {
        let rest = path.strip_prefix('/')?;
        // Most paths are not of the bus: look before anything is allocated.
        if !contains_messages(rest) {
            return None;
        }
        let decode = |part: &str| percent_decode_str(part).decode_utf8().map(|text| text.into_owned());
        let parts: Vec<String> = rest.split('/').map(decode).collect::<Result<_, _>>().ok()?;
        let mut parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        parts.pop_if(|last| last.is_empty());
        let (name, mut rest) = parts.split_first()?;
        if RESERVED.iter().any(|reserved| reserved.eq_ignore_ascii_case(name)) {
            return None;
        }
        let mut subscription = None;
        if let [word, name, more @ ..] = rest
            && word.eq_ignore_ascii_case("subscriptions")
        {
            (subscription, rest) = (Some(*name), more);
        }
        let mut sub_queue = SubQueue::Main;
        if let [word, more @ ..] = rest
            && word.eq_ignore_ascii_case("$deadletterqueue")
        {
            (sub_queue, rest) = (SubQueue::Dead, more);
        }
        let (word, rest) = rest.split_first()?;
        if !word.eq_ignore_ascii_case("messages") {
            return None;
        }
        let spot = spot(rest)?;
        Some(queue_ref(name, subscription).and_then(|at| Ok(BusPath { at, sub_queue, spot: spot? })))
    }

    /// What a signature must be for.
    pub(crate) fn resource(&self) -> String {
        resource(&self.at)
    }
}

fn contains_messages(path: &str) -> bool {
    path.split('/').skip(1).any(|part| part.eq_ignore_ascii_case("messages"))
}

fn spot(rest: &[&str]) -> Option<Result<Spot, ApiError>> {
    match rest {
        [] => Some(Ok(Spot::Messages)),
        [head] if head.eq_ignore_ascii_case("head") => Some(Ok(Spot::Head)),
        [_, token] => Some(lock_token(token).map(Spot::Lock)),
        [_, token, word] if word.eq_ignore_ascii_case("deadletter") => {
            Some(lock_token(token).map(Spot::DeadLetter))
        }
        _ => None,
    }
}

fn lock_token(text: &str) -> Result<Uid, ApiError> {
    let token = Uuid::try_parse(text);
    token.map(|token| Uid(token.into_bytes())).map_err(|_| {
        ApiError::BadRequest("the lock token in the path is none; take the path from Location".to_owned())
    })
}

/// The path of a queue, topic or subscription.
pub(crate) fn resource(at: &QueueRef) -> String {
    format!("/{at}")
}

/// The queue or subscription with these names, which are kept in lower case.
pub(crate) fn queue_ref(name: &str, subscription: Option<&str>) -> Result<QueueRef, ApiError> {
    let subscription = subscription.map(queue_name).transpose()?;
    Ok(QueueRef { name: queue_name(name)?, subscription })
}

/// A name, which is kept in lower case: Service Bus takes names in any case.
pub(crate) fn queue_name(text: &str) -> Result<QueueName, ApiError> {
    QueueName::new(&text.to_ascii_lowercase()).map_err(|error| ApiError::BadRequest(error.to_string()))
}

/// A name for something new: not one that its own path could not be reached by.
pub(crate) fn free_name(text: &str) -> Result<QueueName, ApiError> {
    let name = queue_name(text)?;
    if RESERVED.contains(&name.as_str()) {
        return Err(ApiError::BadQueue(format!(
            "name: '{name}' is a path of the API itself; choose another"
        )));
    }
    Ok(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(path: &str) -> Option<BusPath> {
        BusPath::of(path).map(|place| place.unwrap())
    }

    #[test]
    fn paths_are_taken_in_any_case() {
        let at = |name: &str, subscription| queue_ref(name, subscription).unwrap();
        let messages = |at, sub_queue| Some(BusPath { at, sub_queue, spot: Spot::Messages });
        let head = |at, sub_queue| Some(BusPath { at, sub_queue, spot: Spot::Head });
        assert_eq!(place("/Orders/messages"), messages(at("orders", None), SubQueue::Main));
        assert_eq!(place("/orders/Messages/HEAD"), head(at("orders", None), SubQueue::Main));
        assert_eq!(place("/orders/messages/head/"), head(at("orders", None), SubQueue::Main));
        assert_eq!(place("/t/Subscriptions/S/messages/head"), head(at("t", Some("s")), SubQueue::Main));
        for dead in ["$DeadLetterQueue", "$deadletterqueue", "%24DeadLetterQueue"] {
            assert_eq!(place(&format!("/q/{dead}/messages/head")), head(at("q", None), SubQueue::Dead));
            assert_eq!(
                place(&format!("/t/subscriptions/s/{dead}/messages/head")),
                head(at("t", Some("s")), SubQueue::Dead)
            );
        }
        let token = "0192f0c1-2d3e-7a4b-8c5d-6e7f80910a1b";
        let uid = lock_token(token).unwrap();
        for path in
            [format!("/q/messages/7/{token}"), format!("/q/messages/m%2F1/{}", token.replace('-', ""))]
        {
            assert_eq!(place(&path).unwrap().spot, Spot::Lock(uid), "{path}");
        }
        assert_eq!(place(&format!("/q/messages/7/{token}/deadletter")).unwrap().spot, Spot::DeadLetter(uid));
    }

    #[test]
    fn what_is_not_of_the_bus_is_left_to_others() {
        for path in
            ["/", "/messages", "/v1/messages", "/v1/queues/q/messages", "/q/message", "/q", "/q/x/messages"]
        {
            assert!(BusPath::of(path).is_none(), "{path}");
        }
        assert!(BusPath::of("/q/messages/1/2/3").is_none());
        assert!(BusPath::of("/a b/messages").is_some_and(|place| place.is_err()));
        assert!(BusPath::of("/q/messages/7/nonsense").is_some_and(|place| place.is_err()));
        assert!(free_name("V1").is_err());
        assert_eq!(free_name("Orders").unwrap().as_str(), "orders");
    }
}
