//! Q7: what was sent twice with one id is taken once, as long as the window of its queue or topic lasts; and no number
//! is given twice.

use kernel::Event;
use kernel::queue::QueueFact;

use super::{Accusations, Checker};
use crate::sighting::Durable;

pub struct OneOfAnId;

impl Checker for OneOfAnId {
    fn id(&self) -> &'static str {
        "Q7"
    }

    fn see_event(&mut self, durable: &Durable<'_>, accusations: &mut Accusations<'_>) {
        let Event::Queue(fact) = durable.event else { return };
        let QueueFact::Sent(sent) = &**fact else { return };
        let Some(stock) = durable.depot.stocks.get(&durable.partition) else { return };
        if stock.sent.contains_key(&sent.no) {
            accusations.accuse(format!("there are two messages with the number {}", sent.no.0));
        }
        let id = &sent.message.id;
        // Others are made by Sortie, and need not be remembered.
        let Some(named) = stock.named.get(&sent.name).filter(|_| id.starts_with('m')) else { return };
        if named.ids.get(id).is_some_and(|at| sent.at.since(*at) < named.window) {
            accusations.accuse(format!("{id} was taken twice by {} within {}", sent.name, named.window));
        }
    }
}
