//! In what journals differ, as far as the engine must know.

/// Each caller asks for the one property that it depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capabilities {
    /// Another instance may claim a partition: its owner can be fenced, and a partition that does not run here may run
    /// elsewhere.
    pub has_other_owners: bool,
    /// The tables of a partition's view are stored with its snapshots ([`Journal::tables_put`](crate::Journal::tables_put)),
    /// because its next owner may be on another machine. Tables that an owner finds on its own disk are ignored.
    pub snapshots_carry_tables: bool,
    /// Requests to the journal go over a network: reads are prefetched and claims have a timeout.
    pub is_remote: bool,
    /// All partitions share one log: a quiet partition without a recent snapshot keeps the log from being trimmed.
    pub has_one_log: bool,
}

impl Capabilities {
    /// A journal that one process has for itself.
    pub const LOCAL: Capabilities = Capabilities {
        has_other_owners: false,
        snapshots_carry_tables: false,
        is_remote: false,
        has_one_log: true,
    };

    /// A journal that several instances use over a network, with a log for each partition.
    pub const SHARED: Capabilities = Capabilities {
        has_other_owners: true,
        snapshots_carry_tables: true,
        is_remote: true,
        has_one_log: false,
    };
}
