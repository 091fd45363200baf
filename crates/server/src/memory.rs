//! Memory: how much the process may use and how it is divided, so that it refuses requests instead of being killed.

use std::path::{Path, PathBuf};

/// The smallest segment that the settings allow.
const SEGMENT_LEAST: u64 = 16 << 20;

/// The bytes that each part of the process may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MemoryBudget {
    /// Resident memory above which requests are refused; the rest is for runs that were accepted.
    pub admission: u64,
    /// Requests of live runs. A call holds a second copy of its request while it is in flight.
    pub live: u64,
    /// A segment of the journal: at the start one is read whole.
    pub segment: u64,
    /// The newest requests, kept by the journal.
    pub journal_cache: u64,
    pub view_cache: u64,
    /// What the view has not written yet; at most twice this.
    pub view_memtables: u64,
}

impl MemoryBudget {
    /// Divides the memory of this process.
    pub fn of_process() -> MemoryBudget {
        let memory = MemoryBudget::of(limit());
        if memory.journal_cache < journal_disk::Settings::new(1).cache_bytes as u64 {
            let (admission, live) = (memory.admission >> 20, memory.live >> 20);
            tracing::warn!(
                admission,
                live,
                "little memory: fewer requests are accepted at once; figures in MiB"
            );
        }
        memory
    }

    fn of(limit: u64) -> MemoryBudget {
        let view = view::Settings::default();
        MemoryBudget {
            admission: limit / 5 * 2,
            live: limit / 16,
            segment: (limit / 16).max(SEGMENT_LEAST),
            journal_cache: (limit / 32).min(journal_disk::Settings::new(1).cache_bytes as u64),
            view_cache: (limit / 32).min(view.cache_bytes),
            view_memtables: (limit / 16).min(view.memtable_bytes_total),
        }
    }
}

/// The memory of the machine, or the limit of the cgroups of this process.
fn limit() -> u64 {
    let machine = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let groups = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let bounds = bound_files(&groups).into_iter().filter_map(|file| std::fs::read_to_string(file).ok());
    // "max" means that there is no limit.
    let bounds = bounds.filter_map(|text| text.trim().parse().ok());
    bounds.chain(machine_bytes(&machine)).min().unwrap_or(u64::MAX)
}

fn machine_bytes(meminfo: &str) -> Option<u64> {
    let total = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    Some(total.trim().strip_suffix(" kB")?.parse::<u64>().ok()? << 10)
}

/// Where the bounds of a process's groups stand: its own and those of all groups around it. Within a container the
/// path is that of the machine, while its own group is at the root.
fn bound_files(groups: &str) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for line in groups.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(kinds), Some(path)) = (parts.next(), parts.next()) else { continue };
        let (root, name) = match kinds {
            "" => (["/sys/fs/cgroup", "/sys/fs/cgroup/unified"].as_slice(), "memory.max"),
            kinds if kinds.split(',').any(|kind| kind == "memory") => {
                (["/sys/fs/cgroup/memory"].as_slice(), "memory.limit_in_bytes")
            }
            _ => continue,
        };
        for root in root {
            let group = Path::new(root).join(path.trim_start_matches('/'));
            let around = group.ancestors().take_while(|group| group.starts_with(root));
            files.extend(around.map(|group| group.join(name)));
        }
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bounds_of_all_groups_around_are_looked_at() {
        let files = bound_files("5:memory:/a/b\n4:cpu:/a\n0::/c\n");
        let files: Vec<_> = files.iter().map(|file| file.to_str().unwrap()).collect();
        assert_eq!(
            files,
            [
                "/sys/fs/cgroup/memory/a/b/memory.limit_in_bytes",
                "/sys/fs/cgroup/memory/a/memory.limit_in_bytes",
                "/sys/fs/cgroup/memory/memory.limit_in_bytes",
                "/sys/fs/cgroup/c/memory.max",
                "/sys/fs/cgroup/memory.max",
                "/sys/fs/cgroup/unified/c/memory.max",
                "/sys/fs/cgroup/unified/memory.max",
            ]
        );
        assert_eq!(machine_bytes("MemTotal:       24646488 kB\nMemFree: 1 kB\n"), Some(24_646_488 << 10));
    }

    #[test]
    fn all_shares_together_leave_room() {
        let MemoryBudget { admission, live, segment, journal_cache, view_cache, view_memtables } =
            MemoryBudget::of(256 << 20);
        assert!(admission + 2 * live + segment + journal_cache + view_cache + 2 * view_memtables < 256 << 20);
        assert_eq!(MemoryBudget::of(64 << 30).view_cache, view::Settings::default().cache_bytes);
    }
}
