//! The view's own thread: flushes the largest memtable when all of them are over budget, and compacts.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Condvar, Mutex};
use std::thread::{self, JoinHandle};

use crate::limits::{STALL_AT_BUDGETS, STALL_MAX};
use crate::partition::{SharedResources, ViewPartition};

/// How far the thread lowers its priority below the threads that serve clients: enough to leave them the CPU,
/// not so far that writers would have to wait for room.
const NICENESS: i32 = 5;

/// Wakes the thread, and the writers that wait for it.
pub(crate) struct Background {
    shared: Arc<SharedResources>,
    budget_bytes: u64,
    state: Mutex<State>,
    work: Condvar,
    room: Condvar,
}

#[derive(Default)]
struct State {
    partitions: Arc<Vec<Arc<ViewPartition>>>,
    woken: bool,
    closing: bool,
}

impl Background {
    pub(crate) fn start(
        shared: Arc<SharedResources>,
        budget_bytes: u64,
    ) -> (Arc<Background>, JoinHandle<()>) {
        let state = Mutex::new(State::default());
        let background =
            Arc::new(Background { shared, budget_bytes, state, work: Condvar::new(), room: Condvar::new() });
        let own = background.clone();
        let thread = thread::Builder::new().name("view".to_owned()).spawn(move || own.run());
        (background, thread.expect("a process that cannot start a thread cannot start"))
    }

    /// The partitions that the thread maintains from now on.
    pub(crate) fn look_after(&self, partitions: Arc<Vec<Arc<ViewPartition>>>) {
        self.state.lock().expect("no panic under this lock").partitions = partitions;
    }

    /// A flush has written a table: there may be something to compact.
    pub(crate) fn wake(&self) {
        self.state.lock().expect("no panic under this lock").woken = true;
        self.work.notify_one();
    }

    /// Called after each write. Wakes the thread when the memtables are over budget; when they are far over it,
    /// waits for room, but never longer than [`STALL_MAX`].
    pub(crate) fn written(&self) {
        let held = self.held_bytes();
        if held <= self.budget_bytes {
            return;
        }
        self.wake();
        if held > self.budget_bytes * STALL_AT_BUDGETS {
            let state = self.state.lock().expect("no panic under this lock");
            let full = |state: &mut State| {
                !state.closing && self.held_bytes() > self.budget_bytes * STALL_AT_BUDGETS
            };
            let waited = self.room.wait_timeout_while(state, STALL_MAX, full);
            drop(waited.expect("no panic under this lock"));
        }
    }

    pub(crate) fn close(&self) {
        let mut state = self.state.lock().expect("no panic under this lock");
        state.closing = true;
        state.partitions = Arc::default();
        self.work.notify_one();
        self.room.notify_all();
    }

    pub(crate) fn held_bytes(&self) -> u64 {
        self.shared.memtable_bytes.load(Ordering::Acquire).max(0).cast_unsigned()
    }

    fn run(&self) {
        // Serving clients goes before freeing memory. Without permission to lower its priority it shares the CPU.
        let _ = rustix::process::nice(NICENESS);
        while let Some(partitions) = self.next_round() {
            while self.held_bytes() > self.budget_bytes && self.flush_largest(&partitions) {}
            for partition in partitions.iter() {
                self.compact(partition, &partitions);
            }
        }
    }

    /// Waits for something to do; `None` when the view closes.
    fn next_round(&self) -> Option<Arc<Vec<Arc<ViewPartition>>>> {
        let state = self.state.lock().expect("no panic under this lock");
        let idle = |state: &mut State| !state.woken && !state.closing;
        let mut state = self.work.wait_while(state, idle).expect("no panic under this lock");
        state.woken = false;
        (!state.closing).then(|| state.partitions.clone())
    }

    /// False when no partition could free memory.
    fn flush_largest(&self, partitions: &[Arc<ViewPartition>]) -> bool {
        let writing = partitions.iter().filter(|partition| partition.stopped().is_none());
        let largest = writing.max_by_key(|partition| partition.memtable_bytes());
        let Some(partition) = largest.filter(|partition| partition.memtable_bytes() > 0) else {
            return false;
        };
        // A failure has stopped the partition, and the next write reports it to the owner; on a full disk it is
        // retried after the next write.
        let flushed = partition.flush_memtables().is_ok();
        // The lock orders this after the check of a writer that is about to wait.
        drop(self.state.lock().expect("no panic under this lock"));
        self.room.notify_all();
        flushed
    }

    /// Compacts until nothing is left to do, with flushes in between when they become due.
    fn compact(&self, partition: &ViewPartition, partitions: &[Arc<ViewPartition>]) {
        while partition.stopped().is_none() && partition.has_tree() && !self.closing() {
            match partition.compact_once() {
                Ok(true) => {}
                Ok(false) => return,
                // A failure has stopped the partition, and the next write reports it to the owner; on a full disk it is
                // retried after the next write.
                Err(_) => return,
            }
            while self.held_bytes() > self.budget_bytes && self.flush_largest(partitions) {}
        }
    }

    fn closing(&self) -> bool {
        self.state.lock().expect("no panic under this lock").closing
    }
}
