//! Gaps: an inbox whose stream ends before the last request that the events have taken, because it was restored from an
//! older backup or created again.
//!
//! New requests would get numbers that count as taken, and would never be processed. The events contain the requests that
//! they have taken, so only numbers are missing, and the inbox continues after them. A gap is closed when the journal is
//! opened, before anything can be acknowledged; when a partition is claimed; when a request was stored at a number that
//! existed before; and when the free room is read.

use bytes::Bytes;
use journal::AppendError;

use super::Inbox;
use crate::batch;
use crate::fetch::{self, fetch};
use crate::frame::Message;
use crate::jetstream::retry::Backoff;
use crate::limits::{GAP_FILLED_MAX, SHORT_MAX};
use crate::names;
use crate::wire::{Bounds, Outgoing, PublishError, Wire};

/// How certain it is that the stream ends too early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shortness {
    /// A leader that was just elected may still be reading its store; it is asked again for a while.
    Supposed,
    /// A message was stored at a number that existed before.
    Seen,
}

impl Inbox {
    /// Ensures that the next message comes after the last request that the events have taken; `Full` if there is no room for
    /// that.
    pub(crate) async fn close_gap<W: Wire>(&self, wire: &W, shortness: Shortness) -> Result<(), AppendError> {
        let known_number = *self.tail.borrow();
        let known = batch::sequence_of(known_number);
        let taken_up = self.taken_up(wire).await;
        let Some(bounds) = self.short_bounds(wire, known.max(taken_up), shortness).await else {
            return Ok(());
        };
        tracing::warn!(
            inbox = self.stream,
            ends = bounds.last,
            taken_up,
            known,
            "closing the gap of an inbox whose stream was restored or created again: it ends before the last request that was \
             taken; requests that waited in it are lost"
        );
        self.gaps.inc();
        // An owner may have read further than its last frame, and would skip requests that get those numbers.
        let target = taken_up.max(known.min(taken_up + GAP_FILLED_MAX));
        let last = self.advance(wire, taken_up, target).await?;
        self.tail.send_if_modified(|tail| {
            // Messages that were stored meanwhile have closed the gap.
            let falls = *tail == known_number && batch::last_number(last) < known_number;
            if falls {
                *tail = batch::last_number(last);
            }
            falls
        });
        Ok(())
    }

    /// Learns the bounds of the stream, and closes its gap if there is one.
    pub(crate) async fn see<W: Wire>(&self, wire: &W, bounds: &Bounds) {
        if batch::last_number(bounds.last) >= *self.tail.borrow() {
            self.learn(bounds.last);
        } else if let Err(error) = self.close_gap(wire, Shortness::Supposed).await {
            tracing::error!(inbox = self.stream, %error, "could not close the gap of an inbox");
        }
    }

    /// The last message of the inbox whose requests any owner may have taken, according to the last message of the events. If
    /// that cannot be read, the partition cannot be claimed, and the claim reports it.
    async fn taken_up<W: Wire>(&self, wire: &W) -> u64 {
        let last = fetch::bounds(wire, &self.events).await.last;
        if last == 0 {
            return 0;
        }
        let check = |bytes: &Bytes| Message::decode(bytes).map_err(|bad| bad.to_string());
        fetch(wire, &self.events, last, check).await.map_or(0, |(message, _)| message.inbox)
    }

    /// The bounds of the stream, if it is open and certainly ends before `whole`.
    async fn short_bounds<W: Wire>(&self, wire: &W, whole: u64, shortness: Shortness) -> Option<Bounds> {
        let mut backoff = Backoff::new();
        let looks = match shortness {
            Shortness::Supposed => SHORT_MAX,
            Shortness::Seen => 1,
        };
        let mut short = 0;
        loop {
            let bounds = fetch::bounds(wire, &self.stream).await;
            // A region that is not active stores nothing, and its promotion closes the gap.
            if bounds.last >= whole || bounds.opened.is_none() {
                return None;
            }
            short += 1;
            if short == looks {
                return Some(bounds);
            }
            backoff.wait().await;
        }
    }

    /// Uses up the numbers through `target`; returns the end of the stream.
    async fn advance<W: Wire>(&self, wire: &W, taken_up: u64, target: u64) -> Result<u64, AppendError> {
        let mut backoff = Backoff::new();
        loop {
            let bounds = fetch::bounds(wire, &self.stream).await;
            let Some(opened) = bounds.opened.filter(|_| bounds.last < target) else { return Ok(bounds.last) };
            if bounds.last + GAP_FILLED_MAX < taken_up {
                // Across such a gap, all existing requests were taken. A stream that is purged beyond its end continues
                // there, which saves storing millions of empty messages.
                if let Err(error) = wire.purge(&self.stream, taken_up + 1).await {
                    tracing::debug!(inbox = self.stream, %error, "could not move an inbox forward; retrying");
                    backoff.wait().await;
                }
            } else if !self.fill(wire, opened, bounds.last, target).await? {
                backoff.wait().await;
            }
        }
    }

    /// Stores empty messages; false if it is unknown how many were stored.
    async fn fill<W: Wire>(
        &self,
        wire: &W,
        opened: u64,
        mut last: u64,
        target: u64,
    ) -> Result<bool, AppendError> {
        while last < target {
            let nothing = wire.publish(Outgoing {
                stream: self.stream.clone(),
                subject: names::subject_in(&self.subject, opened),
                // If several processes fill the gap, one of them stores each message. Requests that arrive meanwhile are kept.
                expected_last: Some(last),
                message_id: None,
                payload: batch::nothing(self.partition),
            });
            match nothing.await {
                Ok(sequence) => last = sequence,
                Err(PublishError::Full) => return Err(AppendError::Full),
                Err(PublishError::WrongLast) => return Ok(true),
                Err(PublishError::TooLarge | PublishError::Unknown(_)) => return Ok(false),
            }
        }
        Ok(true)
    }
}
