//! The few file operations that the journal needs, so that a simulated disk can replace the real one.

mod real;

use std::io;
use std::sync::Arc;

pub use real::RealDisk;

/// A directory of files. Paths are relative to it, with `/` between names.
///
/// Nothing is durable before it is synced: bytes and length by [`DiskFile::sync_data`], names by
/// [`Disk::sync_dir`] of their directory (`""` is the root).
pub trait Disk: Send + Sync + 'static {
    /// The path of the directory, for messages.
    fn place(&self) -> String;
    /// Creates a directory if it does not exist.
    fn create_dir(&self, path: &str) -> io::Result<()>;
    /// Creates a file, or truncates an existing one.
    fn create(&self, path: &str) -> io::Result<Arc<dyn DiskFile>>;
    /// Opens a file that exists.
    fn open(&self, path: &str) -> io::Result<Arc<dyn DiskFile>>;
    /// The names in a directory, in order; none if the directory does not exist.
    fn list(&self, dir: &str) -> io::Result<Vec<String>>;
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;
    fn remove(&self, path: &str) -> io::Result<()>;
    fn sync_dir(&self, dir: &str) -> io::Result<()>;
    /// Bytes that can still be written.
    fn free_bytes(&self) -> io::Result<u64>;
    /// A number that no other installation has.
    fn unique(&self) -> u128;
}

/// One open file.
pub trait DiskFile: Send + Sync {
    fn size(&self) -> io::Result<u64>;
    /// Fills the buffer or fails.
    fn read_at(&self, buffer: &mut [u8], at: u64) -> io::Result<()>;
    fn write_at(&self, bytes: &[u8], at: u64) -> io::Result<()>;
    /// Grows the file to `len` bytes of zeros and allocates the space for them.
    fn allocate(&self, len: u64) -> io::Result<()>;
    /// Makes bytes and length durable. After an error the state of both is unknown.
    fn sync_data(&self) -> io::Result<()>;
}
