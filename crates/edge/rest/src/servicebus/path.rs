//! The paths of Service Bus: `/{queue}/messages…`, `/{topic}/subscriptions/{s}/messages…`, and their dead letters.
//!
//! Fixed parts and names are not case-sensitive.

use kernel::queue::{QueueRef, SubQueue};
use percent_encoding::percent_decode_str;
use types::Uid;
use uuid::Uuid;

use crate::error::ApiError;
use crate::queues::{is_reserved, queue_ref};

/// What a path of Service Bus names.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ServiceBusPath {
    pub at: QueueRef,
    pub sub_queue: SubQueue,
    pub message: MessagePath,
}

/// What of a queue a path names.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum MessagePath {
    /// `…/messages`
    Messages,
    /// `…/messages/head`
    Head,
    /// `…/messages/{sequence number}/{lock token}`
    Lock(Uid),
    /// `…/messages/{sequence number}/{lock token}/deadletter`
    DeadLetter(Uid),
}

impl ServiceBusPath {
    /// The place that a path names; none when it belongs to another API.
    pub(crate) fn of(path: &str) -> Option<Result<ServiceBusPath, ApiError>> {
        let rest = path.strip_prefix('/')?;
        // Most paths are not of Service Bus: look before anything is allocated.
        if !contains_messages(rest) {
            return None;
        }
        let decode = |part: &str| percent_decode_str(part).decode_utf8().map(|text| text.into_owned());
        let parts: Vec<String> = rest.split('/').map(decode).collect::<Result<_, _>>().ok()?;
        let mut parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        parts.pop_if(|last| last.is_empty());
        let (name, mut rest) = parts.split_first()?;
        if is_reserved(name) {
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
        let message = message_path(rest)?;
        Some(
            queue_ref(name, subscription)
                .and_then(|at| Ok(ServiceBusPath { at, sub_queue, message: message? })),
        )
    }

    /// What a signature must be for.
    pub(crate) fn resource(&self) -> String {
        format!("/{}", self.at)
    }
}

fn contains_messages(path: &str) -> bool {
    path.split('/').skip(1).any(|part| part.eq_ignore_ascii_case("messages"))
}

fn message_path(rest: &[&str]) -> Option<Result<MessagePath, ApiError>> {
    match rest {
        [] => Some(Ok(MessagePath::Messages)),
        [head] if head.eq_ignore_ascii_case("head") => Some(Ok(MessagePath::Head)),
        [_, token] => Some(lock_token(token).map(MessagePath::Lock)),
        [_, token, word] if word.eq_ignore_ascii_case("deadletter") => {
            Some(lock_token(token).map(MessagePath::DeadLetter))
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

#[cfg(test)]
mod tests {
    use super::*;

    fn place(path: &str) -> Option<ServiceBusPath> {
        ServiceBusPath::of(path).map(|place| place.unwrap())
    }

    #[test]
    fn paths_are_taken_in_any_case() {
        let at = |name: &str, subscription| queue_ref(name, subscription).unwrap();
        let messages = |at, sub_queue| Some(ServiceBusPath { at, sub_queue, message: MessagePath::Messages });
        let head = |at, sub_queue| Some(ServiceBusPath { at, sub_queue, message: MessagePath::Head });
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
            assert_eq!(place(&path).unwrap().message, MessagePath::Lock(uid), "{path}");
        }
        assert_eq!(
            place(&format!("/q/messages/7/{token}/deadletter")).unwrap().message,
            MessagePath::DeadLetter(uid)
        );
    }

    #[test]
    fn what_is_not_of_service_bus_is_left_to_other_apis() {
        for path in
            ["/", "/messages", "/v1/messages", "/v1/queues/q/messages", "/q/message", "/q", "/q/x/messages"]
        {
            assert!(ServiceBusPath::of(path).is_none(), "{path}");
        }
        assert!(ServiceBusPath::of("/q/messages/1/2/3").is_none());
        assert!(ServiceBusPath::of("/a b/messages").is_some_and(|place| place.is_err()));
        assert!(ServiceBusPath::of("/q/messages/7/nonsense").is_some_and(|place| place.is_err()));
    }
}
