//! What jobs do when they fire, in the members of Azure Scheduler.

use super::build::{
    anything, boolean, described, integer, map_of, object, of, one_of, optional, required, text, time,
};

described! {
    JobAction(c) => object([
        required("type", of::<ActionType>(c)),
        optional("request", of::<JobRequest>(c).or_null()),
        optional("queueMessage", of::<StorageQueueMessage>(c).or_null()),
        optional("serviceBusQueueMessage", of::<ServiceBusQueueMessage>(c).or_null()),
        optional("serviceBusTopicMessage", of::<ServiceBusTopicMessage>(c).or_null()),
        optional("workflow", of::<WorkflowStart>(c).or_null()),
        optional("queue", of::<QueueMessage>(c).or_null()),
        optional("topic", of::<TopicMessage>(c).or_null()),
        optional("amqp", of::<AmqpMessage>(c).or_null()),
        optional("rabbitMq", of::<RabbitMqMessage>(c).or_null()),
        optional("nats", of::<NatsMessage>(c).or_null()),
        optional("kafka", of::<KafkaMessage>(c).or_null()),
        optional("retryPolicy", of::<JobRetryPolicy>(c).or_null()),
        optional("errorAction", of::<JobErrorAction>(c).or_null()),
    ]);

    /// What runs when the action has used up its retries.
    JobErrorAction(c) => object([
        required("type", of::<ActionType>(c)),
        optional("request", of::<JobRequest>(c).or_null()),
        optional("queueMessage", of::<StorageQueueMessage>(c).or_null()),
        optional("serviceBusQueueMessage", of::<ServiceBusQueueMessage>(c).or_null()),
        optional("serviceBusTopicMessage", of::<ServiceBusTopicMessage>(c).or_null()),
        optional("workflow", of::<WorkflowStart>(c).or_null()),
        optional("queue", of::<QueueMessage>(c).or_null()),
        optional("topic", of::<TopicMessage>(c).or_null()),
        optional("amqp", of::<AmqpMessage>(c).or_null()),
        optional("rabbitMq", of::<RabbitMqMessage>(c).or_null()),
        optional("nats", of::<NatsMessage>(c).or_null()),
        optional("kafka", of::<KafkaMessage>(c).or_null()),
        optional("retryPolicy", of::<JobRetryPolicy>(c).or_null()),
    ]);

    JobBrokeredProperties(c) => object([
        optional("contentType", text().or_null()),
        optional("correlationId", text().or_null()),
        optional("forcePersistence", boolean().or_null()),
        optional("label", text().or_null()),
        optional("messageId", text().or_null().describe("The key of the occurrence when absent: the same in every attempt.")),
        optional("partitionKey", text().or_null()),
        optional("replyTo", text().or_null()),
        optional("replyToSessionId", text().or_null()),
        optional("scheduledEnqueueTimeUtc", time().or_null()),
        optional("sessionId", text().or_null()),
        optional("timeToLive", text().or_null().describe("A length of time, like PT1H.")),
        optional("to", text().or_null()),
        optional("viaPartitionKey", text().or_null()),
    ]);

    JobRequest(c) => object([
        required("uri", text().max_length(2048)),
        required("method", text()),
        optional("headers", map_of(text()).or_null().describe("At most 50; names and values at most 4,096 characters together.")),
        optional("body", text().or_null().max_length(8192)),
        optional("authentication", of::<JobAuthentication>(c).or_null()),
    ]);

    /// Basic: username, password. ClientCertificate: pfx, password. ActiveDirectoryOAuth: tenant, audience, clientId, secret.
    JobAuthentication(c) => object([
        required("type", one_of(&["Basic", "ClientCertificate", "ActiveDirectoryOAuth", "NotSpecified"])),
        optional("username", text().or_null()),
        optional("password", text().or_null().write_only()),
        optional("pfx", text().or_null().write_only().describe("A PKCS#12 file in base64.")),
        optional("tenant", text().or_null()),
        optional("audience", text().or_null()),
        optional("clientId", text().or_null()),
        optional("secret", text().or_null().write_only()),
        optional("certificateThumbprint", text().or_null().read_only()),
        optional("certificateExpiration", time().or_null().read_only()),
        optional("certificateSubjectName", text().or_null().read_only()),
    ]);

    JobRetryPolicy(c) => object([
        optional("retryType", one_of(&["none", "fixed", "exponential"]).or_null().default("fixed")),
        optional("retryInterval", text().or_null().describe("A length of time: `30s`, `PT30S` or `00:00:30`.").default("PT30S")),
        optional("retryCount", integer().or_null().minimum(0).default(4)),
        optional("maxRetryInterval", text().or_null().describe("The longest delay of an exponential policy.")),
    ]);

    /// A message for a queue of Azure Storage.
    StorageQueueMessage(c) => object([
        required("storageAccount", text().describe("The name of an account of Azure, its host, or the URL of a server that speaks like it.")),
        required("queueName", text()),
        optional("sasToken", text().or_null().write_only().describe("Sealed when it is stored, and never shown.")),
        required("message", text()),
        optional("envelope", one_of(&["xml", "none"]).or_null()),
    ]);

    /// A message for Service Bus, or for a server that speaks like it.
    ServiceBusQueueMessage(c) => object([
        required("queueName", text()),
        required("namespace", text().describe("The name of a namespace of Azure, its host, or the URL of a server that speaks like it.")),
        required("transportType", one_of(&["notSpecified", "netMessaging", "amqp"])),
        optional("authentication", of::<ServiceBusAuthentication>(c).or_null()),
        required("message", text()),
        optional("brokeredMessageProperties", of::<JobBrokeredProperties>(c).or_null()),
        optional("customMessageProperties", map_of(text()).or_null()),
    ]);

    /// A message for Service Bus, or for a server that speaks like it.
    ServiceBusTopicMessage(c) => object([
        required("topicPath", text()),
        required("namespace", text().describe("The name of a namespace of Azure, its host, or the URL of a server that speaks like it.")),
        required("transportType", one_of(&["notSpecified", "netMessaging", "amqp"])),
        optional("authentication", of::<ServiceBusAuthentication>(c).or_null()),
        required("message", text()),
        optional("brokeredMessageProperties", of::<JobBrokeredProperties>(c).or_null()),
        optional("customMessageProperties", map_of(text()).or_null()),
    ]);

    WorkflowStart(c) => object([
        required("name", text()),
        optional("id", text().or_null().describe("The run's id; made from the occurrence when absent.")),
        optional("body", anything()),
    ]);

    /// A message for a built-in queue.
    QueueMessage(c) => object([
        required("name", text()),
        required("message", text()),
        optional("brokeredMessageProperties", of::<JobBrokeredProperties>(c).or_null()),
        optional("customMessageProperties", map_of(text()).or_null()),
    ]);

    /// A message for a built-in topic.
    TopicMessage(c) => object([
        required("name", text()),
        required("message", text()),
        optional("brokeredMessageProperties", of::<JobBrokeredProperties>(c).or_null()),
        optional("customMessageProperties", map_of(text()).or_null()),
    ]);

    /// A message for a broker that speaks AMQP 1.0.
    AmqpMessage(c) => object([
        required("url", text()),
        required("address", text()),
        optional("username", text().or_null()),
        optional("password", text().or_null().write_only().describe("Sealed when it is stored, and never shown.")),
        required("message", text()),
        optional("brokeredMessageProperties", of::<JobBrokeredProperties>(c).or_null()),
        optional("customMessageProperties", map_of(text()).or_null()),
    ]);

    /// A message for RabbitMQ.
    RabbitMqMessage(c) => object([
        required("url", text()),
        optional("exchange", text().or_null()),
        required("routingKey", text()),
        optional("username", text().or_null()),
        optional("password", text().or_null().write_only().describe("Sealed when it is stored, and never shown.")),
        required("message", text()),
        optional("brokeredMessageProperties", of::<JobBrokeredProperties>(c).or_null()),
        optional("customMessageProperties", map_of(text()).or_null()),
    ]);

    /// A message for NATS.
    NatsMessage(c) => object([
        required("url", text()),
        required("subject", text()),
        optional("stream", boolean().or_null().describe("Whether a stream must confirm it; true when absent.")),
        optional("username", text().or_null()),
        optional("password", text().or_null().write_only().describe("Sealed when it is stored, and never shown.")),
        required("message", text()),
        optional("brokeredMessageProperties", of::<JobBrokeredProperties>(c).or_null()),
        optional("customMessageProperties", map_of(text()).or_null()),
    ]);

    /// A message for Kafka.
    KafkaMessage(c) => object([
        required("servers", text()),
        required("topic", text()),
        optional("key", text().or_null()),
        optional("username", text().or_null()),
        optional("password", text().or_null().write_only().describe("Sealed when it is stored, and never shown.")),
        required("message", text()),
        optional("brokeredMessageProperties", of::<JobBrokeredProperties>(c).or_null()),
        optional("customMessageProperties", map_of(text()).or_null()),
    ]);

    ActionType(c) => one_of(&["Http", "Https", "StorageQueue", "ServiceBusQueue", "ServiceBusTopic", "Workflow", "Queue", "Topic", "Amqp", "RabbitMq", "Nats", "Kafka"]);

    ServiceBusAuthentication(c) => object([
        optional("sasKeyName", text()),
        optional("sasKey", text().or_null().write_only().describe("Sealed when it is stored, and never shown.")),
        optional("type", one_of(&["sharedAccessKey", "notSpecified"])),
    ]);
}
