//! The external brokers: how each is named and reached, and what its destinations and origins are made of.
//!
//! A new broker adds a variant to [`BrokerType`], [`BrokerDestination`] and, when it can be a source, to
//! [`BrokerOrigin`]; the compiler names the matches of this file that must know it.

use crate::field::{Field, FieldValues};

/// Declares the kinds of brokers, each with its specification, in the order in which messages list them.
macro_rules! broker_types {
    ($($variant:ident => $spec:ident),+ $(,)?) => {
        /// A kind of external broker.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum BrokerType {
            $($variant,)+
        }

        impl BrokerType {
            /// Every kind, in the order in which messages list them.
            pub const ALL: [BrokerType; [$(stringify!($variant)),+].len()] = [$(BrokerType::$variant),+];

            pub const fn spec(self) -> &'static BrokerSpec {
                match self {
                    $(BrokerType::$variant => &$spec,)+
                }
            }
        }
    };
}

broker_types! {
    Amqp => AMQP,
    RabbitMq => RABBIT_MQ,
    Nats => NATS,
    Kafka => KAFKA,
}

/// What Sortie knows of a kind of broker.
#[derive(Debug)]
pub struct BrokerSpec {
    /// `type` in workflow files.
    pub name: &'static str,
    /// How people call it.
    pub title: &'static str,
    /// The schemes of the URL of its service in workflow files.
    pub schemes: &'static [&'static str],
    /// Whether that URL may name several hosts, with commas between, and no path.
    pub several_hosts: bool,
    /// How job documents spell it.
    pub job: JobSpelling,
    /// What a message is addressed with.
    pub destination: &'static [Field],
    /// What messages are taken from; none when it cannot be a source.
    pub origin: Option<&'static [Field]>,
}

/// How job documents spell a destination.
#[derive(Debug)]
pub struct JobSpelling {
    /// `type` of the action.
    pub action_type: &'static str,
    /// The member of the action that says where the message goes.
    pub member: &'static str,
    /// None for built-in queues and topics.
    pub endpoint: Option<JobEndpoint>,
    /// Names that clients are known to write here, and what to write instead.
    pub hints: &'static [(&'static str, &'static str)],
}

/// The member of a job document that has the address of a broker.
#[derive(Debug)]
pub struct JobEndpoint {
    pub member: &'static str,
    /// The schemes of the address; without them it is `host:port`.
    pub schemes: &'static [&'static str],
    /// One sentence for people, also in the description of the API.
    pub doc: &'static str,
}

/// Where at a broker a message goes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum BrokerDestination<T = String> {
    /// A queue or topic of Service Bus, or an address of any broker that speaks AMQP 1.0.
    Amqp { address: T },
    /// RabbitMQ by AMQP 0-9-1, with publisher confirms. A message that no queue takes counts as refused.
    RabbitMq {
        /// Absent or empty is the default exchange, whose routing keys are queues.
        exchange: Option<T>,
        routing_key: T,
    },
    /// A subject of NATS. Only a stream confirms; without one the server has taken the message, and no more is known.
    Nats {
        subject: T,
        /// Whether a JetStream stream must confirm the message; it must unless this says false.
        stream: Option<bool>,
    },
    Kafka {
        topic: T,
        /// Decides the partition; without one, partitions take turns.
        key: Option<T>,
    },
}

/// What messages are taken from at a broker. Kafka is not among them: its client keeps no offsets.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum BrokerOrigin {
    /// A queue or subscription of Service Bus, or an address of any broker that speaks AMQP 1.0.
    Amqp { address: String },
    /// A queue of RabbitMQ, by AMQP 0-9-1. It must exist.
    RabbitMq { queue: String },
    /// A stream of JetStream. It must exist; its consumer is created when missing.
    Nats {
        stream: String,
        /// Only messages of this subject, which may have wildcards.
        subject: Option<String>,
    },
}

const AMQP_SCHEMES: &[&str] = &["amqp", "amqps"];
const NATS_SCHEMES: &[&str] = &["nats", "tls"];

static AMQP: BrokerSpec = BrokerSpec {
    name: "amqp",
    title: "a broker that speaks AMQP 1.0",
    schemes: AMQP_SCHEMES,
    several_hosts: false,
    job: JobSpelling {
        action_type: "Amqp",
        member: "amqp",
        endpoint: Some(JobEndpoint {
            member: "url",
            schemes: AMQP_SCHEMES,
            doc: "The address of the broker, `amqp://` or `amqps://`.",
        }),
        hints: &[("queueName", "unknown member; the queue is the address")],
    },
    destination: &[Field::name("address", "address", "The queue, topic or other address at the broker.")],
    origin: Some(&[Field::name("address", "address", "The queue, subscription or other address.")]),
};

static RABBIT_MQ: BrokerSpec = BrokerSpec {
    name: "rabbitmq",
    title: "RabbitMQ",
    schemes: AMQP_SCHEMES,
    several_hosts: false,
    job: JobSpelling {
        action_type: "RabbitMq",
        member: "rabbitMq",
        endpoint: Some(JobEndpoint {
            member: "url",
            schemes: AMQP_SCHEMES,
            doc: "The address of the broker, `amqp://` or `amqps://`; a virtual host is its path.",
        }),
        hints: &[("queueName", "unknown member; a queue is the routingKey of the exchange without a name")],
    },
    destination: &[
        Field::text("exchange", "exchange", "The exchange; absent, the default exchange."),
        Field::name("routing_key", "routingKey", "The routing key; a queue at the default exchange."),
    ],
    origin: Some(&[Field::name("queue", "queue", "The queue.")]),
};

static NATS: BrokerSpec = BrokerSpec {
    name: "nats",
    title: "NATS",
    schemes: NATS_SCHEMES,
    several_hosts: true,
    job: JobSpelling {
        action_type: "Nats",
        member: "nats",
        endpoint: Some(JobEndpoint {
            member: "url",
            schemes: NATS_SCHEMES,
            doc: "The addresses of the servers, `nats://` or `tls://`, separated by commas.",
        }),
        hints: &[],
    },
    destination: &[
        Field::name("subject", "subject", "The subject."),
        Field::flag(
            "stream",
            "stream",
            "Whether a JetStream stream must confirm the message; true if absent. Without a stream the server has \
             received it, and no more is known.",
        ),
    ],
    origin: Some(&[
        Field::name("stream", "stream", "The JetStream stream."),
        Field::text("subject", "subject", "Only messages of this subject, which may have wildcards."),
    ]),
};

static KAFKA: BrokerSpec = BrokerSpec {
    name: "kafka",
    title: "Kafka",
    schemes: &["kafka"],
    several_hosts: true,
    job: JobSpelling {
        action_type: "Kafka",
        member: "kafka",
        endpoint: Some(JobEndpoint {
            member: "servers",
            schemes: &[],
            doc: "The servers as `host:port`, separated by commas.",
        }),
        hints: &[("url", "unknown member; kafka has servers, like broker-1:9092,broker-2:9092")],
    },
    destination: &[
        Field::name("topic", "topic", "The topic."),
        Field::text("key", "key", "Decides the partition; absent, partitions take turns."),
    ],
    origin: None,
};

impl BrokerType {
    /// The schemes of all kinds, each once, in the order in which messages list them.
    pub fn schemes() -> Vec<&'static str> {
        let mut schemes = Vec::new();
        for scheme in BrokerType::ALL.iter().flat_map(|broker| broker.spec().schemes) {
            if !schemes.contains(scheme) {
                schemes.push(*scheme);
            }
        }
        schemes
    }

    /// Whether a URL of this scheme may name several hosts.
    pub fn has_several_hosts(scheme: &str) -> bool {
        let of_scheme = |broker: &BrokerType| broker.spec().schemes.contains(&scheme);
        BrokerType::ALL
            .iter()
            .find(|broker| of_scheme(broker))
            .is_some_and(|broker| broker.spec().several_hosts)
    }

    /// The destination that these fields describe; none when a required one is missing.
    pub(crate) fn destination<T>(self, mut fields: FieldValues<T>) -> Option<BrokerDestination<T>> {
        Some(match self {
            BrokerType::Amqp => BrokerDestination::Amqp { address: fields.take_text("address")? },
            BrokerType::RabbitMq => BrokerDestination::RabbitMq {
                exchange: fields.take_text("exchange"),
                routing_key: fields.take_text("routing_key")?,
            },
            BrokerType::Nats => BrokerDestination::Nats {
                subject: fields.take_text("subject")?,
                stream: fields.take_flag("stream"),
            },
            BrokerType::Kafka => {
                BrokerDestination::Kafka { topic: fields.take_text("topic")?, key: fields.take_text("key") }
            }
        })
    }

    /// The origin that these fields describe; none when a required one is missing or it cannot be a source.
    pub(crate) fn origin(self, mut fields: FieldValues<String>) -> Option<BrokerOrigin> {
        match self {
            BrokerType::Amqp => Some(BrokerOrigin::Amqp { address: fields.take_text("address")? }),
            BrokerType::RabbitMq => Some(BrokerOrigin::RabbitMq { queue: fields.take_text("queue")? }),
            BrokerType::Nats => Some(BrokerOrigin::Nats {
                stream: fields.take_text("stream")?,
                subject: fields.take_text("subject"),
            }),
            BrokerType::Kafka => None,
        }
    }
}

impl<T> BrokerDestination<T> {
    pub fn broker_type(&self) -> BrokerType {
        match self {
            BrokerDestination::Amqp { .. } => BrokerType::Amqp,
            BrokerDestination::RabbitMq { .. } => BrokerType::RabbitMq,
            BrokerDestination::Nats { .. } => BrokerType::Nats,
            BrokerDestination::Kafka { .. } => BrokerType::Kafka,
        }
    }

    /// The fields that are written, in the order of their declaration.
    pub(crate) fn fields(&self) -> FieldValues<&T> {
        let fields = FieldValues::default();
        match self {
            BrokerDestination::Amqp { address } => fields.with_text("address", Some(address)),
            BrokerDestination::RabbitMq { exchange, routing_key } => {
                fields.with_text("exchange", exchange.as_ref()).with_text("routing_key", Some(routing_key))
            }
            BrokerDestination::Nats { subject, stream } => {
                fields.with_text("subject", Some(subject)).with_flag("stream", *stream)
            }
            BrokerDestination::Kafka { topic, key } => {
                fields.with_text("topic", Some(topic)).with_text("key", key.as_ref())
            }
        }
    }

    /// The place at the broker, like `orders` or `exchange/key`.
    pub(crate) fn path(&self, show: impl Fn(&T) -> String) -> String {
        match self {
            BrokerDestination::Amqp { address } => show(address),
            BrokerDestination::RabbitMq { exchange, routing_key } => {
                format!("{}/{}", exchange.as_ref().map(&show).unwrap_or_default(), show(routing_key))
            }
            BrokerDestination::Nats { subject, .. } => show(subject),
            BrokerDestination::Kafka { topic, .. } => show(topic),
        }
    }

    /// Like [`BrokerDestination::path`], without what says nothing.
    pub(crate) fn label(&self, show: impl Fn(&T) -> String) -> String {
        match self {
            BrokerDestination::RabbitMq { exchange, routing_key }
                if exchange.as_ref().is_none_or(|exchange| show(exchange).is_empty()) =>
            {
                show(routing_key)
            }
            _ => self.path(show),
        }
    }

    /// The place at the broker as people call it, like `subject orders.created`.
    pub(crate) fn words(&self, show: impl Fn(&T) -> String) -> String {
        match self {
            BrokerDestination::Amqp { address } => show(address),
            BrokerDestination::RabbitMq { exchange, routing_key } => {
                let exchange = exchange.as_ref().map(&show).filter(|exchange| !exchange.is_empty());
                let exchange = exchange.unwrap_or_else(|| "''".to_owned());
                format!("routing key {} of exchange {exchange}", show(routing_key))
            }
            BrokerDestination::Nats { subject, .. } => format!("subject {}", show(subject)),
            BrokerDestination::Kafka { topic, .. } => format!("topic {}", show(topic)),
        }
    }
}

impl BrokerOrigin {
    pub fn broker_type(&self) -> BrokerType {
        match self {
            BrokerOrigin::Amqp { .. } => BrokerType::Amqp,
            BrokerOrigin::RabbitMq { .. } => BrokerType::RabbitMq,
            BrokerOrigin::Nats { .. } => BrokerType::Nats,
        }
    }

    /// What identifies the origin at its broker, always in the same order: names of consumers are made of it.
    pub fn identity(&self) -> Vec<&str> {
        match self {
            BrokerOrigin::Amqp { address } => vec![address],
            BrokerOrigin::RabbitMq { queue } => vec![queue],
            BrokerOrigin::Nats { stream, subject } => vec![stream, subject.as_deref().unwrap_or("")],
        }
    }

    /// The origin as people call it, like `queue orders`.
    pub(crate) fn words(&self) -> String {
        match self {
            BrokerOrigin::Amqp { address } => address.clone(),
            BrokerOrigin::RabbitMq { queue } => format!("queue {queue}"),
            BrokerOrigin::Nats { stream, .. } => format!("stream {stream}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FieldValue;

    #[test]
    fn every_broker_is_listed_and_has_names_of_its_own() {
        let mut names = std::collections::BTreeSet::new();
        for broker in BrokerType::ALL {
            let spec = broker.spec();
            for name in [spec.name, spec.job.action_type] {
                assert!(names.insert(name), "{name} is declared twice");
            }
            assert!(!spec.schemes.is_empty(), "{}: a service has a URL", spec.name);
        }
    }

    #[test]
    fn brokers_that_share_a_scheme_agree_on_the_number_of_hosts() {
        for broker in BrokerType::ALL {
            for scheme in broker.spec().schemes {
                let several = BrokerType::has_several_hosts(scheme);
                assert_eq!(several, broker.spec().several_hosts, "{} at {scheme}", broker.spec().name);
            }
        }
    }

    #[test]
    fn a_destination_is_made_of_its_declared_fields_and_gives_them_back() {
        for broker in BrokerType::ALL {
            let mut fields = FieldValues::default();
            for field in broker.spec().destination {
                fields.push(field, sample(field));
            }
            let made = broker.destination(fields.clone()).expect("every declared field is there");
            assert_eq!(made.broker_type(), broker);
            let back = made.fields().try_map(|_, text| Ok::<_, ()>(text.clone())).unwrap();
            assert_eq!(back, fields, "{}", broker.spec().name);
            assert!(broker.destination(FieldValues::<String>::default()).is_none(), "something is required");
        }
    }

    #[test]
    fn an_origin_is_made_of_its_declared_fields() {
        for broker in BrokerType::ALL {
            let mut fields = FieldValues::default();
            for field in broker.spec().origin.unwrap_or_default() {
                fields.push(field, sample(field));
            }
            let made = broker.origin(fields);
            assert_eq!(made.map(|origin| origin.broker_type()), broker.spec().origin.map(|_| broker));
        }
    }

    fn sample(field: &Field) -> FieldValue<String> {
        match field.kind {
            crate::FieldKind::Flag => FieldValue::Flag(false),
            crate::FieldKind::Choice(words) => FieldValue::Choice(words[0]),
            crate::FieldKind::Name | crate::FieldKind::Text => FieldValue::Text(field.name.to_owned()),
        }
    }
}
