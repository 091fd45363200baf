//! The view against a map: puts, flushes, crashes and removal in any order.

use std::collections::BTreeMap;

use proptest::prelude::{ProptestConfig, Strategy, prop_oneof};
use proptest::{collection, prop_assert_eq, proptest};
use tempfile::TempDir;
use types::{PartitionId, RunId, Seq, WorkflowName};
use view::{EndedRun, RunQuery, Settings, View};

use crate::common::{FINAL, all_rows, expected, partition, query, run};

const PARTITIONS: u16 = 3;

#[derive(Debug, Clone)]
enum Op {
    Put(u32),
    Flush(u16),
    Crash,
    Forget(u16, u32),
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        20 => (0u32..200).prop_map(Op::Put),
        2 => (0..PARTITIONS).prop_map(Op::Flush),
        1 => proptest::strategy::Just(Op::Crash),
        1 => ((0..PARTITIONS), 0u32..150).prop_map(|(partition, before)| Op::Forget(partition, before)),
    ]
}

/// The expected contents of the view: everything written, and the part that is certainly durable.
#[derive(Default, Clone)]
struct Model {
    runs: BTreeMap<RunId, EndedRun>,
    mark: Option<Seq>,
}

struct Pair {
    dir: TempDir,
    view: Option<View>,
    written: Vec<Model>,
    durable: Vec<Model>,
    seq: u64,
}

impl Pair {
    fn new() -> Pair {
        let models = vec![Model::default(); PARTITIONS.into()];
        let dir = tempfile::tempdir().unwrap();
        let mut pair = Pair { dir, view: None, written: models.clone(), durable: models, seq: 0 };
        pair.open();
        pair
    }

    fn open(&mut self) {
        // Large enough that only the owner flushes: the model knows what a crash loses.
        let view = View::open(self.dir.path(), Settings::default()).unwrap();
        for number in 0..PARTITIONS {
            view.open_partition(PartitionId(number)).unwrap();
        }
        self.view = Some(view);
    }

    fn apply(&mut self, op: &Op) {
        let view = self.view.as_ref().unwrap();
        match *op {
            Op::Put(number) => {
                let run = run(number);
                let own = partition(&run, PARTITIONS);
                view.put_ended(own, &run).unwrap();
                self.written[usize::from(own.0)].runs.insert(run.id.clone(), run);
            }
            Op::Flush(number) => {
                self.seq += 1;
                view.flush(PartitionId(number), Seq(self.seq)).unwrap();
                let model = &mut self.written[usize::from(number)];
                model.mark = Some(Seq(self.seq));
                self.durable[usize::from(number)] = model.clone();
            }
            Op::Crash => {
                self.view = None;
                self.written = self.durable.clone();
                self.open();
            }
            Op::Forget(number, before) => {
                let time = run(before).ended_at;
                while view.forget_before(PartitionId(number), time, 3).unwrap().more {}
                let model = &mut self.written[usize::from(number)];
                model.runs.retain(|_, run| run.accepted_at >= time || run.ended_at >= time);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]
    // guards: 13
    #[test]
    fn the_view_is_a_map_that_forgets_what_was_not_flushed(ops in collection::vec(op(), 1..120)) {
        let mut pair = Pair::new();
        for op in &ops {
            pair.apply(op);
        }
        let view = pair.view.as_ref().unwrap();
        for number in 0..PARTITIONS {
            let mark = view.flushed_through(PartitionId(number)).unwrap();
            prop_assert_eq!(mark, pair.written[usize::from(number)].mark);
        }
        let runs: BTreeMap<_, _> = pair.written.iter().flat_map(|model| model.runs.clone()).collect();
        for number in 0..200 {
            let wanted = runs.get(&run(number).id);
            let found = view.run(&run(number).id, None).unwrap();
            prop_assert_eq!(found.as_ref(), wanted);
            let seen = view.seen(&run(number).id, Some(PartitionId(1))).unwrap();
            prop_assert_eq!(seen, wanted.map(|run| run.body_hash));
        }
        let workflow = Some(WorkflowName::new("order").unwrap());
        let queries = [
            query(),
            RunQuery { limit: 7, status: Some(FINAL[1]), ..query() },
            RunQuery { limit: 7, workflow: workflow.clone(), ..query() },
            RunQuery { limit: 2, workflow, status: Some(FINAL[0]), ..query() },
            RunQuery { limit: 7, key: Some(run(3).key), ..query() },
            RunQuery { limit: 7, key: Some(run(4).key), ..query() },
            RunQuery { limit: 7, from: Some(run(50).accepted_at), to: Some(run(150).accepted_at), ..query() },
        ];
        for query in queries {
            prop_assert_eq!(all_rows(view, &query), expected(runs.values(), &query));
        }
    }
}

#[test]
fn an_older_run_that_is_written_late_and_stays_for_a_while_is_forgotten_in_its_time() {
    let mut pair = Pair::new();
    let own = partition(&run(116), PARTITIONS);
    assert_eq!(partition(&run(146), PARTITIONS), own, "both runs are in one partition");
    for op in
        [Op::Put(146), Op::Forget(own.0, 97), Op::Put(116), Op::Forget(own.0, 67), Op::Forget(own.0, 117)]
    {
        pair.apply(&op);
    }
    assert_eq!(pair.view.as_ref().unwrap().run(&run(116).id, None).unwrap(), None);
}
