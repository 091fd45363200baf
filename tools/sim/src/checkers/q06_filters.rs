//! Q6: a message reaches the queue that it was sent to, or exactly those subscriptions that want it.

use std::collections::BTreeSet;

use kernel::Event;
use kernel::queue::{QueueFact, QueueNo};

use super::{Accusations, Checker};
use crate::sighting::Durable;

pub struct Filters;

impl Checker for Filters {
    fn id(&self) -> &'static str {
        "Q6"
    }

    fn see_event(&mut self, durable: &Durable<'_>, accusations: &mut Accusations<'_>) {
        let Event::Queue(fact) = durable.event else { return };
        let QueueFact::Sent(sent) = &**fact else { return };
        let stock = durable.depot.stocks.get(&durable.partition);
        let Some(named) = stock.and_then(|stock| stock.named.get(&sent.name)) else {
            return accusations
                .accuse(format!("message {} was sent to {}, which is not there", sent.no.0, sent.name));
        };
        let wanting =
            named.to.iter().filter(|(_, (_, label))| label.is_none() || *label == sent.message.label);
        let wanting: BTreeSet<QueueNo> = wanting.map(|(no, _)| *no).collect();
        let reached: BTreeSet<QueueNo> = sent.to.iter().copied().collect();
        if wanting != reached || reached.len() != sent.to.len() {
            let (no, to) = (sent.no.0, &sent.to);
            accusations.accuse(format!("message {no} is wanted by {wanting:?} and reached {to:?}"));
        }
    }
}
