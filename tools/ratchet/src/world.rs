//! A partition without its surroundings: inputs in, frames out.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use journal::codec;
use kernel::{Event, Fact, Input, Run, RunNo, State};
use types::{Plan, Timestamp, Work, WorkflowName};
use workflow::Definition;

use crate::delivery;

pub struct World {
    definition: Arc<Definition>,
    plans: BTreeMap<(WorkflowName, u32), Arc<Plan>>,
    state: State,
    /// The calls that are owed.
    owed: VecDeque<(RunNo, Work, u32)>,
}

impl World {
    pub fn new(definition: Arc<Definition>) -> World {
        let plans = BTreeMap::from([((definition.name().clone(), 1), definition.plan().clone())]);
        World { definition, plans, state: State::default(), owed: VecDeque::new() }
    }

    /// Takes a request and answers its calls until its run has ended.
    pub fn run(&mut self, number: u32) -> Run {
        let request = delivery::request(&self.definition, number);
        let mut now = request.accepted_at;
        let inbox = self.state.inbox_through().next();
        let mut ended = self.input(now, &Input::Request { inbox, request, seen: None });
        while let Some((run, work, attempt)) = self.owed.pop_front() {
            now = Timestamp(now.0 + 1);
            let outcome = delivery::done(&self.definition, work);
            ended = ended.or(self.input(now, &Input::Outcome { run, work, attempt, outcome }));
        }
        ended.expect("a run whose calls are answered ends")
    }

    fn input(&mut self, now: Timestamp, input: &Input) -> Option<Run> {
        let (mut events, mut retired) = (Vec::new(), Vec::new());
        let applied = self.state.apply(&self.plans, now, input, &mut events, &mut retired);
        applied.expect("a request or an outcome that is awaited is not rejected");
        for event in &events {
            if let Event::Run { no, fact: Fact::Started { work, attempt }, .. } = event {
                self.owed.push_back((*no, *work, *attempt));
            }
        }
        std::hint::black_box(codec::encode(&events));
        retired.pop()
    }
}
