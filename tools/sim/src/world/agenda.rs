//! What is still to happen, in the order of its time.

use std::collections::BTreeMap;

use crate::plan::{Operation, Plan};
use crate::services::Call;
use crate::traffic::QueueTask;

/// Something that the world does at its time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Task {
    Do(Operation),
    /// A call reaches its service.
    Arrive(Call),
    /// A client that was not acknowledged tries again.
    Resend {
        n: u32,
    },
    /// An editor that was not answered tries again.
    Edit {
        n: u32,
    },
    /// A queue operation.
    Queue(QueueTask),
    /// The disk has room again.
    Empty,
}

/// Tasks by time, and by their order among those of one time.
#[derive(Debug, Default)]
pub struct Agenda {
    tasks: BTreeMap<(u64, u64), Task>,
    added: u64,
    /// Operations of the plan that are still to be executed.
    operations: usize,
}

impl Agenda {
    pub fn of(plan: &Plan) -> Agenda {
        let mut agenda = Agenda { operations: plan.operations.len(), ..Agenda::default() };
        for timed in &plan.operations {
            agenda.add(timed.at, Task::Do(timed.operation.clone()));
        }
        agenda
    }

    pub fn add(&mut self, at: u64, task: Task) {
        self.tasks.insert((at, self.added), task);
        self.added += 1;
    }

    /// When the next task is due, in ms.
    pub fn next(&self) -> Option<u64> {
        self.tasks.first_key_value().map(|((at, _), _)| *at)
    }

    /// The next task, if it is due.
    pub fn pop(&mut self, now: u64) -> Option<Task> {
        self.next().filter(|at| *at <= now)?;
        let (_, task) = self.tasks.pop_first()?;
        self.operations -= usize::from(matches!(task, Task::Do(_)));
        Some(task)
    }

    /// Postpones a task that is due.
    pub fn put_off(&mut self, at: u64, task: Task) {
        self.operations += usize::from(matches!(task, Task::Do(_)));
        self.add(at, task);
    }

    /// Whether all operations of the plan were executed.
    pub fn is_played(&self) -> bool {
        self.operations == 0
    }

    pub fn is_empty(&self) -> bool {
        self.tasks.is_empty()
    }
}
