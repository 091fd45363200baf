//! Q9: a message that is received is, byte by byte, one that was sent to its queue or topic; only the dead are received
//! among the dead.

use std::collections::{BTreeMap, BTreeSet};

use kernel::Event;
use kernel::queue::{MessageNo, QueueFact};

use super::{Checker, Violations};
use crate::observation::{DurableEvent, Observation};
use crate::queue_model::fingerprint;

#[derive(Default)]
pub struct Bodies {
    offered: BTreeMap<String, BTreeSet<u64>>,
    sent: BTreeMap<(String, MessageNo), u64>,
}

impl Checker for Bodies {
    fn id(&self) -> &'static str {
        "Q9"
    }

    fn observe(&mut self, observation: &Observation, violations: &mut Violations<'_>) {
        match observation {
            Observation::MessagesOffered { to, messages } => {
                self.offered
                    .entry(to.clone())
                    .or_default()
                    .extend(messages.iter().map(|(_, message)| message));
            }
            Observation::MessageReceived { at, no, message, .. } => {
                let name = at.split('/').next().unwrap_or(at);
                if self.sent.get(&(name.to_owned(), *no)) != Some(message) {
                    violations.add_violation(format!("message {} of {at} is another than was sent", no.0));
                }
            }
            _ => {}
        }
    }

    fn observe_event(&mut self, durable: &DurableEvent<'_>, violations: &mut Violations<'_>) {
        let Event::Queue(fact) = durable.event else { return };
        let QueueFact::Sent(sent) = &**fact else { return };
        let (name, message) = (sent.name.to_string(), fingerprint(&sent.message));
        if !self.offered.get(&name).is_some_and(|offered| offered.contains(&message)) {
            violations.add_violation(format!("message {} of {name} is one that nobody sent", sent.no.0));
        }
        self.sent.insert((name, sent.no), message);
    }
}
