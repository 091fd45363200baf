//! File descriptors: how the limit of the process is divided, so that clients cannot use what the disk needs.

use rustix::process::{Resource, getrlimit};

/// For the journal (segments, spares, superblocks, 16 segments that are read), the tables that are being written
/// and merged, directories being synced, name lookups, and what every process has.
const OWN: usize = 64;
/// The fewest of each kind that the process works with.
const LEAST: usize = 8;

/// The file descriptors that each part of the process may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DescriptorBudget {
    /// Connections of clients.
    pub inbound: usize,
    /// Connections to services and targets.
    pub outbound: usize,
    /// Tables of the view that are kept open.
    pub tables: usize,
}

impl DescriptorBudget {
    /// Divides the current limit.
    pub fn of_process() -> DescriptorBudget {
        let limit = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
        let descriptors = DescriptorBudget::of(usize::try_from(limit).unwrap_or(usize::MAX));
        if descriptors.inbound < rest::limits::CONNECTIONS_MAX {
            let DescriptorBudget { inbound, outbound, .. } = descriptors;
            tracing::warn!(
                limit,
                inbound,
                outbound,
                "few file descriptors: they bound the number of connections"
            );
        }
        descriptors
    }

    fn of(limit: usize) -> DescriptorBudget {
        let tables = view::Settings::default().open_files_max.min(limit / 8).max(LEAST);
        let connections = limit.saturating_sub(OWN + tables).max(2 * LEAST);
        let outbound = outbound::limits::CONNECTIONS_TOTAL.min(connections / 3).max(LEAST);
        let inbound = rest::limits::CONNECTIONS_MAX.min(connections - outbound);
        DescriptorBudget { inbound, outbound, tables }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_shares_together_leave_what_the_disk_needs() {
        for limit in [128, 256, 1024, 4096, 65_536, usize::MAX] {
            let DescriptorBudget { inbound, outbound, tables } = DescriptorBudget::of(limit);
            assert!(inbound + outbound + tables + OWN <= limit, "{limit}: {:?}", DescriptorBudget::of(limit));
        }
        assert_eq!(DescriptorBudget::of(256), DescriptorBudget { inbound: 107, outbound: 53, tables: 32 });
        let all = DescriptorBudget { inbound: 10_000, outbound: 16_384, tables: 512 };
        assert_eq!(DescriptorBudget::of(65_536), all);
    }
}
