//! Checks a cluster: the streams of every region, message by message, and what instances learned from them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bytes::Bytes;
use engine::Catalog;
use kernel::{DropReason, Event, Fact};
use types::{PartitionId, RunId, Seq, Timestamp};

use super::coverage::{Coverage, Situation};
use super::figures::Throughput;
use super::message;
use crate::checkers::{Checkers, Violation};
use crate::history::History;
use crate::job_model::JobModel;
use crate::observation::{DurableEvent, Observation};
use crate::queue_model::QueueModel;
use crate::rng;

/// All that is known about a cluster.
pub struct ClusterChecker {
    pub found: Vec<Violation>,
    pub histories: Vec<RegionHistory>,
    /// What clients learned, with the region that answered them.
    pub acked: BTreeMap<RunId, u64>,
    /// What instances learned of partitions that they own.
    claims: BTreeMap<(u32, PartitionId), ObservedClaim>,
    /// Requests, and runs that had events, that the pair of a lost region never got.
    pub lost: BTreeSet<RunId>,
    pub touched: BTreeSet<RunId>,
    catalog: Arc<Catalog>,
}

/// An instance learned that it owns a partition.
#[derive(Debug, Clone, Copy)]
pub struct ObservedClaim {
    pub epoch: u64,
    /// How often its region had begun again.
    pub term: u32,
    /// Its region's epoch.
    pub region_epoch: u64,
}

/// Who ordered a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ordered {
    Owner,
    /// A stale owner: another instance has taken the partition.
    Zombie,
    /// An instance whose history was replaced when its region became a mirror.
    Stranger,
}

/// The history of one region.
pub struct RegionHistory {
    pub history: History,
    pub job_model: JobModel,
    queue_model: QueueModel,
    /// Check what owners do, and what any instance does.
    owners: Checkers,
    anybody: Checkers,
    chains: BTreeMap<PartitionId, Chain>,
    homes: BTreeMap<RunId, PartitionId>,
    /// The epoch in which each request was taken.
    taken: BTreeMap<RunId, u64>,
    /// The last epoch in which each job was fired.
    fired: BTreeMap<String, u64>,
    pub throughput: Throughput,
}

/// One partition's events so far.
#[derive(Debug, Clone, Default)]
pub struct Chain {
    pub epoch: u64,
    pub number: u64,
    checksum: u32,
    /// Who claimed an epoch, when it was not a mirror, and the frames before it.
    claims: BTreeMap<u64, (Option<u32>, u64)>,
    /// The hash of each frame, with its epoch and its size.
    pub frames: Vec<(u64, u64)>,
}

impl ClusterChecker {
    pub fn new(regions: usize, catalog: Arc<Catalog>) -> ClusterChecker {
        ClusterChecker {
            found: Vec::new(),
            histories: (0..regions).map(|_| RegionHistory::new()).collect(),
            acked: BTreeMap::new(),
            claims: BTreeMap::new(),
            lost: BTreeSet::new(),
            touched: BTreeSet::new(),
            catalog,
        }
    }

    pub fn add_violation(&mut self, id: &'static str, what: String) {
        self.found.push(Violation { id, what });
    }

    /// A message of the events is stored: by an instance, or by a mirror.
    pub fn stored(
        &mut self,
        region: usize,
        partition: PartitionId,
        sequence: u64,
        bytes: &Bytes,
        life: Option<u32>,
        wall: Timestamp,
        coverage: &mut Coverage,
    ) {
        let Some(message) = message::Event::read(bytes) else {
            return self
                .add_violation("E1", format!("message {sequence} of partition {partition} cannot be read"));
        };
        let chain = self.histories[region].chains.entry(partition).or_default();
        if let Err(what) = chain.add(&message, partition, sequence, life) {
            return self.add_violation("E1", format!("message {sequence} of partition {partition} {what}"));
        }
        if let Some(frame) = &message.frame {
            let catalog = self.catalog.clone();
            let region_history = &mut self.histories[region];
            region_history.keep(
                partition,
                message.epoch,
                Seq(message.number),
                frame,
                &catalog,
                wall,
                coverage,
            );
            self.found.append(&mut region_history.owners.found);
            self.found.append(&mut region_history.anybody.found);
        }
    }

    /// An instance learns that it owns a partition.
    pub fn claimed(
        &mut self,
        life: u32,
        region: usize,
        partition: PartitionId,
        observed: ObservedClaim,
        tail: Seq,
    ) {
        let epoch = observed.epoch;
        self.claims.insert((life, partition), observed);
        let chain = self.chain(region, partition);
        match chain.claims.get(&epoch) {
            Some((by, number)) if by.is_none_or(|by| by == life) && *number == tail.0 => {}
            found => {
                let what = format!(
                    "{life} was given epoch {epoch} of partition {partition} after {tail}: {found:?}"
                );
                self.add_violation("E2", what);
            }
        }
    }

    /// An instance learns that its frame is durable.
    pub fn appended(&mut self, region: usize, partition: PartitionId, epoch: u64, seq: Seq, frame: &Bytes) {
        let chain = self.chain(region, partition);
        let kept = chain.frames.get(seq.0 as usize - 1).copied();
        if kept != Some((epoch, rng::hash(&&frame[..]))) {
            let what =
                format!("frame {seq} of partition {partition} was acknowledged in epoch {epoch}: {kept:?}");
            self.add_violation("E3", what);
        }
    }

    /// An instance learns that its partition is no longer its own: another owns it, or its region has been opened again.
    pub fn fenced(
        &mut self,
        life: u32,
        (region, region_epoch): (usize, u64),
        partition: PartitionId,
        epoch: u64,
    ) {
        let newest = self.chain(region, partition).epoch;
        let observed = self.claims.get(&(life, partition)).filter(|observed| observed.epoch == epoch);
        let reopened = observed.is_some_and(|observed| observed.region_epoch < region_epoch);
        if newest <= epoch && !reopened {
            self.add_violation(
                "E4",
                format!("epoch {epoch} of partition {partition} was refused, {newest} is the newest"),
            );
        }
    }

    /// Frames are read back, when at least `tail` frames were there.
    pub fn read(
        &mut self,
        region: usize,
        partition: PartitionId,
        from: Seq,
        tail: u64,
        records: &[journal::Record],
    ) {
        let chain = self.chain(region, partition);
        let from = from.0.max(1);
        let wrong = records.iter().zip(from..).find(|(record, number)| {
            let kept = chain.frames.get(*number as usize - 1).map(|(_, hash)| *hash);
            record.seq.0 != *number || kept != Some(rng::hash(&&record.bytes[..]))
        });
        let wrong = wrong.map(|(record, number)| (record.seq, number));
        if let Some((seq, number)) = wrong {
            self.add_violation(
                "E5",
                format!("frame {number} of partition {partition} was read as {seq}, or with other bytes"),
            );
        } else if records.is_empty() && from <= tail {
            self.add_violation(
                "E5",
                format!("partition {partition} was read from {from}: nothing, it has {tail} frames"),
            );
        }
    }

    /// An instance orders a call.
    pub fn order(&mut self, life: u32, region: usize, term: u32, observation: &Observation) -> Ordered {
        let Observation::Ordered { run, key, .. } = observation else { return Ordered::Stranger };
        let is_old =
            |(by, observed): (&(u32, PartitionId), &ObservedClaim)| by.0 == life && observed.term < term;
        if self.claims.iter().any(is_old) && !self.histories[region].homes.contains_key(run) {
            return Ordered::Stranger;
        }
        let region_history = &self.histories[region];
        let Some(partition) = region_history.homes.get(run).copied() else {
            self.add_violation("I9", format!("{key} is called before its run is durable"));
            return Ordered::Stranger;
        };
        let newest = region_history.chains.get(&partition).map_or(0, |chain| chain.epoch);
        let Some(observed) = self.claims.get(&(life, partition)).copied() else {
            self.add_violation("E6", format!("{life} calls {key} and never owned partition {partition}"));
            return Ordered::Stranger;
        };
        if observed.term < term {
            return Ordered::Stranger;
        }
        let zombie = observed.epoch < newest;
        let region_history = &mut self.histories[region];
        region_history.anybody.observe(observation);
        if !zombie {
            region_history.owners.observe(observation);
        }
        self.found.append(&mut region_history.owners.found);
        self.found.append(&mut region_history.anybody.found);
        if zombie { Ordered::Zombie } else { Ordered::Owner }
    }

    /// A call reached its service.
    pub fn reached(&mut self, region: usize, observation: &Observation) {
        let region_history = &mut self.histories[region];
        region_history.anybody.observe(observation);
        self.found.append(&mut region_history.anybody.found);
    }

    /// Who claimed an epoch.
    pub fn owner(&mut self, region: usize, partition: PartitionId, epoch: u64) -> Option<u32> {
        self.chain(region, partition).claims.get(&epoch).and_then(|(life, _)| *life)
    }

    pub fn chain(&mut self, region: usize, partition: PartitionId) -> &Chain {
        self.histories[region].chains.entry(partition).or_default()
    }

    /// A region begins again, as a mirror.
    pub fn forget(&mut self, region: usize) {
        self.histories[region] = RegionHistory::new();
    }
}

impl RegionHistory {
    fn new() -> RegionHistory {
        RegionHistory {
            history: History::default(),
            job_model: JobModel::default(),
            queue_model: QueueModel::default(),
            owners: Checkers::of_owners(),
            anybody: Checkers::of_anybody(),
            chains: BTreeMap::new(),
            homes: BTreeMap::new(),
            taken: BTreeMap::new(),
            fired: BTreeMap::new(),
            throughput: Throughput::default(),
        }
    }

    fn keep(
        &mut self,
        partition: PartitionId,
        epoch: u64,
        seq: Seq,
        frame: &Bytes,
        catalog: &Catalog,
        wall: Timestamp,
        coverage: &mut Coverage,
    ) {
        self.throughput.frames += 1;
        self.throughput.last = wall;
        for (event, run) in self.history.keep(partition, seq, frame, catalog) {
            self.note(epoch, &event, run.as_ref(), coverage);
            self.time(&event, run.as_ref(), wall);
            if let (Event::Accepted(_) | Event::Fired(_), Some(run)) = (&event, &run)
                && self.homes.insert(run.clone(), partition).is_some()
            {
                self.owners.found.push(Violation { id: "D1", what: format!("{run} was taken twice") });
            }
            let (job_model, queue_model) = (&self.job_model, &self.queue_model);
            let durable =
                DurableEvent { partition, event: &event, run: run.clone(), wall, job_model, queue_model };
            self.owners.observe_event(&durable);
            self.anybody.observe_event(&durable);
            self.job_model.fold(&event, run.as_ref());
        }
    }

    fn time(&mut self, event: &Event, run: Option<&RunId>, wall: Timestamp) {
        self.throughput.events += 1;
        if let Event::Run { fact: Fact::Completed | Fact::Undone | Fact::GivenUp, .. } = event
            && let Some(run) = run.and_then(|run| self.history.run(run))
        {
            self.throughput.ended += 1;
            self.throughput.took_ms += wall.0.saturating_sub(run.request.accepted_at.0).max(0) as u64;
        }
    }

    fn note(&mut self, epoch: u64, event: &Event, run: Option<&RunId>, coverage: &mut Coverage) {
        match event {
            Event::Accepted(accepted) => {
                self.taken.insert(accepted.request.id.clone(), epoch);
            }
            Event::Dropped { reason: DropReason::Duplicate, id, .. } => {
                coverage.note(Situation::DroppedDuplicate);
                if self.taken.get(id).is_some_and(|taken| *taken < epoch) {
                    coverage.note(Situation::DroppedByNextOwner);
                }
            }
            Event::Fired(fired) => {
                let before = self.fired.insert(fired.job.name.to_string(), epoch);
                if before.is_some_and(|before| before < epoch) {
                    coverage.note(Situation::FiredByNextOwner);
                }
            }
            Event::Run { fact: Fact::Undone, .. } if run.is_some() => coverage.note(Situation::Undone),
            _ => {}
        }
    }
}

impl Chain {
    /// The epoch of the last frame.
    pub fn written_in(&self) -> u64 {
        self.frames.last().map_or(0, |(epoch, _)| *epoch)
    }

    fn add(
        &mut self,
        message: &message::Event,
        partition: PartitionId,
        sequence: u64,
        life: Option<u32>,
    ) -> Result<(), String> {
        let message::Event { epoch, number, before, .. } = *message;
        let expected = match message.frame {
            None => (self.epoch + 1, self.number),
            Some(_) => (self.epoch, self.number + 1),
        };
        if (epoch, number) != expected || message.partition != partition {
            return Err(format!("is frame {number} of epoch {epoch}; {expected:?} follows"));
        }
        if before != self.checksum || sequence != epoch + number {
            return Err(format!("does not follow the message before it ({before:08x})"));
        }
        match &message.frame {
            None => {
                self.claims.insert(epoch, (life, number));
            }
            Some(frame) => {
                let owner = self.claims.get(&epoch).and_then(|(owner, _)| *owner);
                if life.is_some() && owner.is_some() && owner != life {
                    return Err(format!(
                        "is of epoch {epoch}, which {owner:?} owns, and comes from {life:?}"
                    ));
                }
                self.frames.push((epoch, rng::hash(&&frame[..])));
            }
        }
        (self.epoch, self.number, self.checksum) = (epoch, number, message.checksum);
        Ok(())
    }
}
