//! The small disk of one NATS node, filled by another process and emptied again.

use std::path::Path;

use crate::full::Ballast;
use crate::loop_disk::LoopDisk;
use crate::report::Closing;
use crate::tools;

/// Enough for what a torture writes, and soon full.
const DISK_MIB: u64 = 512;

pub struct FullDisk {
    disk: LoopDisk,
    ballast: Ballast,
}

impl FullDisk {
    /// None where disks cannot be made: the fault is skipped.
    pub fn make(directory: &Path, closing: &mut Closing) -> Option<FullDisk> {
        let disk = tools::loop_disk(directory, DISK_MIB, "a full disk of NATS", closing)?;
        let ballast = Ballast::on(disk.path());
        Some(FullDisk { disk, ballast })
    }

    pub fn path(&self) -> &Path {
        self.disk.path()
    }

    pub fn fill(&self) -> anyhow::Result<()> {
        self.ballast.leave(0)
    }

    pub fn empty(&self) -> anyhow::Result<()> {
        self.ballast.remove()
    }
}
