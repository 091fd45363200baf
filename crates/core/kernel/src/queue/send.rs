//! Sending: a queue takes a message, a topic hands it to those subscriptions that want it.

use types::{Message, QueueName, Span, Timestamp};

use super::remembered_ids::RememberedIds;
use super::{Changes, Entity, MessageNo, Queue, QueueFact, QueueNo, QueueRejection, Queues, Sent};

/// Ids that a queue or topic remembers at once; some 100 bytes each.
pub const IDS_MAX: usize = 1_000_000;

/// Bytes of a message: a body as large as that of a request, and 64 KiB of properties.
pub const MESSAGE_BYTES_MAX: usize = (256 + 64) << 10;

/// Bytes of the messages of one send. They go into one frame, which takes 4 MiB.
pub const SEND_BYTES_MAX: usize = 1 << 20;

/// Bytes of a message's id: ids are remembered in memory.
pub const ID_BYTES_MAX: usize = 128;

/// Properties of the sender's own: over HTTP each is a header, and clients read about a hundred.
pub const PROPERTIES_MAX: usize = 64;

/// Bytes of each queue that takes a message, in its event.
pub const HOLDER_BYTES: usize = 10;

/// What became of a message that was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SendResult {
    Taken(MessageNo),
    /// One with its id was sent before.
    Duplicate,
}

impl Queues {
    /// Sends messages to a queue or a topic: all of them, or none. Ids in `remembered` come from the sender; those
    /// that Sortie made need not be remembered.
    pub fn send(
        &mut self,
        now: Timestamp,
        name: &QueueName,
        messages: Vec<(Message, bool)>,
        changes: &mut Changes,
    ) -> Result<Vec<SendResult>, QueueRejection> {
        let routes = self.check_room(now, name, &messages)?;
        let mut results = Vec::with_capacity(messages.len());
        for ((message, remembered), to) in messages.into_iter().zip(routes) {
            let (seen, window) = self.seen_of(name)?;
            let remembered = remembered && window > Span::ZERO;
            if remembered && seen.has(&message.id, now, window) {
                results.push(SendResult::Duplicate);
                continue;
            }
            let no = MessageNo(self.next_message);
            let sent = Sent { no, at: now, name: name.clone(), to, remembered, message };
            self.take(QueueFact::Sent(Box::new(sent)), changes);
            results.push(SendResult::Taken(no));
        }
        Ok(results)
    }

    /// Where each message goes. Refuses before anything is taken: what comes later of the same send must not fail. What
    /// was sent before goes nowhere and needs no room.
    fn check_room(
        &self,
        now: Timestamp,
        name: &QueueName,
        messages: &[(Message, bool)],
    ) -> Result<Vec<Vec<QueueNo>>, QueueRejection> {
        let bytes = check_weights(messages)?;
        let (seen, window) = self.seen_of(name)?;
        let is_new =
            |(message, remember): &&(Message, bool)| !remember || !seen.has(&message.id, now, window);
        let new = messages.iter().filter(is_new).count();
        let new_bytes = messages.iter().filter(is_new).map(|(message, _)| message.weight() as u64).sum();
        let (mut remembered, mut holders, mut routes) = (0, 0, Vec::with_capacity(messages.len()));
        for sent in messages {
            let (message, remember) = sent;
            if !is_new(&sent) {
                routes.push(Vec::new());
                continue;
            }
            remembered += usize::from(*remember);
            let to = self.route(name, message)?;
            holders += to.len();
            for no in &to {
                let queue = &self.queues[no];
                let named = || self.name_of(name, *no);
                if queue.spec.sessions && message.session.is_none() {
                    return Err(QueueRejection::SessionNeeded(named()));
                }
                check_size(queue, named, new, new_bytes)?;
            }
            routes.push(to);
        }
        let with_holders = bytes as usize + holders * HOLDER_BYTES;
        if with_holders > SEND_BYTES_MAX {
            return Err(QueueRejection::TooMuch { bytes: with_holders, bytes_max: SEND_BYTES_MAX });
        }
        if remembered > 0 && seen.len(now, window) + remembered > IDS_MAX {
            return Err(QueueRejection::TooManyIds { name: name.clone(), max: IDS_MAX, window });
        }
        Ok(routes)
    }

    /// The ids that a queue or topic remembers, and for how long.
    pub(super) fn seen_of(&self, name: &QueueName) -> Result<(&RememberedIds, Span), QueueRejection> {
        match self.names.get(name) {
            None => Err(QueueRejection::NotFound(name.clone())),
            Some(Entity::Queue(no)) => {
                let queue = &self.queues[no];
                Ok((&queue.seen, queue.spec.duplicate_window))
            }
            Some(Entity::Topic(topic)) => Ok((&topic.seen, topic.spec.duplicate_window)),
        }
    }

    /// The queue itself, or the subscriptions of the topic that want the message.
    fn route(&self, name: &QueueName, message: &Message) -> Result<Vec<QueueNo>, QueueRejection> {
        match self.names.get(name) {
            None => Err(QueueRejection::NotFound(name.clone())),
            Some(Entity::Queue(no)) => Ok(vec![*no]),
            Some(Entity::Topic(topic)) => {
                let wants = topic.subscriptions.values().filter(|each| each.filter.takes(message));
                Ok(wants.map(|each| each.no).collect())
            }
        }
    }

    fn name_of(&self, name: &QueueName, no: QueueNo) -> String {
        let Some(Entity::Topic(topic)) = self.names.get(name) else { return name.to_string() };
        let found = topic.subscriptions.iter().find(|(_, subscription)| subscription.no == no);
        found.map_or_else(|| name.to_string(), |(own, _)| format!("{name}/subscriptions/{own}"))
    }
}

/// The bytes of all messages, when neither one of them nor all together are too many.
fn check_weights(messages: &[(Message, bool)]) -> Result<u64, QueueRejection> {
    let mut sum = 0;
    for (message, _) in messages {
        let (bytes, bytes_max) = (message.weight(), MESSAGE_BYTES_MAX);
        if bytes > bytes_max {
            return Err(QueueRejection::TooLarge { bytes, bytes_max });
        }
        if message.id.len() > ID_BYTES_MAX {
            return Err(QueueRejection::IdTooLong { bytes_max: ID_BYTES_MAX });
        }
        if message.properties.len() > PROPERTIES_MAX {
            return Err(QueueRejection::TooManyProperties { max: PROPERTIES_MAX });
        }
        sum += bytes;
    }
    if sum > SEND_BYTES_MAX {
        return Err(QueueRejection::TooMuch { bytes: sum, bytes_max: SEND_BYTES_MAX });
    }
    Ok(sum as u64)
}

fn check_size(
    queue: &Queue,
    name: impl FnOnce() -> String,
    messages: usize,
    bytes: u64,
) -> Result<(), QueueRejection> {
    let (held, spec) = (queue.counts(), &queue.spec);
    let fits = held.all() + messages <= spec.messages_max as usize && held.bytes + bytes <= spec.bytes_max;
    if fits {
        return Ok(());
    }
    Err(QueueRejection::Full {
        name: name(),
        messages: held.all(),
        messages_max: spec.messages_max,
        bytes: held.bytes,
        bytes_max: spec.bytes_max,
    })
}
