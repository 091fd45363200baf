//! Bodies of requests, and short replies, that handlers read and write member by member.

use api_types::{FilterView, PartitionView, ServiceView};

use super::build::{
    anything_named, boolean, described, integer, list_of, object, of, one_of, optional, required, text,
};

described! {
    PartitionList(c) => object([
        required("items", list_of(of::<PartitionView>(c))),
    ]);

    DeadLetterReason(c) => object([
        optional("reason", text().max_length(1024)),
        optional("description", text().max_length(1024)),
    ]).closed();

    QueueDraft(c) => object([
        optional("lock", text().describe("How long a message stays with its consumer: 1s to 1h. A whole number and ms, s, m, h or d.").pattern("^(([1-9][0-9]{0,2}|[12][0-9]{3}|3[0-5][0-9]{2}|3600)s|([1-9]|[1-5][0-9]|60)m|1h)$").default("60s")),
        optional("time_to_live", text().or_null().pattern("^[1-9][0-9]{0,2}(s|m|h|d)$").describe("How long a message waits at most; 1s or more.")),
        optional("deliveries_max", integer().minimum(1).maximum(2000).default(10).describe("How often a message is delivered before it becomes a dead letter.")),
        optional("dead_letter_expired", boolean().default(false).describe("Whether a message that was not received in time becomes a dead letter.")),
        optional("duplicate_window", text().describe("How long an id is remembered, so that a second message with it is dropped: 0s to 7d. A whole number and ms, s, m, h or d.").pattern("^([0-9]{1,5}s|[0-9]{1,4}m|([0-9]{1,2}|1[0-5][0-9]|16[0-8])h|[0-7]d)$").default("10m")),
        optional("sessions", boolean().default(false).describe("Whether each session is handled in order, by one consumer at a time. Fixed when it is created.")),
        optional("messages_max", integer().minimum(1).maximum(10000000).default(1000000).describe("Messages that it may contain, dead letters included.")),
        optional("bytes_max", integer().minimum(1048576).maximum(1099511627776).default(1073741824).describe("Bytes that it may contain.")),
    ]).closed();

    RedriveDraft(c) => object([
        optional("max", integer().minimum(1).maximum(u32::MAX.into()).describe("At most so many; all when absent.")),
    ]).closed();

    PurgeDraft(c) => object([
        optional("max", integer().minimum(1).maximum(u32::MAX.into()).describe("At most so many; all when absent.")),
        optional("sub_queue", of::<SubQueueName>(c)),
    ]).closed();

    /// Among which messages: `dead` are the dead letters.
    SubQueueName(c) => one_of(&["main", "dead"]);

    Readiness(c) => object([
        required("ready", boolean()),
        optional("reason", text().describe("Why it is not ready: `unheard`, NATS has no recent heartbeat of this instance; `ending`, it hands over its partitions. There may be more.")),
        optional("detail", text().describe("The reason in words.")),
        required("disk_accepts", boolean().describe("Whether the disk has room for more requests.")),
        required("stopped", list_of(of::<StoppedPartition>(c))),
    ]);

    StoppedPartition(c) => object([
        required("partition", integer()),
        required("reason", text()),
    ]);

    ServiceList(c) => object([
        required("items", list_of(of::<ServiceView>(c))),
    ]);

    SubscriptionDraft(c) => object([
        optional("lock", text().describe("How long a message stays with its consumer: 1s to 1h. A whole number and ms, s, m, h or d.").pattern("^(([1-9][0-9]{0,2}|[12][0-9]{3}|3[0-5][0-9]{2}|3600)s|([1-9]|[1-5][0-9]|60)m|1h)$").default("60s")),
        optional("time_to_live", text().or_null().pattern("^[1-9][0-9]{0,2}(s|m|h|d)$").describe("How long a message waits at most; 1s or more.")),
        optional("deliveries_max", integer().minimum(1).maximum(2000).default(10).describe("How often a message is delivered before it becomes a dead letter.")),
        optional("dead_letter_expired", boolean().default(false).describe("Whether a message that was not received in time becomes a dead letter.")),
        optional("sessions", boolean().default(false).describe("Whether each session is handled in order, by one consumer at a time. Fixed when it is created.")),
        optional("messages_max", integer().minimum(1).maximum(10000000).default(1000000).describe("Messages that it may contain, dead letters included.")),
        optional("bytes_max", integer().minimum(1048576).maximum(1099511627776).default(1073741824).describe("Bytes that it may contain.")),
        optional("filter", of::<FilterView>(c)),
    ]).closed();

    TopicDraft(c) => object([
        optional("time_to_live", text().or_null().pattern("^[1-9][0-9]{0,2}(s|m|h|d)$").describe("How long a message waits at most; 1s or more.")),
        optional("duplicate_window", text().describe("How long an id is remembered, so that a second message with it is dropped: 0s to 7d. A whole number and ms, s, m, h or d.").pattern("^([0-9]{1,5}s|[0-9]{1,4}m|([0-9]{1,2}|1[0-5][0-9]|16[0-8])h|[0-7]d)$").default("10m")),
    ]).closed();

    /// A definition, as docs/reference/workflow.md has it.
    DefinitionDocument = "Definition" (c) => anything_named();

    Checked(c) => object([
        required("name", text()),
        required("valid", boolean()),
    ]);
}
