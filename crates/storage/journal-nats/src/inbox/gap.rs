//! An inbox that ends before what was taken out of it: its stream was restored from an older backup, or created again.
//!
//! New requests would get numbers that the events know as taken, and would be passed over. What the events have taken
//! up is theirs, so nothing but numbers is missing, and the inbox continues after them. Whoever finds the gap closes it:
//! when the journal is opened, before anything can be acknowledged; when a partition is claimed; when a request was
//! stored at a number that was there before; and when the room is looked at.

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

/// How sure it is that the stream ends too early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shortness {
    /// A leader that was just elected may still be reading what it has; it is asked again for a while.
    Supposed,
    /// A message was stored at a number that was there before.
    Seen,
}

impl Inbox {
    /// Makes sure that the next message comes after all that the events have taken; `Full` when there is no room
    /// for that.
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
            "the inbox ends before what was taken out of it: its stream was restored or created again; it continues after \
             that, and requests that waited in it and are not there any more are lost"
        );
        self.gaps.inc();
        // An owner may have read on after its last frame, and passes over what gets those numbers.
        let target = taken_up.max(known.min(taken_up + GAP_FILLED_MAX));
        let last = self.advance(wire, taken_up, target).await?;
        self.tail.send_if_modified(|tail| {
            // What was stored meanwhile has raised it.
            let falls = *tail == known_number && batch::last_number(last) < known_number;
            if falls {
                *tail = batch::last_number(last);
            }
            falls
        });
        Ok(())
    }

    /// Notes how the stream was found, and closes its gap when there is one.
    pub(crate) async fn see<W: Wire>(&self, wire: &W, bounds: &Bounds) {
        if batch::last_number(bounds.last) >= *self.tail.borrow() {
            self.learn(bounds.last);
        } else if let Err(error) = self.close_gap(wire, Shortness::Supposed).await {
            tracing::error!(inbox = self.stream, %error, "the inbox ends before what was taken out of it");
        }
    }

    /// The last message of the inbox that any owner may have taken up, as the last message of the events says. When
    /// that cannot be read, nobody can claim the partition, and the claim says so.
    async fn taken_up<W: Wire>(&self, wire: &W) -> u64 {
        let last = fetch::bounds(wire, &self.events).await.last;
        if last == 0 {
            return 0;
        }
        let check = |bytes: &Bytes| Message::decode(bytes).map_err(|bad| bad.to_string());
        fetch(wire, &self.events, last, check).await.map_or(0, |(message, _)| message.inbox)
    }

    /// What the stream holds, when it takes messages and surely ends before `whole`.
    async fn short_bounds<W: Wire>(&self, wire: &W, whole: u64, shortness: Shortness) -> Option<Bounds> {
        let mut backoff = Backoff::new();
        let looks = match shortness {
            Shortness::Supposed => SHORT_MAX,
            Shortness::Seen => 1,
        };
        let mut short = 0;
        loop {
            let bounds = fetch::bounds(wire, &self.stream).await;
            // In a region that is not active nothing is stored, and its promotion closes the gap.
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

    /// Uses up the numbers through `target`; answers with the end of the stream.
    async fn advance<W: Wire>(&self, wire: &W, taken_up: u64, target: u64) -> Result<u64, AppendError> {
        let mut backoff = Backoff::new();
        loop {
            let bounds = fetch::bounds(wire, &self.stream).await;
            let Some(opened) = bounds.opened.filter(|_| bounds.last < target) else { return Ok(bounds.last) };
            if bounds.last + GAP_FILLED_MAX < taken_up {
                // So far behind, all that is there has been taken up. A stream that is purged beyond its end goes on
                // there, which spares years of messages.
                if let Err(error) = wire.purge(&self.stream, taken_up + 1).await {
                    tracing::debug!(inbox = self.stream, %error, "the inbox was not moved on");
                    backoff.wait().await;
                }
            } else if !self.fill(wire, opened, bounds.last, target).await? {
                backoff.wait().await;
            }
        }
    }

    /// Stores messages without requests; false when it is not known how far that came.
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
                // Of several who fill it, one stores each message; requests that come meanwhile have their place.
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
