//! The words of the documents in the one spelling that is stored and returned; every casing is read.

use serde::{Deserialize, Serialize};

macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($variant:ident = $text:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
        pub enum $name {
            $(#[serde(rename = $text)] $variant,)+
        }

        impl $name {
            /// Every spelling, in the order in which messages list them.
            pub const SPELLINGS: &'static [&'static str] = &[$($text),+];

            /// The word that a text says, in any casing.
            pub fn read(text: &str) -> Option<$name> {
                $(if text.eq_ignore_ascii_case($text) {
                    return Some($name::$variant);
                })+
                None
            }

            pub fn as_str(self) -> &'static str {
                match self {
                    $($name::$variant => $text,)+
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}

words! {
    /// What an action does.
    ActionType {
        Http = "Http",
        Https = "Https",
        StorageQueue = "StorageQueue",
        ServiceBusQueue = "ServiceBusQueue",
        ServiceBusTopic = "ServiceBusTopic",
        Workflow = "Workflow",
        Queue = "Queue",
        Topic = "Topic",
        Amqp = "Amqp",
        RabbitMq = "RabbitMq",
        Nats = "Nats",
        Kafka = "Kafka",
    }
}

words! {
    /// How an http action signs in.
    AuthenticationType {
        Basic = "Basic",
        ClientCertificate = "ClientCertificate",
        ActiveDirectoryOAuth = "ActiveDirectoryOAuth",
        NotSpecified = "NotSpecified",
    }
}

words! {
    /// How a service bus action signs in.
    BusAuthenticationType {
        SharedAccessKey = "sharedAccessKey",
        NotSpecified = "notSpecified",
    }
}

words! {
    /// How a message travels to a service bus.
    TransportType {
        NotSpecified = "notSpecified",
        NetMessaging = "netMessaging",
        Amqp = "amqp",
    }
}

words! {
    /// What stands around the message in a storage queue.
    Envelope {
        Xml = "xml",
        None = "none",
    }
}

words! {
    /// How an action is tried again.
    RetryType {
        None = "none",
        Fixed = "fixed",
        Exponential = "exponential",
    }
}

words! {
    /// The unit of a recurrence.
    Frequency {
        Minute = "minute",
        Hour = "hour",
        Day = "day",
        Week = "week",
        Month = "month",
    }
}

words! {
    /// A day of the week.
    WeekDay {
        Sunday = "sunday",
        Monday = "monday",
        Tuesday = "tuesday",
        Wednesday = "wednesday",
        Thursday = "thursday",
        Friday = "friday",
        Saturday = "saturday",
    }
}

words! {
    /// Whether a client wants a job to run.
    Switch {
        Enabled = "enabled",
        Disabled = "disabled",
    }
}

words! {
    /// What becomes of a local time that the clocks leave out.
    Gap {
        End = "end",
        Skip = "skip",
    }
}

words! {
    /// What becomes of a local time that the clocks show twice.
    Repeat {
        First = "first",
        Both = "both",
    }
}

words! {
    /// What becomes of occurrences that nobody could fire in time.
    Missed {
        Latest = "latest",
        All = "all",
        Skip = "skip",
    }
}

words! {
    /// What becomes of an occurrence that is due while another is under way.
    Overlap {
        Skip = "skip",
        Queue = "queue",
        Allow = "allow",
    }
}

words! {
    /// What a collection is entitled to.
    Plan {
        Standard = "Standard",
        Free = "Free",
        P10Premium = "P10Premium",
        P20Premium = "P20Premium",
        Premium = "Premium",
        Sortie = "Sortie",
    }
}

words! {
    /// Where a collection stands.
    CollectionState {
        Enabled = "Enabled",
        Disabled = "Disabled",
        Suspended = "Suspended",
    }
}

words! {
    /// The unit of the shortest period that a collection allows; Azure's ends at the minute.
    QuotaFrequency {
        Second = "second",
        Minute = "minute",
        Hour = "hour",
        Day = "day",
        Week = "week",
        Month = "month",
    }
}

words! {
    /// Which action a record of the history is about.
    ActionName {
        Main = "MainAction",
        Error = "ErrorAction",
    }
}

words! {
    /// How an attempt ended.
    HistoryStatus {
        Completed = "completed",
        Failed = "failed",
        Postponed = "postponed",
    }
}

/// Turns each word into the one of the same name that the kernel knows.
macro_rules! same {
    ($($name:ident { $($variant:ident),+ })+) => {
        $(impl From<$name> for types::$name {
            fn from(word: $name) -> types::$name {
                match word {
                    $($name::$variant => types::$name::$variant,)+
                }
            }
        })+
    };
}

same! {
    Frequency { Minute, Hour, Day, Week, Month }
    WeekDay { Sunday, Monday, Tuesday, Wednesday, Thursday, Friday, Saturday }
    Gap { End, Skip }
    Repeat { First, Both }
    Missed { Latest, All, Skip }
    Overlap { Skip, Queue, Allow }
}

impl ActionType {
    /// The member of an action that says where it goes.
    pub fn target(self) -> &'static str {
        match self {
            ActionType::Http | ActionType::Https => "request",
            ActionType::StorageQueue => "queueMessage",
            ActionType::ServiceBusQueue => "serviceBusQueueMessage",
            ActionType::ServiceBusTopic => "serviceBusTopicMessage",
            ActionType::Workflow => "workflow",
            ActionType::Queue => "queue",
            ActionType::Topic => "topic",
            ActionType::Amqp => "amqp",
            ActionType::RabbitMq => "rabbitMq",
            ActionType::Nats => "nats",
            ActionType::Kafka => "kafka",
        }
    }
}
