//! Trimming: deletes frames that a snapshot contains.

use journal::ReadError;
use types::Seq;

use super::Events;
use super::read::Located;
use crate::fetch;
use crate::jetstream::JetStreamError;
use crate::wire::Wire;

impl Events {
    /// Deletes the frames below `first`, for an owner that claimed its partition while the stream was open under this epoch of
    /// the region. The last message always stays: the next claim takes the epoch, the number and the checksum from it.
    pub(crate) async fn trim<W: Wire>(
        &self,
        wire: &W,
        opened: Option<u64>,
        first: Seq,
    ) -> Result<(), JetStreamError> {
        if first <= self.lock().allowed.max(Seq(1)) {
            return Ok(());
        }
        let sequence = match self.place_of(wire, first).await {
            Ok(Some(sequence)) => sequence,
            // All frames may be deleted, but the last message stays.
            Ok(None) => {
                let last = fetch::bounds(wire, &self.stream).await.last;
                if last == 0 {
                    return Ok(());
                }
                let tail = self.last_position(wire, last).await;
                let Some(tail) = tail.map_err(|error| JetStreamError::NotReady(error.to_string()))? else {
                    // Another owner has trimmed further.
                    return Ok(());
                };
                let tail = tail.number;
                if tail >= first {
                    // The frame was appended meanwhile, and others after it: they must stay.
                    return Box::pin(self.trim(wire, opened, first)).await;
                }
                return self.purge(wire, opened, (last, first.min(tail.next()))).await;
            }
            Err(ReadError::Trimmed { .. }) => return Ok(()),
            Err(error) => return Err(JetStreamError::NotReady(error.to_string())),
        };
        self.purge(wire, opened, (sequence, first)).await
    }

    /// Deletes the messages below a sequence; frames below `allowed` are not read any more.
    async fn purge<W: Wire>(
        &self,
        wire: &W,
        opened: Option<u64>,
        (sequence, allowed): (u64, Seq),
    ) -> Result<(), JetStreamError> {
        {
            let mut state = self.lock();
            state.allowed = state.allowed.max(allowed);
            state.places = state.places.split_off(&allowed);
        }
        fetch::purge(wire, &self.stream, opened, sequence).await
    }

    /// The sequence of a frame, or `None` if the frame does not exist yet.
    async fn place_of<W: Wire>(&self, wire: &W, frame: Seq) -> Result<Option<u64>, ReadError> {
        if let Some(owned) = self.lock().owned {
            let own = frame > owned.since;
            if own && frame <= owned.last.number {
                return Ok(Some(frame.0 + owned.epoch.0));
            }
        }
        match self.locate(wire, frame).await? {
            Located::NotYet => Ok(None),
            Located::First(sequence) => Ok(Some(sequence)),
            // Claims before the frame may stay.
            Located::After(position) => {
                let next = position.sequence() + 1;
                let last = fetch::bounds(wire, &self.stream).await.last;
                Ok((next <= last).then_some(next))
            }
        }
    }
}
