//! The words of the documents in the one spelling that is stored and returned; every casing is read.

use action::{DestinationType, JobSpelling};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

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
    /// What becomes of an occurrence that is due while another is in flight.
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

/// What an action does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ActionType {
    Http,
    Https,
    StorageQueue,
    ServiceBusQueue,
    ServiceBusTopic,
    Workflow,
    /// Sends a message to a destination that `action` declares.
    Message(DestinationType),
}

/// The types that are not declared elsewhere, with the members that say where they go.
const TYPES: [(ActionType, &str, &str); 6] = [
    (ActionType::Http, "Http", "request"),
    (ActionType::Https, "Https", "request"),
    (ActionType::StorageQueue, "StorageQueue", "queueMessage"),
    (ActionType::ServiceBusQueue, "ServiceBusQueue", "serviceBusQueueMessage"),
    (ActionType::ServiceBusTopic, "ServiceBusTopic", "serviceBusTopicMessage"),
    (ActionType::Workflow, "Workflow", "workflow"),
];
const DECLARED: [DestinationType; DestinationType::SPELLED_IN_JOBS.len()] = DestinationType::SPELLED_IN_JOBS;

const fn action_spellings() -> [&'static str; TYPES.len() + DECLARED.len()] {
    let mut spellings = [""; TYPES.len() + DECLARED.len()];
    let mut n = 0;
    while n < TYPES.len() {
        spellings[n] = TYPES[n].1;
        n += 1;
    }
    while n < spellings.len() {
        spellings[n] = job_spelling(DECLARED[n - TYPES.len()]).action_type;
        n += 1;
    }
    spellings
}

const fn job_spelling(kind: DestinationType) -> &'static JobSpelling {
    match kind.job() {
        Some(spelling) => spelling,
        None => panic!("every declared type is spelled in jobs"),
    }
}

impl ActionType {
    /// Every spelling, in the order in which messages list them.
    pub const SPELLINGS: &'static [&'static str] = &action_spellings();

    /// Every type, in that order.
    pub fn all() -> impl Iterator<Item = ActionType> {
        TYPES.iter().map(|(kind, ..)| *kind).chain(DECLARED.map(ActionType::Message))
    }

    /// The type that a text says, in any casing.
    pub fn read(text: &str) -> Option<ActionType> {
        ActionType::all().find(|kind| kind.as_str().eq_ignore_ascii_case(text))
    }

    pub fn as_str(self) -> &'static str {
        self.spelled().0
    }

    /// The member of an action that says where it goes.
    pub fn target(self) -> &'static str {
        self.spelled().1
    }

    fn spelled(self) -> (&'static str, &'static str) {
        match self {
            ActionType::Message(kind) => {
                let spelling = job_spelling(kind);
                (spelling.action_type, spelling.member)
            }
            _ => {
                let known = TYPES.iter().find(|(kind, ..)| *kind == self);
                known.map(|(_, spelling, member)| (*spelling, *member)).expect("every other type is listed")
            }
        }
    }
}

impl std::fmt::Display for ActionType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for ActionType {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for ActionType {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<ActionType, D::Error> {
        let text = std::borrow::Cow::<str>::deserialize(deserializer)?;
        let known = ActionType::all().find(|kind| kind.as_str() == text);
        known.ok_or_else(|| serde::de::Error::unknown_variant(&text, ActionType::SPELLINGS))
    }
}
