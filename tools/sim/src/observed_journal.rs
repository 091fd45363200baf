//! The journal of a simulated process, observed: its requests, its promises, and what it returns.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use journal::{AppendError, Claim, Journal, ReadError, Record, Room, Snapshot};
use journal_disk::{DiskJournal, ManualWriter};
use kernel::queue::Queues;
use kernel::{Request, State};
use tokio::sync::watch;
use types::{Epoch, PartitionId, Seq};

use crate::coverage::Situation;
use crate::observation::Observation;
use crate::rng;
use crate::world::Sim;

/// The journal on the simulated disk; records every call as an observation.
pub struct ObservedJournal {
    inner: DiskJournal,
    sim: Arc<Sim>,
}

impl ObservedJournal {
    pub fn new(inner: DiskJournal, sim: Arc<Sim>) -> ObservedJournal {
        ObservedJournal { inner, sim }
    }

    fn observe(&self, observation: Observation) {
        self.sim.look_for_death();
        let mut world = self.sim.world();
        if !world.is_dead() {
            world.observe(observation);
        }
    }
}

/// Drives the writer of a journal: each group takes its time.
pub async fn write(sim: Arc<Sim>, mut writer: ManualWriter) {
    while writer.wait().await {
        let ms = {
            let mut world = sim.world();
            world.figures.events += 1;
            let draw = rng::hash(&(world.plan.seed, world.figures.events, "disk"));
            let slow = if world.now() < world.slow.0 { world.slow.1 } else { 0 };
            draw % (world.plan.limits.disk_ms + 1) + slow
        };
        if ms > 0 {
            tokio::time::sleep(Duration::from_millis(ms)).await;
        } else {
            tokio::task::yield_now().await;
        }
        writer.turn();
        sim.look_for_death();
    }
}

fn hash(bytes: &Bytes) -> u64 {
    rng::hash(&&bytes[..])
}

impl Journal for ObservedJournal {
    async fn claim(&self, partition: PartitionId) -> Result<Claim, AppendError> {
        let claim = self.inner.claim(partition).await?;
        let tail = claim.events_tail;
        self.observe(Observation::Claimed { partition, tail });
        let mut world = self.sim.world();
        if world.is_dead() {
            return Err(AppendError::Closed);
        }
        if world.history.has_open(partition) {
            let kept = world.history.find(partition, tail);
            let case = if kept.is_some() { Situation::OpenAppendKept } else { Situation::OpenAppendLost };
            world.coverage.note(case);
            if let Some((seq, frame)) = kept {
                world.keep(partition, seq, &frame);
            }
        }
        if world.history.tail(partition) < tail {
            let known = world.history.tail(partition);
            world.add_violation("I3", format!("partition {partition} ends at {tail}, {known} was written"));
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
        let seq = expected_tail.next();
        self.sim.look_for_death();
        self.sim.world().offer(partition, seq, &frame);
        let answer = self.inner.append(partition, epoch, expected_tail, frame.clone()).await;
        self.sim.look_for_death();
        let mut world = self.sim.world();
        if world.is_dead() {
            return Err(AppendError::Closed);
        }
        match &answer {
            Ok(seq) => world.keep(partition, *seq, &frame),
            Err(AppendError::Unknown { .. } | AppendError::Closed) => {}
            Err(error) => {
                if *error == AppendError::Full {
                    world.coverage.note(Situation::CommitWaitedForRoom);
                }
                world.history.withdraw(partition);
                world.observe(Observation::FrameRefused { partition, seq });
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
        let records = self.inner.read(partition, from, bytes_max).await?;
        for record in &records {
            self.observe(Observation::FrameRead { partition, seq: record.seq, hash: hash(&record.bytes) });
        }
        Ok(records)
    }

    async fn inbox_append(&self, partition: PartitionId, records: Vec<Bytes>) -> Result<Seq, AppendError> {
        let hashes: Vec<u64> = records.iter().map(hash).collect();
        self.observe(Observation::InboxOffered { partition, hashes: hashes.clone() });
        let decode = |record: &Bytes| journal::codec::decode::<Request>(record).map(|request| request.id);
        let ids = records.iter().map(|record| decode(record).expect("ingest writes requests")).collect();
        let last = self.inner.inbox_append(partition, records).await?;
        self.observe(Observation::InboxKept { partition, last, hashes, ids });
        Ok(last)
    }

    async fn inbox_read(
        &self,
        partition: PartitionId,
        from: Seq,
        bytes_max: usize,
    ) -> Result<Vec<Record>, ReadError> {
        let records = self.inner.inbox_read(partition, from, bytes_max).await?;
        for record in &records {
            let (seq, hash) = (record.seq, hash(&record.bytes));
            // What is not a request was never written: the hash shows that.
            if let Ok(request) = journal::codec::decode::<Request>(&record.bytes) {
                self.observe(Observation::InboxRead { partition, seq, hash, id: request.id });
            } else {
                self.sim
                    .world()
                    .add_violation("I3", format!("request {seq} of partition {partition} is none"));
            }
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
        let stored = self.inner.snapshot_put(partition, epoch, snapshot.clone()).await;
        self.sim.look_for_death();
        stored?;
        let inbox_through = match journal::codec::decode_pair::<State, Queues>(&snapshot.bytes) {
            Ok((state, _)) if partition != PartitionId::CONTROL => state.inbox_through(),
            _ => Seq::ZERO,
        };
        let (through, hash) = (snapshot.through, hash(&snapshot.bytes));
        self.observe(Observation::SnapshotKept { partition, through, inbox_through, hash });
        Ok(())
    }

    async fn snapshot_get(&self, partition: PartitionId) -> Result<Option<Snapshot>, ReadError> {
        let snapshot = self.inner.snapshot_get(partition).await?;
        let through = snapshot.as_ref().map_or(Seq::ZERO, |snapshot| snapshot.through);
        let hash = snapshot.as_ref().map_or(0, |snapshot| hash(&snapshot.bytes));
        self.observe(Observation::SnapshotRead { partition, through, hash });
        let mut world = self.sim.world();
        if through > Seq::ZERO && through < world.history.tail(partition) {
            world.coverage.note(Situation::SnapshotAndTail);
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
        self.observe(Observation::Trimmed { partition, events, inbox });
        self.inner.trim(partition, epoch, events, inbox).await
    }

    fn room(&self) -> Room {
        self.inner.room()
    }
}
