//! What producers and consumers observed.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard};

use crate::report::Closing;

/// One log for all clients.
#[derive(Default)]
pub struct MessageLog(Mutex<MessageRecords>);

#[derive(Default)]
struct MessageRecords {
    confirmed: BTreeSet<String>,
    received: BTreeSet<String>,
    /// Asked to be completed; the answer may be lost.
    completing: BTreeSet<String>,
    completed: BTreeSet<String>,
    /// Received again after it was completed.
    revived: BTreeSet<String>,
    deliveries: u64,
}

impl MessageLog {
    fn page(&self) -> MutexGuard<'_, MessageRecords> {
        self.0.lock().expect("nobody panics while holding the records")
    }

    pub fn confirm(&self, id: &str) {
        self.page().confirmed.insert(id.to_owned());
    }

    pub fn receive(&self, id: &str) {
        let mut page = self.page();
        page.deliveries += 1;
        page.received.insert(id.to_owned());
        if page.completed.contains(id) {
            page.revived.insert(id.to_owned());
        }
    }

    pub fn completing(&self, id: &str) {
        self.page().completing.insert(id.to_owned());
    }

    pub fn complete(&self, id: &str) {
        self.page().completed.insert(id.to_owned());
    }

    /// Compares confirmed and received messages; `left` is what the queue still has.
    pub fn judge(&self, left: u64, closing: &mut Closing) {
        let page = self.page();
        let lost: Vec<&String> = page.confirmed.difference(&page.completing).collect();
        closing.count(page.confirmed.len() as u64, "acknowledged");
        closing.count(lost.len() as u64, "lost");
        closing.count(page.deliveries, "deliveries");
        closing.count(page.completed.len() as u64, "completed");
        for id in lost {
            closing.add_finding(format!("{id} was confirmed and never completed"));
        }
        for id in &page.revived {
            closing.add_finding(format!("{id} was completed and came back"));
        }
        for id in page.received.iter().filter(|id| !id.starts_with("m-")) {
            closing.add_finding(format!("{id} was never sent"));
        }
        if left > 0 {
            closing.add_finding(format!("{left} messages are left"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::RoundResult;

    fn judged(log: &MessageLog) -> RoundResult {
        let mut closing = Closing::new("queue");
        log.judge(0, &mut closing);
        closing.print(0)
    }

    #[test]
    fn what_was_lost_or_came_back_is_found() {
        let log = MessageLog::default();
        log.confirm("m-1");
        assert_eq!(judged(&log), RoundResult::Broken, "confirmed and never seen");
        log.receive("m-1");
        log.completing("m-1");
        log.complete("m-1");
        assert_eq!(judged(&log), RoundResult::Kept);
        log.receive("m-1");
        assert_eq!(judged(&log), RoundResult::Broken, "completed and received again");
    }
}
