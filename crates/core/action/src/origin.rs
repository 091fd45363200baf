//! What a source of a workflow takes its messages from.

use std::fmt;

use types::{QueueName, ServiceName};

use crate::broker::{BrokerOrigin, BrokerType};
use crate::field::{Field, FieldValues};

/// A kind of origin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OriginType {
    /// A built-in queue.
    Queue,
    /// A subscription of a built-in topic.
    Topic,
    Broker(BrokerType),
}

/// A queue or stream whose messages are requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// A built-in queue.
    Queue { queue: QueueName },
    /// A subscription of a built-in topic.
    Subscription { topic: QueueName, subscription: QueueName },
    /// An external broker, reached through a service of the workflow.
    Broker { service: ServiceName, from: BrokerOrigin },
}

const QUEUE_FIELDS: &[Field] = &[Field::name("queue", "queue", "The name of the queue.")];
const TOPIC_FIELDS: &[Field] = &[
    Field::name("topic", "topic", "The name of the topic."),
    Field::name("subscription", "subscription", "The name of the subscription."),
];

impl OriginType {
    /// Every kind, in the order in which messages list them.
    pub fn all() -> impl Iterator<Item = OriginType> {
        let brokers = BrokerType::ALL.into_iter().filter(|broker| broker.spec().origin.is_some());
        [OriginType::Queue, OriginType::Topic].into_iter().chain(brokers.map(OriginType::Broker))
    }

    /// The kind that workflow files call `name`.
    pub fn named(name: &str) -> Option<OriginType> {
        OriginType::all().find(|kind| kind.name() == name)
    }

    /// `type` in workflow files.
    pub fn name(self) -> &'static str {
        match self {
            OriginType::Queue => "queue",
            OriginType::Topic => "topic",
            OriginType::Broker(broker) => broker.spec().name,
        }
    }

    pub fn fields(self) -> &'static [Field] {
        match self {
            OriginType::Queue => QUEUE_FIELDS,
            OriginType::Topic => TOPIC_FIELDS,
            OriginType::Broker(broker) => broker.spec().origin.unwrap_or_default(),
        }
    }

    /// The schemes of the services that it can use; none when it needs no service.
    pub fn schemes(self) -> &'static [&'static str] {
        match self {
            OriginType::Queue | OriginType::Topic => &[],
            OriginType::Broker(broker) => broker.spec().schemes,
        }
    }

    /// What these fields describe at a broker; none for built-in origins, and when a required field is missing.
    pub fn at_broker(self, fields: FieldValues<String>) -> Option<BrokerOrigin> {
        match self {
            OriginType::Queue | OriginType::Topic => None,
            OriginType::Broker(broker) => broker.origin(fields),
        }
    }
}

/// `queue orders of rabbit`: what logs, parked messages and ids of runs call it.
impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Queue { queue } => write!(f, "queue {queue}"),
            Origin::Subscription { topic, subscription } => {
                write!(f, "subscription {subscription} of {topic}")
            }
            Origin::Broker { service, from } => write!(f, "{} of {service}", from.words()),
        }
    }
}
