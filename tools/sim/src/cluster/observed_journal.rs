//! The journal of one instance, observed: what it learned is compared with the content of the streams.

use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use journal::{AppendError, Capabilities, Claim, Journal, ReadError, Record, Room, Snapshot};
use tokio::sync::watch;
use types::{Epoch, PartitionId, Seq};

use super::checker::ObservedClaim;
use super::coverage::Situation;
use super::world::{Sim, World};
use super::{events, inbox, message};

/// A journal whose every call is checked.
pub struct ObservedJournal<J> {
    pub inner: J,
    pub sim: Arc<Sim>,
    pub life: u32,
    pub region: usize,
}

impl<J> ObservedJournal<J> {
    fn term(&self) -> u32 {
        self.sim.world().regions[self.region].term
    }

    /// What reaches an instance that is dead, or whose region has begun again meanwhile, does not count.
    fn hears(&self, world: &World, term: u32) -> bool {
        !world.lives[&self.life].dead && world.regions[self.region].term == term
    }
}

impl<J: Journal> Journal for ObservedJournal<J> {
    async fn claim(&self, partition: PartitionId) -> Result<Claim, AppendError> {
        let term = self.term();
        let claim = self.inner.claim(partition).await?;
        let now = self.sim.now();
        let mut world = self.sim.world();
        if self.hears(&world, term) {
            let epoch = claim.epoch.0;
            world.say(now, || {
                format!("{} claimed {partition}: epoch {epoch} after {}", self.life, claim.events_tail)
            });
            world.observe(now, &(self.life, partition, epoch));
            world.figures.takeovers += u64::from(epoch > 1);
            let before = world.checker.owner(self.region, partition, epoch.saturating_sub(1));
            let before = before.and_then(|life| world.lives.get(&life));
            if let Some(gone) = before.map(|life| life.dead) {
                world.coverage.note(if gone { Situation::TakenOver } else { Situation::HandedOver });
            }
            let region_epoch = world.regions[self.region].state.epoch;
            let observed = ObservedClaim { epoch, term, region_epoch };
            world.checker.claimed(self.life, self.region, partition, observed, claim.events_tail);
        }
        Ok(claim)
    }

    async fn append(
        &self,
        partition: PartitionId,
        epoch: Epoch,
        expected_tail: Seq,
        frame: Bytes,
    ) -> Result<Seq, AppendError> {
        let term = self.term();
        let answer = self.inner.append(partition, epoch, expected_tail, frame.clone()).await;
        let now = self.sim.now();
        let mut world = self.sim.world();
        if !self.hears(&world, term) {
            return answer;
        }
        match &answer {
            Ok(seq) => world.checker.appended(self.region, partition, epoch.0, *seq, &frame),
            Err(AppendError::Fenced { .. }) => {
                world.say(now, || format!("{} is refused in epoch {} of {partition}", self.life, epoch.0));
                world.figures.fenced += 1;
                world.coverage.note(Situation::Fenced);
                if world.lives[&self.life].frozen_until > 0 {
                    world.coverage.note(Situation::FrozenFenced);
                }
                let region = (self.region, world.regions[self.region].state.epoch);
                world.checker.fenced(self.life, region, partition, epoch.0);
            }
            Err(AppendError::Full) => {}
            Err(error) => {
                let what = format!(
                    "frame {} of partition {partition} was not appended: {error}",
                    expected_tail.next()
                );
                world.checker.add_violation("E7", what);
            }
        }
        answer
    }

    async fn read(
        &self,
        partition: PartitionId,
        from: Seq,
        bytes_max: usize,
    ) -> Result<Vec<Record>, ReadError> {
        let term = self.term();
        let tail = self.sim.world().checker.chain(self.region, partition).number;
        let records = self.inner.read(partition, from, bytes_max).await?;
        let mut world = self.sim.world();
        if self.hears(&world, term) {
            world.checker.read(self.region, partition, from, tail, &records);
        }
        Ok(records)
    }

    async fn inbox_append(&self, partition: PartitionId, records: Vec<Bytes>) -> Result<Seq, AppendError> {
        let term = self.term();
        let last = self.inner.inbox_append(partition, records.clone()).await?;
        let mut world = self.sim.world();
        if self.hears(&world, term) {
            let kept = &world.regions[self.region].streams[&inbox(partition)].kept;
            let sequence = last.0.div_ceil(65_536);
            let found = kept.get(sequence as usize - 1).and_then(|bytes| message::records(bytes, sequence));
            let found: Vec<Bytes> = found.into_iter().flatten().map(|(_, bytes)| bytes).collect();
            if !found.windows(records.len()).any(|window| *window == records) {
                world.checker.add_violation(
                    "I1",
                    format!("request {last} of partition {partition} was acknowledged and is not there"),
                );
            }
        }
        Ok(last)
    }

    async fn inbox_read(
        &self,
        partition: PartitionId,
        from: Seq,
        bytes_max: usize,
    ) -> Result<Vec<Record>, ReadError> {
        let term = self.term();
        let tail = self.sim.world().inbox_tail(self.region, partition);
        let records = self.inner.inbox_read(partition, from, bytes_max).await?;
        let mut world = self.sim.world();
        if self.hears(&world, term) {
            world.check_inbox(self.region, partition, from, tail, &records);
        }
        Ok(records)
    }

    fn inbox_tail(&self, partition: PartitionId) -> watch::Receiver<Seq> {
        self.inner.inbox_tail(partition)
    }

    async fn snapshot_put(
        &self,
        partition: PartitionId,
        epoch: Epoch,
        snapshot: Snapshot,
    ) -> Result<(), AppendError> {
        self.sim.say(|| format!("{} puts a snapshot of {partition} through {}", self.life, snapshot.through));
        self.inner.snapshot_put(partition, epoch, snapshot).await
    }

    async fn snapshot_get(&self, partition: PartitionId) -> Result<Option<Snapshot>, ReadError> {
        let term = self.term();
        let snapshot = self.inner.snapshot_get(partition).await?;
        let through = snapshot.as_ref().map_or(0, |snapshot| snapshot.through.0);
        let mut world = self.sim.world();
        let tail = world.checker.chain(self.region, partition).number;
        if through > 0 && through < tail {
            world.coverage.note(Situation::TakenFromSnapshot);
        }
        if through > tail && self.hears(&world, term) {
            let what = format!("partition {partition} has a snapshot through {through} and ends at {tail}");
            world.checker.add_violation("S1", what);
        }
        Ok(snapshot)
    }

    async fn trim(
        &self,
        partition: PartitionId,
        epoch: Epoch,
        events: Seq,
        inbox: Seq,
    ) -> Result<(), AppendError> {
        self.inner.trim(partition, epoch, events, inbox).await
    }

    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    async fn tables_put(
        &self,
        partition: PartitionId,
        epoch: Epoch,
        through: Seq,
        dir: PathBuf,
    ) -> Result<(), AppendError> {
        self.inner.tables_put(partition, epoch, through, dir).await
    }

    async fn tables_get(&self, partition: PartitionId, through: Seq, dir: PathBuf) -> Result<(), ReadError> {
        self.inner.tables_get(partition, through, dir).await
    }

    fn room(&self) -> Room {
        self.inner.room()
    }
}

impl World {
    fn inbox_tail(&self, region: usize, partition: PartitionId) -> u64 {
        self.regions[region].streams[&inbox(partition)].last() * 65_536
    }

    fn check_inbox(
        &mut self,
        region: usize,
        partition: PartitionId,
        from: Seq,
        tail: u64,
        records: &[Record],
    ) {
        let kept = &self.regions[region].streams[&inbox(partition)].kept;
        let first = from.0.max(1).div_ceil(65_536);
        let messages = kept.iter().zip(1_u64..).skip(first as usize - 1);
        let all =
            messages.flat_map(|(bytes, sequence)| message::records(bytes, sequence).unwrap_or_default());
        let mut there = all.filter(|(seq, _)| *seq >= from);
        let same = records.iter().all(|record| there.next() == Some((record.seq, record.bytes.clone())));
        let next = there.next().map(|(seq, _)| seq);
        if !same {
            self.checker.add_violation(
                "E5",
                format!("the inbox of {partition} was read from {from} with something else"),
            );
        } else if records.is_empty() && next.is_some_and(|next| next.0 <= tail) {
            self.checker.add_violation(
                "E5",
                format!("the inbox of {partition} was read from {from} and has {next:?}"),
            );
        }
    }

    /// A message is stored in a region: by an instance, or by a mirror.
    pub fn stored(&mut self, now: u64, region: usize, stream: &str, sequence: u64, life: Option<u32>) {
        let partition =
            (0..self.plan.partitions).map(PartitionId).find(|partition| events(*partition) == stream);
        let Some(partition) = partition else { return };
        let bytes = self.regions[region].streams[stream].kept[sequence as usize - 1].clone();
        let set_ms =
            life.map_or(0, |life| self.lives[&life].set_ms.load(std::sync::atomic::Ordering::Relaxed));
        let wall = types::Timestamp(self.plan.wall_ms + now as i64 + set_ms);
        self.say(now, || format!("region {region} stored {stream} {sequence} from {life:?}"));
        self.observe(now, &(region, stream, sequence, bytes.len()));
        self.checker.stored(region, partition, sequence, &bytes, life, wall, &mut self.coverage);
    }
}
