//! What the machine under us is like: its disk, its memory, its limits.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::Context;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use types::Timestamp;

const SYNC_WRITES_MAX: usize = 200;
const SYNC_TIME_MAX: Duration = Duration::from_secs(2);
const BLOCK_BYTES: usize = 4096;

/// Where a directory is mounted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mount {
    pub point: PathBuf,
    pub file_system: String,
    pub device: String,
    pub options: String,
}

/// What a file system is good for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StorageKind {
    Disk,
    /// Gone with the power, or with the machine.
    Memory,
    /// Layers of a container image.
    Layers,
    /// Syncs depend on another machine, or on a program.
    Network,
}

impl Mount {
    /// The mount that `path` is on.
    pub fn of(path: &Path) -> anyhow::Result<Mount> {
        let path = path.canonicalize().with_context(|| format!("finding {}", path.display()))?;
        let text = std::fs::read_to_string("/proc/self/mountinfo").context("reading /proc/self/mountinfo")?;
        deepest(&text, &path).with_context(|| format!("finding the mount of {}", path.display()))
    }

    pub fn storage(&self) -> StorageKind {
        match self.file_system.as_str() {
            "tmpfs" | "ramfs" => StorageKind::Memory,
            "overlay" | "aufs" | "fuse.fuse-overlayfs" => StorageKind::Layers,
            "nfs" | "nfs4" | "cifs" | "smb3" | "smbfs" | "9p" | "virtiofs" | "ceph" | "lustre" | "afs" => {
                StorageKind::Network
            }
            other if other.starts_with("fuse") => StorageKind::Network,
            _ => StorageKind::Disk,
        }
    }
}

/// The last mount whose point is the longest start of `path`; a later one hides an earlier one.
fn deepest(mountinfo: &str, path: &Path) -> Option<Mount> {
    let mounts = mountinfo.lines().filter_map(parse_mount);
    mounts.filter(|mount| path.starts_with(&mount.point)).max_by_key(|mount| mount.point.as_os_str().len())
}

/// Reads a line like `36 35 98:0 /root /point rw,noatime master:1 - ext4 /dev/vda rw,discard`.
fn parse_mount(line: &str) -> Option<Mount> {
    let (place, source) = line.split_once(" - ")?;
    let mut place = place.split(' ').skip(4);
    let (point, options) = (place.next()?, place.next()?);
    let mut source = source.split(' ');
    Some(Mount {
        point: PathBuf::from(point.replace("\\040", " ")),
        file_system: source.next()?.to_owned(),
        device: source.next()?.to_owned(),
        options: options.to_owned(),
    })
}

/// How long a small write takes until it is on stable storage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SyncLatency {
    pub p50: Duration,
    pub p99: Duration,
}

impl SyncLatency {
    /// Writes and syncs blocks in `directory`, into space that is there already, as the journal does.
    pub fn measure(directory: &Path) -> anyhow::Result<SyncLatency> {
        let probing = || format!("writing in {}", directory.display());
        let file = tempfile::tempfile_in(directory).with_context(probing)?;
        file.write_all_at(&vec![0; BLOCK_BYTES * SYNC_WRITES_MAX], 0).with_context(probing)?;
        file.sync_all().with_context(probing)?;
        let (begun, mut times) = (Instant::now(), Vec::new());
        while times.len() < SYNC_WRITES_MAX && (times.len() < 5 || begun.elapsed() < SYNC_TIME_MAX) {
            times.push(write_block(&file, times.len()).with_context(probing)?);
        }
        times.sort_unstable();
        Ok(SyncLatency { p50: times[times.len() / 2], p99: times[times.len() * 99 / 100] })
    }
}

fn write_block(file: &File, number: usize) -> std::io::Result<Duration> {
    let block = [number as u8 | 1; BLOCK_BYTES];
    let begun = Instant::now();
    file.write_all_at(&block, (number * BLOCK_BYTES) as u64)?;
    file.sync_data()?;
    Ok(begun.elapsed())
}

/// Bytes of memory: in all, and free for use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MachineMemory {
    pub total: u64,
    pub available: u64,
}

impl MachineMemory {
    pub fn read() -> Option<MachineMemory> {
        let text = std::fs::read_to_string("/proc/meminfo").ok()?;
        let field = |name: &str| {
            let line = text.lines().find(|line| line.starts_with(name))?;
            line.split_whitespace().nth(1)?.parse::<u64>().ok().map(|kib| kib * 1024)
        };
        let machine = MachineMemory { total: field("MemTotal:")?, available: field("MemAvailable:")? };
        // A container has less than its machine.
        let limit = std::fs::read_to_string("/sys/fs/cgroup/memory.max").ok();
        let limit = limit.and_then(|text| text.trim().parse::<u64>().ok()).unwrap_or(u64::MAX);
        Some(MachineMemory { total: machine.total.min(limit), available: machine.available.min(limit) })
    }
}

/// Bytes of memory that a process holds.
pub fn resident_bytes(process: u32) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.split_whitespace().next()?.parse::<u64>().ok().map(|kib| kib * 1024)
}

/// The name of the processor.
pub fn processor() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = text.lines().find_map(|line| line.strip_prefix("model name"));
    model.map_or("unknown", |model| model.trim_start_matches([' ', '\t', ':'])).to_owned()
}

/// The number of processors that this process may use.
pub fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// The kernel's name and release.
pub fn kernel() -> String {
    let name = rustix::system::uname();
    format!("{} {}", name.sysname().to_string_lossy(), name.release().to_string_lossy())
}

/// The most files, and so connections, that this process may have open.
pub fn files_max() -> u64 {
    getrlimit(Resource::Nofile).maximum.unwrap_or(u64::MAX)
}

/// Allows this process as many open files as it may have: every connection is one.
pub fn raise_files_limit() {
    let limit = getrlimit(Resource::Nofile);
    // Where it is refused the lower limit stays, and the server counts its connections by it.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
}

/// The time on this machine's clock.
pub fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

/// Bytes as people read them.
pub fn bytes(count: u64) -> String {
    let units = [(1u64 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    match units.iter().find(|(size, _)| count >= *size) {
        Some((size, unit)) => format!("{:.1} {unit}", count as f64 / *size as f64),
        None => format!("{count} B"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "\
22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw,discard
30 22 0:25 / /tmp rw,nosuid - tmpfs tmpfs rw,size=1024k
31 22 0:26 / /srv/my\\040data rw - nfs4 host:/x rw
32 22 0:27 / /tmp rw - overlay overlay rw
";

    #[test]
    fn the_deepest_and_newest_mount_is_found() {
        let find = |path: &str| deepest(MOUNTS, Path::new(path)).unwrap();
        assert_eq!(
            (find("/var/lib").file_system.as_str(), find("/var/lib").storage()),
            ("ext4", StorageKind::Disk)
        );
        assert_eq!(
            (find("/tmp/a").file_system.as_str(), find("/tmp/a").storage()),
            ("overlay", StorageKind::Layers)
        );
        assert_eq!(find("/srv/my data/b").storage(), StorageKind::Network);
        assert_eq!(find("/tmpfoo").point, Path::new("/"));
        assert_eq!(parse_mount(MOUNTS.lines().nth(1).unwrap()).unwrap().storage(), StorageKind::Memory);
    }

    #[test]
    fn a_sync_can_be_measured() {
        let directory = tempfile::tempdir().unwrap();
        let latency = SyncLatency::measure(directory.path()).unwrap();
        assert!(latency.p50 <= latency.p99);
        assert!(SyncLatency::measure(&directory.path().join("absent")).is_err());
    }
}
