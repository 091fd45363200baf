//! Where a message goes: a built-in queue or topic, a service of Azure, or an external broker.

use crate::broker::{BrokerDestination, BrokerSpec, BrokerType, JobSpelling};
use crate::field::{Field, FieldValue, FieldValues};

/// A kind of destination.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum DestinationType {
    Queue,
    Topic,
    StorageQueue,
    ServiceBus,
    Broker(BrokerType),
}

/// Where a message goes, without the address and the credentials of the service that takes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Destination<T = String> {
    /// A built-in queue.
    Queue {
        queue: T,
    },
    /// A built-in topic.
    Topic {
        topic: T,
    },
    /// A queue of Azure Storage.
    StorageQueue {
        queue: T,
        /// Whether the message stands in the envelope of Azure Scheduler.
        envelope: bool,
    },
    /// A queue or topic of Azure Service Bus.
    ServiceBus {
        entity: T,
        transport: Transport,
    },
    Broker(BrokerDestination<T>),
}

/// How a message travels to a service bus.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transport {
    Https,
    Amqp,
}

static QUEUE_JOB: JobSpelling =
    JobSpelling { action_type: "Queue", member: "queue", endpoint: None, hints: BUILT_IN_HINTS };
static TOPIC_JOB: JobSpelling =
    JobSpelling { action_type: "Topic", member: "topic", endpoint: None, hints: BUILT_IN_HINTS };
const BUILT_IN_HINTS: &[(&str, &str)] = &[
    ("queueName", "unknown member; a queue of Sortie's own has a name"),
    ("topicPath", "unknown member; a topic of Sortie's own has a name"),
];

const QUEUE_FIELDS: &[Field] = &[Field::name("queue", "name", "The name of the queue.")];
const TOPIC_FIELDS: &[Field] = &[Field::name("topic", "name", "The name of the topic.")];
const STORAGE_FIELDS: &[Field] = &[
    Field::name("queue", "queueName", "The name of the queue."),
    Field::choice(
        "envelope",
        "envelope",
        &["xml", "none"],
        "Whether the message stands in Azure Scheduler's envelope.",
    ),
];
const SERVICE_BUS_FIELDS: &[Field] = &[
    Field::name("queue", "queueName", "The name of the queue.").optional(),
    Field::name("topic", "topicPath", "The path of the topic.").optional(),
    Field::choice("transport", "transportType", &["https", "amqp"], "How the message travels."),
];

impl DestinationType {
    /// Every kind, in the order in which messages list them.
    pub fn all() -> impl Iterator<Item = DestinationType> {
        let own = [
            DestinationType::Queue,
            DestinationType::Topic,
            DestinationType::StorageQueue,
            DestinationType::ServiceBus,
        ];
        own.into_iter().chain(BrokerType::ALL.map(DestinationType::Broker))
    }

    /// The kind that workflow files call `name`.
    pub fn named(name: &str) -> Option<DestinationType> {
        DestinationType::all().find(|kind| kind.name() == name)
    }

    /// `type` in workflow files.
    pub fn name(self) -> &'static str {
        match self {
            DestinationType::Queue => "queue",
            DestinationType::Topic => "topic",
            DestinationType::StorageQueue => "storage_queue",
            DestinationType::ServiceBus => "service_bus",
            DestinationType::Broker(broker) => broker.spec().name,
        }
    }

    pub fn fields(self) -> &'static [Field] {
        match self {
            DestinationType::Queue => QUEUE_FIELDS,
            DestinationType::Topic => TOPIC_FIELDS,
            DestinationType::StorageQueue => STORAGE_FIELDS,
            DestinationType::ServiceBus => SERVICE_BUS_FIELDS,
            DestinationType::Broker(broker) => broker.spec().destination,
        }
    }

    /// The schemes of the services that take its messages; none when it needs no service.
    pub fn schemes(self) -> &'static [&'static str] {
        match self {
            DestinationType::Queue | DestinationType::Topic => &[],
            DestinationType::StorageQueue => &["http", "https"],
            DestinationType::ServiceBus => &["http", "https", "amqp", "amqps"],
            DestinationType::Broker(broker) => broker.spec().schemes,
        }
    }

    /// Whether its messages have properties of the sender's choice, and more than a time to live and a start.
    pub fn has_properties(self) -> bool {
        self != DestinationType::StorageQueue
    }

    /// How job documents spell it. Azure's destinations have documents of their own.
    pub const fn job(self) -> Option<&'static JobSpelling> {
        match self {
            DestinationType::Queue => Some(&QUEUE_JOB),
            DestinationType::Topic => Some(&TOPIC_JOB),
            DestinationType::StorageQueue | DestinationType::ServiceBus => None,
            DestinationType::Broker(broker) => {
                let spec: &'static BrokerSpec = broker.spec();
                Some(&spec.job)
            }
        }
    }

    /// The kinds that job documents spell by their declaration, in the order in which messages list them.
    pub const SPELLED_IN_JOBS: [DestinationType; 2 + BrokerType::ALL.len()] = spelled_in_jobs();

    /// How people call a message for it.
    pub fn title(self) -> &'static str {
        match self {
            DestinationType::Queue => "a built-in queue",
            DestinationType::Topic => "a built-in topic",
            DestinationType::StorageQueue => "a queue of Azure Storage",
            DestinationType::ServiceBus => "Azure Service Bus",
            DestinationType::Broker(broker) => broker.spec().title,
        }
    }

    /// The destination that these fields describe; none when a required one is missing. `transport` is what a service
    /// bus uses when the fields do not say.
    pub fn destination<T>(
        self,
        mut fields: FieldValues<T>,
        transport: Option<Transport>,
    ) -> Option<Destination<T>> {
        Some(match self {
            DestinationType::Queue => Destination::Queue { queue: fields.take_text("queue")? },
            DestinationType::Topic => Destination::Topic { topic: fields.take_text("topic")? },
            DestinationType::StorageQueue => Destination::StorageQueue {
                envelope: fields.take_choice("envelope") == Some("xml"),
                queue: fields.take_text("queue")?,
            },
            DestinationType::ServiceBus => {
                let transport = match fields.take_choice("transport") {
                    Some("https") => Transport::Https,
                    Some(_) => Transport::Amqp,
                    None => transport?,
                };
                let entity = fields.take_text("queue").or_else(|| fields.take_text("topic"))?;
                Destination::ServiceBus { entity, transport }
            }
            DestinationType::Broker(broker) => Destination::Broker(broker.destination(fields)?),
        })
    }
}

const fn spelled_in_jobs() -> [DestinationType; 2 + BrokerType::ALL.len()] {
    let mut all = [DestinationType::Queue; 2 + BrokerType::ALL.len()];
    all[1] = DestinationType::Topic;
    let mut n = 0;
    while n < BrokerType::ALL.len() {
        all[2 + n] = DestinationType::Broker(BrokerType::ALL[n]);
        n += 1;
    }
    all
}

impl<T> Destination<T> {
    pub fn destination_type(&self) -> DestinationType {
        match self {
            Destination::Queue { .. } => DestinationType::Queue,
            Destination::Topic { .. } => DestinationType::Topic,
            Destination::StorageQueue { .. } => DestinationType::StorageQueue,
            Destination::ServiceBus { .. } => DestinationType::ServiceBus,
            Destination::Broker(broker) => DestinationType::Broker(broker.broker_type()),
        }
    }

    /// The fields that are written, in the order of their declaration.
    pub fn fields(&self) -> FieldValues<&T> {
        let fields = FieldValues::default();
        match self {
            Destination::Queue { queue } => fields.with_text("queue", Some(queue)),
            Destination::Topic { topic } => fields.with_text("topic", Some(topic)),
            Destination::StorageQueue { queue, envelope } => {
                fields.with_text("queue", Some(queue)).with_choice("envelope", envelope.then_some("xml"))
            }
            Destination::ServiceBus { entity, transport } => {
                let transport = match transport {
                    Transport::Https => "https",
                    Transport::Amqp => "amqp",
                };
                fields.with_text("queue", Some(entity)).with_choice("transport", Some(transport))
            }
            Destination::Broker(broker) => broker.fields(),
        }
    }

    /// The same destination with each text replaced by what `change` makes of it, by the names of the fields.
    pub fn try_map<U, E>(
        &self,
        change: impl FnMut(&'static str, &T) -> Result<U, E>,
    ) -> Result<Destination<U>, E> {
        let fields = self.fields().try_map(change)?;
        let mapped = self.destination_type().destination(fields, None);
        Ok(mapped.expect("a destination gives back every field that it is made of"))
    }

    /// The place within the service, like `orders` or `exchange/key`.
    pub fn path(&self, show: impl Fn(&T) -> String) -> String {
        match self {
            Destination::Queue { queue: name }
            | Destination::Topic { topic: name }
            | Destination::StorageQueue { queue: name, .. }
            | Destination::ServiceBus { entity: name, .. } => show(name),
            Destination::Broker(broker) => broker.path(show),
        }
    }

    /// Its type and place, like `rabbitmq orders`.
    pub fn label(&self, show: impl Fn(&T) -> String) -> String {
        let place = match self {
            Destination::Broker(broker) => broker.label(show),
            _ => self.path(show),
        };
        format!("{} {place}", self.destination_type().name())
    }

    /// The place as people call it, like `queue orders`.
    pub fn words(&self, show: impl Fn(&T) -> String) -> String {
        match self {
            Destination::Queue { queue } | Destination::StorageQueue { queue, .. } => {
                format!("queue {}", show(queue))
            }
            Destination::Topic { topic } => format!("topic {}", show(topic)),
            Destination::ServiceBus { entity, .. } => show(entity),
            Destination::Broker(broker) => broker.words(show),
        }
    }
}

impl<T> FieldValues<T> {
    /// Whether the field `name` is written.
    pub fn has(&self, name: &str) -> bool {
        self.iter().any(|(known, _)| known == name)
    }

    /// The word that the field `name` chooses.
    pub fn choice(&self, name: &str) -> Option<&'static str> {
        self.iter().find_map(|(known, value)| match value {
            FieldValue::Choice(word) if known == name => Some(*word),
            _ => None,
        })
    }
}
