//! The sync of a group: the moment at which its frames become durable.

use std::io;

use super::Log;
use crate::settings::Sync;

impl Log {
    /// Writes the group in the buffer and syncs it. Nothing in it is acknowledged or visible to readers before this returns.
    pub(super) fn write_and_sync(&mut self, segment_before: u32) -> Result<(), (&'static str, io::Error)> {
        let active = &mut self.active;
        active.file.write_at(&self.buffer, active.position).map_err(|error| ("writing", error))?;
        if self.sync == Sync::Data {
            active.file.sync_data().map_err(|error| ("syncing", error))?;
        }
        active.position += self.buffer.len() as u64;
        if active.number != segment_before {
            // Before any record in the new segment is acknowledged: the loss of its file must be detected.
            self.store_superblock().map_err(|error| ("syncing the superblock for", error))?;
        }
        Ok(())
    }

    pub(super) fn store_superblock(&mut self) -> io::Result<()> {
        self.superblock.segment = self.active.number;
        self.superblock.durable_through = self.lsn;
        self.superblock.store(&*self.disk)
    }
}
