//! Names and ids. Each is checked once, when it is made, and is valid wherever it is held.

use std::fmt;
use std::sync::Arc;

use serde::de::Visitor;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A name or id that breaks its rule; says which rule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what} {text:?} must be 1 to {chars_max} characters of {allowed}")]
pub struct InvalidName {
    what: &'static str,
    text: String,
    chars_max: usize,
    allowed: &'static str,
}

macro_rules! name {
    ($(#[$doc:meta])* $name:ident, $what:literal, $chars_max:literal, $allowed:literal, $extra:literal) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Arc<str>);

        impl $name {
            /// Checks the text against the rule of this kind of name.
            pub fn new(text: &str) -> Result<Self, InvalidName> {
                let allowed = |c: char| c.is_ascii_alphanumeric() || $extra.contains(c);
                // "." and ".." would change meaning in a URL path.
                let dots = text == "." || text == "..";
                if text.is_empty() || text.len() > $chars_max || dots || !text.chars().all(allowed) {
                    let text = text.chars().take(80).collect();
                    return Err(InvalidName { what: $what, text, chars_max: $chars_max, allowed: $allowed });
                }
                Ok(Self(text.into()))
            }

            /// The name as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl TryFrom<String> for $name {
            type Error = InvalidName;
            fn try_from(text: String) -> Result<Self, InvalidName> {
                Self::new(&text)
            }
        }

        impl std::str::FromStr for $name {
            type Err = InvalidName;
            fn from_str(text: &str) -> Result<Self, InvalidName> {
                Self::new(text)
            }
        }

        impl From<$name> for String {
            fn from(name: $name) -> String {
                name.0.as_ref().to_owned()
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.0)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_str(NameVisitor { what: $what, new: Self::new })
            }
        }
    };
}

/// Reads a name from text that may be borrowed: records hold many names, and each needs one copy only.
struct NameVisitor<N> {
    what: &'static str,
    new: fn(&str) -> Result<N, InvalidName>,
}

impl<N> Visitor<'_> for NameVisitor<N> {
    type Value = N;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a {}", self.what)
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<N, E> {
        (self.new)(text).map_err(E::custom)
    }
}

name!(
    /// The name of a workflow, unique in an installation.
    WorkflowName, "workflow name", 64, "letters, digits, '.', '_' and '-'", "._-"
);
name!(
    /// The name of a step, unique in its workflow.
    StepName, "step name", 64, "letters, digits, '.', '_' and '-'", "._-"
);
name!(
    /// The name of a service, unique in its workflow.
    ServiceName, "service name", 64, "letters, digits, '.', '_' and '-'", "._-"
);
name!(
    /// The id of a run, unique in an installation; the client's own or made by Sortie.
    RunId, "run id", 128, "letters, digits, '.', '_', '~', ':' and '-'", "._~:-"
);
name!(
    /// What decides the partition, and the order of `serial` runs; the run id unless the workflow says otherwise.
    Key, "key", 128, "letters, digits, '.', '_', '~', ':', '-', '@', '/', '+', ',' and space", "._~:-@/+, "
);

name!(
    /// The name of a queue, a topic or a subscription; queues and topics share their names.
    QueueName, "queue name", 128, "letters, digits, '.', '_' and '-'", "._-"
);

impl From<RunId> for Key {
    fn from(id: RunId) -> Key {
        Key(id.0)
    }
}

/// A fingerprint of a request's workflow and body: tells a repeated request from a conflicting one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct BodyHash(pub [u8; 16]);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_keep_their_rules_through_serde() {
        assert!(serde_json::from_str::<RunId>("\"a-1:b\"").is_ok());
        let error = serde_json::from_str::<RunId>("\"a b\"").unwrap_err().to_string();
        assert!(error.contains("run id \"a b\" must be 1 to 128 characters"), "{error}");
    }

    #[test]
    fn names_that_mean_something_to_a_path_are_refused() {
        for text in ["", ".", "..", "a/b", "a%2fb", "a\0", &"x".repeat(65)] {
            assert!(WorkflowName::new(text).is_err(), "{text:?}");
        }
    }
}
