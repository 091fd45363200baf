//! Group commit: one disk sync for all the answers that wait for it.

use std::fs::File;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::JoinHandle;

use tokio::sync::oneshot;

/// The sync failed, now or earlier: nothing more may be promised.
#[derive(Debug)]
pub(crate) struct SyncFailed;

/// The thread that syncs a ledger, and those who wait for it.
pub(crate) struct Committer {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    file: Arc<File>,
    /// The newest entry that was handed to the operating system.
    written: AtomicU64,
    /// The newest entry that is on stable storage.
    durable: AtomicU64,
    failed: AtomicBool,
    queue: Mutex<Queue>,
    wake: Condvar,
}

#[derive(Default)]
struct Queue {
    waiters: Vec<oneshot::Sender<()>>,
    stop: bool,
}

impl Committer {
    pub fn start(name: &str, file: Arc<File>) -> std::io::Result<Committer> {
        let shared = Arc::new(Shared {
            file,
            written: AtomicU64::new(0),
            durable: AtomicU64::new(0),
            failed: AtomicBool::new(false),
            queue: Mutex::default(),
            wake: Condvar::new(),
        });
        let worker = shared.clone();
        let thread = std::thread::Builder::new().name(format!("{name}-sync")).spawn(move || worker.run())?;
        Ok(Committer { shared, thread: Some(thread) })
    }

    /// Waits until entry `seq`, which was written before, is on stable storage.
    pub async fn through(&self, seq: u64) -> Result<(), SyncFailed> {
        if self.shared.failed.load(Ordering::Acquire) {
            return Err(SyncFailed);
        }
        if seq <= self.shared.durable.load(Ordering::Acquire) {
            return Ok(());
        }
        self.shared.written.fetch_max(seq, Ordering::AcqRel);
        let (done, wait) = oneshot::channel();
        self.shared.queue().waiters.push(done);
        self.shared.wake.notify_one();
        wait.await.map_err(|_| SyncFailed)
    }
}

impl Shared {
    fn run(&self) {
        loop {
            let mut queue = self.queue();
            while queue.waiters.is_empty() && !queue.stop {
                queue = self.wake.wait(queue).unwrap_or_else(|poisoned| poisoned.into_inner());
            }
            if queue.waiters.is_empty() {
                return;
            }
            let waiters = std::mem::take(&mut queue.waiters);
            drop(queue);
            // Read before the sync: what is written while it runs belongs to the next group.
            let through = self.written.load(Ordering::Acquire);
            // After a failed sync the kernel may have dropped the pages: no later sync can be believed.
            if self.failed.load(Ordering::Acquire) || self.file.sync_data().is_err() {
                self.failed.store(true, Ordering::Release);
                continue;
            }
            self.durable.fetch_max(through, Ordering::AcqRel);
            for waiter in waiters {
                // An error means that the client has gone.
                let _ = waiter.send(());
            }
        }
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl Drop for Committer {
    fn drop(&mut self) {
        self.shared.queue().stop = true;
        self.shared.wake.notify_one();
        if let Some(thread) = self.thread.take() {
            // A panic of the thread has failed its waiters already.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn every_waiting_caller_is_notified() {
        let committer = Committer::start("test", Arc::new(tempfile::tempfile().unwrap())).unwrap();
        let waiting = (1..=100).map(|seq| committer.through(seq));
        let mut told = 0;
        for wait in waiting {
            told += u32::from(wait.await.is_ok());
        }
        assert_eq!(told, 100);
        assert_eq!(committer.shared.durable.load(Ordering::Acquire), 100);
    }

    #[tokio::test]
    async fn after_a_failed_sync_nothing_is_promised() {
        // The null device takes writes and refuses to sync.
        let committer = Committer::start("test", Arc::new(File::open("/dev/null").unwrap())).unwrap();
        assert!(committer.through(1).await.is_err());
        assert!(committer.through(2).await.is_err());
        assert_eq!(committer.shared.durable.load(Ordering::Acquire), 0);
    }
}
