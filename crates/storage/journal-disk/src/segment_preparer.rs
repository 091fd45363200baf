//! The segment preparer's thread: prepares segments ahead, removes old ones, maintains the reserve. Only a writer
//! that has filled its segment waits for it.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender, SyncSender};
use std::thread::JoinHandle;

use crate::disk::Disk;
use crate::limits::SPACE_LOOK;
use crate::segment::{self, Spare, SpareJob};
use crate::space::Space;

/// A job for the segment preparer.
pub enum SegmentJob {
    Prepare(SpareJob),
    Remove(u32),
}

/// The writer's side.
pub struct SegmentPreparer {
    pub jobs: Sender<SegmentJob>,
    /// One answer for each [`SegmentJob::Prepare`]; after a failure the spare follows when there is space.
    pub spares: Receiver<io::Result<Spare>>,
    pub thread: JoinHandle<()>,
}

impl SegmentPreparer {
    pub fn start(disk: Arc<dyn Disk>, space: Arc<Space>) -> io::Result<SegmentPreparer> {
        let (jobs, asked) = mpsc::channel();
        let (made, spares) = mpsc::sync_channel(2);
        let mut shift = Preparation { disk, space, made, unmade: None, has_spare: false };
        let work = move || {
            loop {
                match asked.recv_timeout(SPACE_LOOK) {
                    Ok(SegmentJob::Prepare(job)) => shift.prepare(job),
                    Ok(SegmentJob::Remove(number)) => shift.remove(number),
                    Err(RecvTimeoutError::Timeout) => shift.try_again(),
                    Err(RecvTimeoutError::Disconnected) => return,
                }
                shift.restore();
            }
        };
        let thread = std::thread::Builder::new().name("journal-segments".to_owned()).spawn(work)?;
        Ok(SegmentPreparer { jobs, spares, thread })
    }
}

struct Preparation {
    disk: Arc<dyn Disk>,
    space: Arc<Space>,
    made: SyncSender<io::Result<Spare>>,
    /// A segment that there was no space for.
    unmade: Option<SpareJob>,
    has_spare: bool,
}

impl Preparation {
    fn prepare(&mut self, job: SpareJob) {
        let spare = job.run(&*self.disk);
        self.has_spare = spare.is_ok();
        self.unmade = spare.is_err().then_some(job);
        if spare.as_ref().is_err_and(segment::is_full) {
            self.space.set_full();
        }
        // A writer that has ended needs no spare.
        let _ = self.made.send(spare);
    }

    /// Prepares a postponed segment once there seems to be space.
    fn try_again(&mut self) {
        let Some(job) = self.unmade else { return };
        if self.disk.free_bytes().is_ok_and(|free| free >= job.size)
            && let Ok(spare) = job.run(&*self.disk)
        {
            self.unmade = None;
            self.has_spare = true;
            // As above.
            let _ = self.made.send(Ok(spare));
        }
    }

    fn restore(&self) {
        if let Err(error) = self.space.restore(&*self.disk, self.has_spare) {
            tracing::warn!(%error, "creating the space reserve failed");
        }
    }

    fn remove(&self, number: u32) {
        if let Err(error) = segment::remove(&*self.disk, number) {
            tracing::warn!(%error, segment = number, "removing an old segment failed; it stays until the next start");
        }
    }
}
