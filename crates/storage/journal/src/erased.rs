//! A journal whose type is erased: for code that need not be generic over it.

use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::watch;
use types::{Epoch, PartitionId, Seq};

use crate::{AppendError, Capabilities, Claim, Journal, ReadError, Record, Room, Snapshot};

/// Any journal. Cheap to clone. An asynchronous method costs one virtual call and one boxed future.
#[derive(Clone)]
pub struct DynJournal(Arc<dyn Erased>);

impl DynJournal {
    pub fn new<J: Journal>(journal: Arc<J>) -> DynJournal {
        DynJournal(journal)
    }
}

type Boxed<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Calls a macro with the methods of [`Journal`], so that code that forwards all of them need not list them. The
/// names of their types must be in scope where it is called.
#[macro_export]
macro_rules! journal_methods {
    ($implement:ident) => {
        $implement! {
            async fn claim(partition: PartitionId) -> Result<Claim, AppendError>;
            async fn append(partition: PartitionId, epoch: Epoch, expected_tail: Seq, frame: Bytes) -> Result<Seq, AppendError>;
            async fn read(partition: PartitionId, from: Seq, bytes_max: usize) -> Result<Vec<Record>, ReadError>;
            async fn inbox_append(partition: PartitionId, records: Vec<Bytes>) -> Result<Seq, AppendError>;
            async fn inbox_read(partition: PartitionId, from: Seq, bytes_max: usize) -> Result<Vec<Record>, ReadError>;
            async fn snapshot_put(partition: PartitionId, epoch: Epoch, snapshot: Snapshot) -> Result<(), AppendError>;
            async fn snapshot_get(partition: PartitionId) -> Result<Option<Snapshot>, ReadError>;
            async fn trim(partition: PartitionId, epoch: Epoch, events: Seq, inbox: Seq) -> Result<(), AppendError>;
            async fn tables_put(partition: PartitionId, epoch: Epoch, through: Seq, dir: PathBuf) -> Result<(), AppendError>;
            async fn tables_get(partition: PartitionId, through: Seq, dir: PathBuf) -> Result<(), ReadError>;
            fn inbox_tail(partition: PartitionId) -> watch::Receiver<Seq>;
            fn inbox_step() -> u64;
            fn capabilities() -> Capabilities;
            fn room() -> Room;
        }
    };
}

/// Declares the object-safe counterpart of [`Journal`], implements it for every journal, and [`Journal`] for
/// [`DynJournal`] with it. The methods with a default are listed as well: a default would hide the journal's own
/// implementation.
macro_rules! erase {
    (
        $(async fn $async:ident($($arg:ident: $arg_type:ty),*) -> $out:ty;)*
        $(fn $sync:ident($($name:ident: $name_type:ty),*) -> $result:ty;)*
    ) => {
        trait Erased: Send + Sync + 'static {
            $(fn $async(&self, $($arg: $arg_type),*) -> Boxed<'_, $out>;)*
            $(fn $sync(&self, $($name: $name_type),*) -> $result;)*
        }

        impl<J: Journal> Erased for J {
            $(fn $async(&self, $($arg: $arg_type),*) -> Boxed<'_, $out> {
                Box::pin(Journal::$async(self, $($arg),*))
            })*
            $(fn $sync(&self, $($name: $name_type),*) -> $result {
                Journal::$sync(self, $($name),*)
            })*
        }

        impl Journal for DynJournal {
            $(fn $async(&self, $($arg: $arg_type),*) -> impl Future<Output = $out> + Send {
                Erased::$async(&*self.0, $($arg),*)
            })*
            $(fn $sync(&self, $($name: $name_type),*) -> $result {
                Erased::$sync(&*self.0, $($name),*)
            })*
        }
    };
}

journal_methods!(erase);
