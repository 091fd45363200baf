//! Reads single messages from any source that has them undamaged, and ranges of messages without gaps.

use std::collections::VecDeque;

use bytes::Bytes;

use crate::jetstream::JetStreamError;
use crate::jetstream::retry::Backoff;
use crate::limits::{FETCH_ROUNDS_MAX, RANGE_BYTES_MAX, RANGE_BYTES_MORE, REPLICA_TRIES};
use crate::wire::{Bounds, Source, Wire};

/// Why a message cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Lost {
    /// It was trimmed; the stream starts after it.
    Trimmed(Bounds),
    /// No source has it undamaged.
    Damaged(String),
}

/// The bounds of a stream; repeats the request until the leader responds.
pub(crate) async fn bounds<W: Wire>(wire: &W, stream: &str) -> Bounds {
    let mut backoff = Backoff::new();
    loop {
        match wire.bounds(stream).await {
            Ok(bounds) => return bounds,
            Err(error) => unanswered(stream, &error, &mut backoff).await,
        }
    }
}

/// Deletes the messages below a sequence, unless the stream was reopened under another epoch since its owner claimed it:
/// then it has another history, in which sequences mean something else. A stale owner is stopped here.
pub(crate) async fn purge<W: Wire>(
    wire: &W,
    stream: &str,
    opened: Option<u64>,
    sequence: u64,
) -> Result<(), JetStreamError> {
    if opened.is_some() && wire.bounds(stream).await?.opened != opened {
        return Err(JetStreamError::NotReady(format!("{stream} was replaced by a promotion")));
    }
    wire.purge(stream, sequence).await
}

/// The message at a sequence that the stream has, if it passes `check`: from the leader, else from a replica, else from the
/// pair. Waits while the leader does not respond. The pair is asked only after the leader has responded without the
/// message, because a pair that was promoted meanwhile may have another message at this sequence.
pub(crate) async fn fetch<W: Wire, T>(
    wire: &W,
    stream: &str,
    sequence: u64,
    check: impl Fn(&Bytes) -> Result<T, String>,
) -> Result<T, Lost> {
    let mut backoff = Backoff::new();
    let mut rounds = 0;
    loop {
        let (led, mut why) = match ask(wire, stream, sequence, Source::Leader, &check).await {
            Ok(found) => return Ok(found),
            Err(Refusal::Unanswered(error)) => (false, error.to_string()),
            Err(Refusal::Unfit(why)) => (true, why),
        };
        let pair = led.then_some(Source::Pair);
        let others = std::iter::repeat_n(Source::AnyReplica, REPLICA_TRIES as usize).chain(pair);
        for source in others {
            match ask(wire, stream, sequence, source, &check).await {
                Ok(found) => {
                    tracing::warn!(stream, sequence, %why, "message is missing or damaged at the leader; read it from another source");
                    return Ok(found);
                }
                Err(Refusal::Unfit(other)) if source == Source::AnyReplica => why = other,
                Err(_) => {}
            }
        }
        if led {
            let bounds = bounds(wire, stream).await;
            if bounds.first > sequence {
                return Err(Lost::Trimmed(bounds));
            }
            rounds += 1;
        }
        if rounds == FETCH_ROUNDS_MAX {
            return Err(Lost::Damaged(damage(stream, sequence, &why)));
        }
        unanswered(stream, &JetStreamError::NotReady(why), &mut backoff).await;
    }
}

enum Refusal {
    Unanswered(JetStreamError),
    Unfit(String),
}

async fn ask<W: Wire, T>(
    wire: &W,
    stream: &str,
    sequence: u64,
    source: Source,
    check: &impl Fn(&Bytes) -> Result<T, String>,
) -> Result<T, Refusal> {
    match wire.get(stream, sequence, source).await {
        Ok(Some(bytes)) => check(&bytes).map_err(Refusal::Unfit),
        Ok(None) => Err(Refusal::Unfit("not found".to_owned())),
        Err(error) => Err(Refusal::Unanswered(error)),
    }
}

fn damage(stream: &str, sequence: u64, why: &str) -> String {
    format!(
        "message {sequence} of stream {stream} is missing or damaged at its leader, at all replicas and in the paired \
         region ({why}); if one server holds a damaged replica: stop it, delete the folder streams/{stream}/msgs in \
         its store, start it again and wait until it is current; otherwise restore the stream from a backup"
    )
}

async fn unanswered(stream: &str, error: &JetStreamError, backoff: &mut Backoff) {
    if backoff.should_log() {
        tracing::warn!(stream, %error, "NATS does not respond; retrying");
    }
    backoff.wait().await;
}

/// Reads messages in order, many with one request; each is checked, and read singly if the check fails.
pub(crate) struct Range<'a, W> {
    wire: &'a W,
    stream: &'a str,
    /// The last sequence that the stream is known to have.
    through: u64,
    bytes_max: usize,
    read: VecDeque<(u64, Bytes)>,
}

impl<'a, W: Wire> Range<'a, W> {
    pub(crate) fn new(wire: &'a W, stream: &'a str, through: u64, bytes_max: usize) -> Range<'a, W> {
        let bytes_max = bytes_max.saturating_add(RANGE_BYTES_MORE).min(RANGE_BYTES_MAX);
        Range { wire, stream, through, bytes_max, read: VecDeque::new() }
    }

    /// The message at this sequence, which must be higher than the previous one.
    pub(crate) async fn message<T>(
        &mut self,
        sequence: u64,
        check: impl Fn(&Bytes) -> Result<T, String>,
    ) -> Result<T, Lost> {
        while self.read.front().is_some_and(|(read, _)| *read < sequence) {
            self.read.pop_front();
        }
        if self.read.is_empty() {
            // If there is no response, the message is read singly, which waits.
            let read = self.wire.range(self.stream, sequence, self.through, self.bytes_max).await;
            self.read = read.unwrap_or_default().into();
        }
        if let Some((read, bytes)) = self.read.front()
            && *read == sequence
        {
            match check(bytes) {
                Ok(message) => {
                    self.read.pop_front();
                    return Ok(message);
                }
                Err(why) => {
                    tracing::warn!(stream = self.stream, sequence, %why, "message is damaged at a replica")
                }
            }
        }
        fetch(self.wire, self.stream, sequence, check).await
    }
}
