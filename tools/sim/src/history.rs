//! Everything that ever became durable, replayed from the first event: the engine must agree with it.

use std::collections::BTreeMap;

use bytes::Bytes;
use engine::Catalog;
use kernel::{Event, Run, RunNo, State};
use types::{PartitionId, RunId, Seq};

/// The history of every partition.
#[derive(Default)]
pub struct History {
    partitions: BTreeMap<PartitionId, PartitionHistory>,
}

#[derive(Default)]
struct PartitionHistory {
    tail: Seq,
    state: State,
    ids: BTreeMap<RunNo, RunId>,
    ended: BTreeMap<RunId, Run>,
    /// A frame whose append was not answered.
    open: Option<(Seq, Bytes)>,
}

impl History {
    /// An append begins; until its response it may or may not be durable.
    pub fn offer(&mut self, partition: PartitionId, seq: Seq, frame: &Bytes) {
        self.past(partition).open = Some((seq, frame.clone()));
    }

    /// The append was refused.
    pub fn withdraw(&mut self, partition: PartitionId) {
        self.past(partition).open = None;
    }

    /// A frame is durable: its events, each with the run it belongs to.
    pub fn keep(
        &mut self,
        partition: PartitionId,
        seq: Seq,
        frame: &Bytes,
        catalog: &Catalog,
    ) -> Vec<(Event, Option<RunId>)> {
        let past = self.past(partition);
        past.open = None;
        past.tail = seq;
        if partition == PartitionId::CONTROL {
            return Vec::new();
        }
        let events: Vec<Event> = journal::codec::decode(frame).expect("the engine writes what it can read");
        events.into_iter().map(|event| past.fold(event, catalog)).collect()
    }

    /// A partition was found to end at `tail`: the frame that was left open, if it was kept.
    pub fn find(&mut self, partition: PartitionId, tail: Seq) -> Option<(Seq, Bytes)> {
        let past = self.past(partition);
        past.open.take().filter(|(seq, _)| *seq == tail)
    }

    pub fn has_open(&self, partition: PartitionId) -> bool {
        self.partitions.get(&partition).is_some_and(|past| past.open.is_some())
    }

    pub fn tail(&self, partition: PartitionId) -> Seq {
        self.partitions.get(&partition).map_or(Seq::ZERO, |past| past.tail)
    }

    pub fn state(&self, partition: PartitionId) -> Option<&State> {
        self.partitions.get(&partition).map(|past| &past.state)
    }

    /// Every run that has left its partition's memory.
    pub fn ended(&self) -> impl Iterator<Item = &Run> {
        self.partitions.values().flat_map(|past| past.ended.values())
    }

    /// Every run of a partition that has left its memory.
    pub fn ended_in(&self, partition: PartitionId) -> impl Iterator<Item = &Run> {
        self.partitions.get(&partition).into_iter().flat_map(|past| past.ended.values())
    }

    /// Every run there ever was.
    pub fn runs(&self) -> impl Iterator<Item = &Run> {
        self.ended().chain(self.partitions.values().flat_map(|past| past.state.runs()))
    }

    pub fn run(&self, id: &RunId) -> Option<&Run> {
        let mut histories = self.partitions.values();
        histories.find_map(|past| past.ended.get(id).or_else(|| past.state.find(id)))
    }

    fn past(&mut self, partition: PartitionId) -> &mut PartitionHistory {
        self.partitions.entry(partition).or_default()
    }
}

impl PartitionHistory {
    fn fold(&mut self, event: Event, catalog: &Catalog) -> (Event, Option<RunId>) {
        let run = match &event {
            Event::Accepted(accepted) => {
                self.ids.insert(accepted.no, accepted.request.id.clone());
                Some(accepted.request.id.clone())
            }
            Event::Fired(fired) => {
                self.ids.insert(fired.no, fired.request.id.clone());
                Some(fired.request.id.clone())
            }
            Event::Run { no, .. } => self.ids.get(no).cloned(),
            Event::Dropped { .. } | Event::CancelNoted { .. } | Event::Job(_) | Event::Queue(_) => None,
        };
        let ended = self.state.evolve(catalog, &event).expect("the workflow of an event is known");
        self.ended.extend(ended.map(|run| (run.request.id.clone(), run)));
        (event, run)
    }
}
