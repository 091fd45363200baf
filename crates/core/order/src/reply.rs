//! The way back of an order: its outcome is reported once, whatever becomes of whoever carries it out.

use std::sync::Arc;

use kernel::RunNo;
use types::{Outcome, Work};

/// What became of an order.
#[derive(Debug, PartialEq, Eq)]
pub struct CallReport {
    pub run: RunNo,
    pub work: Work,
    pub attempt: u32,
    /// None when the call was not sent, because the order was stopped while it was queued.
    pub outcome: Option<Outcome>,
}

/// Receives the reports of a partition's orders.
pub type ReportTo = Arc<dyn Fn(CallReport) + Send + Sync>;

/// Receives the outcome of an order. Dropped without one, it reports that the outcome is unknown.
pub struct Reply {
    to: ReportTo,
    run: RunNo,
    work: Work,
    attempt: u32,
    is_sent: bool,
}

impl Reply {
    pub fn new(to: ReportTo, run: RunNo, work: Work, attempt: u32) -> Reply {
        Reply { to, run, work, attempt, is_sent: false }
    }

    pub fn report(mut self, outcome: Outcome) {
        self.send(Some(outcome));
    }

    /// The call was not sent: the order was stopped while it was queued.
    pub fn withdraw(mut self) {
        self.send(None);
    }

    fn send(&mut self, outcome: Option<Outcome>) {
        self.is_sent = true;
        let Reply { run, work, attempt, .. } = *self;
        (self.to)(CallReport { run, work, attempt, outcome });
    }
}

impl Drop for Reply {
    fn drop(&mut self) {
        if !self.is_sent {
            let reason = "the call was given up before it was answered".to_owned();
            self.send(Some(Outcome::Unknown { reason }));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    fn reports(end: impl FnOnce(Reply)) -> Vec<Option<Outcome>> {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let to = seen.clone();
        let to: ReportTo = Arc::new(move |report| to.lock().unwrap().push(report.outcome));
        end(Reply::new(to, RunNo(1), Work::Do(types::StepIndex(0)), 1));
        let mut seen = seen.lock().unwrap();
        std::mem::take(&mut *seen)
    }

    #[test]
    fn an_order_is_reported_once_also_when_it_is_dropped() {
        let done = Outcome::Done { status: 200, output: b"null"[..].into() };
        assert_eq!(reports(|reply| reply.report(done.clone())), [Some(done.clone())]);
        assert_eq!(reports(Reply::withdraw), [None]);
        let reason = "the call was given up before it was answered".to_owned();
        assert_eq!(reports(drop), [Some(Outcome::Unknown { reason })]);
    }
}
