//! Messages of queues: one row each, written when it is sent and deleted when no queue contains it any more.

use bytes::Bytes;
use types::PartitionId;

use crate::View;
use crate::error::Error;
use crate::keys;

impl View {
    pub fn put_message(&self, partition: PartitionId, no: u64, message: &[u8]) -> Result<(), Error> {
        self.partition(partition)?.put(keys::message(no), message)?;
        self.written();
        Ok(())
    }

    pub fn message(&self, partition: PartitionId, no: u64) -> Result<Option<Bytes>, Error> {
        let partition = self.partition(partition)?;
        let copy = |bytes: &[u8]| Ok(Bytes::copy_from_slice(bytes));
        partition.get("reading a message", &keys::message(no), copy)
    }

    pub fn delete_message(&self, partition: PartitionId, no: u64) -> Result<(), Error> {
        self.partition(partition)?.delete(keys::message(no))
    }
}
