//! The guarded append: publishes one message at the end of a stream until it is certain whether it is stored.

use bytes::Bytes;

use crate::frame::checked;
use crate::jetstream::retry::Backoff;
use crate::limits::{REPLICA_TRIES, SHORT_MAX};
use crate::names;
use crate::wire::{Outgoing, PublishError, Source, Wire};

/// The outcome of a guarded append.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    Stored,
    /// Another message has the sequence, or the stream was replaced: this message will never be stored.
    Refused,
}

/// Why there is no outcome.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SendError {
    Full,
    TooLarge,
    Damaged(String),
}

/// The stream that a message is for, and the epoch under which it was open when its end was read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place<'a> {
    pub(crate) stream: &'a str,
    pub(crate) subject: &'a str,
    /// The region's epoch.
    pub(crate) opened: u64,
}

/// Publishes a message that expects the stream to end at `last`, and returns once the outcome is certain.
///
/// The same bytes with the same expectation can be sent any number of times: only one message can get the next sequence,
/// and which one it is can be read.
pub(crate) async fn send<W: Wire>(
    wire: &W,
    place: Place<'_>,
    last: u64,
    payload: Bytes,
) -> Result<Fate, SendError> {
    let stream = place.stream;
    let sequence = last + 1;
    let mut backoff = Backoff::new();
    let mut open = false;
    let mut short = 0;
    loop {
        let sent = wire.publish(Outgoing {
            stream: stream.to_owned(),
            subject: names::subject_in(place.subject, place.opened),
            expected_last: Some(last),
            message_id: None,
            payload: payload.clone(),
        });
        match sent.await {
            Ok(stored) if stored == sequence => return Ok(Fate::Stored),
            Ok(stored) => {
                let detail = format!("stream {stream} stored at {stored} what was guarded for {sequence}");
                return Err(SendError::Damaged(detail));
            }
            Err(PublishError::TooLarge) => return Err(SendError::TooLarge),
            // An earlier attempt may still be stored, however full the stream is now.
            Err(PublishError::Full) if !open => return Err(SendError::Full),
            Err(PublishError::Full | PublishError::WrongLast) => {}
            Err(PublishError::Unknown(_)) => open = true,
        }
        match look(wire, place, sequence, &payload).await {
            Seen::Ours => return Ok(Fate::Stored),
            Seen::Others => return Ok(Fate::Refused),
            Seen::EndsBefore(ends) if ends < last => short += 1,
            Seen::Unreadable => short += 1,
            Seen::EndsBefore(_) | Seen::Nothing => {}
        }
        if short == SHORT_MAX {
            return Err(SendError::Damaged(format!(
                "stream {stream} has lost what it had acknowledged: message {sequence} is unreadable, or the stream \
                 ends before it; see which server lost its data, and restore the stream from the paired region or a \
                 backup"
            )));
        }
        if backoff.should_log() {
            tracing::warn!(stream, sequence, "outcome of an append is unknown; retrying");
        }
        backoff.wait().await;
    }
}

enum Seen {
    Ours,
    Others,
    /// The stream ends here, before the sequence.
    EndsBefore(u64),
    /// The message should exist, but no replica has it undamaged.
    Unreadable,
    /// There was no response.
    Nothing,
}

async fn look<W: Wire>(wire: &W, place: Place<'_>, sequence: u64, ours: &Bytes) -> Seen {
    let stream = place.stream;
    let whose = |found: &Bytes| match checked(found) {
        Ok(_) if found == ours => Some(Seen::Ours),
        Ok(_) => Some(Seen::Others),
        Err(_) => None,
    };
    match wire.get(stream, sequence, Source::Leader).await {
        Ok(Some(found)) => {
            if let Some(seen) = whose(&found) {
                return seen;
            }
        }
        Ok(None) => match wire.bounds(stream).await {
            // A promotion has reopened the stream under another epoch: earlier messages do not reach it any more.
            Ok(bounds) if bounds.opened.is_some_and(|opened| opened != place.opened) => return Seen::Others,
            Ok(bounds) if bounds.last < sequence => return Seen::EndsBefore(bounds.last),
            // Another owner has claimed the partition, continued, and trimmed the message.
            Ok(bounds) if bounds.first > sequence => return Seen::Others,
            Ok(_) => {}
            Err(_) => return Seen::Nothing,
        },
        Err(_) => return Seen::Nothing,
    }
    let others = std::iter::repeat_n(Source::AnyReplica, REPLICA_TRIES as usize);
    for source in others {
        if let Ok(Some(found)) = wire.get(stream, sequence, source).await
            && let Some(seen) = whose(&found)
        {
            return seen;
        }
    }
    Seen::Unreadable
}
