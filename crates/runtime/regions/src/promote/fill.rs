//! The inboxes of a promoted region continue after the last request that the events have taken.
//!
//! Each mirror lags independently. If the events are ahead of the inbox, new requests would get numbers that the events
//! count as taken, and would never be processed. Empty messages use these numbers up.

use crate::RegionError;
use crate::sites::Sites;
use journal_nats::frame::Message;
use journal_nats::jetstream::JetStreamError;
use journal_nats::{batch, names};

pub(super) async fn fill_inboxes(sites: &Sites, epoch: u64, streams: &[String]) -> Result<(), RegionError> {
    let installation = &sites.settings.installation;
    let inboxes: Vec<String> =
        streams.iter().filter(|stream| names::inbox_of(installation, stream).is_some()).cloned().collect();
    sites.each(&sites.here, &inboxes, |inbox| async move { fill(sites, epoch, &inbox).await }).await
}

async fn fill(sites: &Sites, epoch: u64, inbox: &str) -> Result<(), JetStreamError> {
    let (installation, domain) = (&sites.settings.installation, &sites.here.domain);
    let partition = names::inbox_of(installation, inbox).expect("only inboxes are filled");
    let events = names::events_stream(installation, partition);
    let taken_up = match domain.info(&events).await?.last {
        0 => 0,
        last => {
            let unclear = |why: &str| JetStreamError::invalid(&format!("message {last} of {events}"), why);
            let stored = domain.message(&events, last).await?.ok_or_else(|| unclear("it is not there"))?;
            let (message, _) = Message::decode(&stored.data).map_err(|bad| unclear(&bad.to_string()))?;
            message.inbox
        }
    };
    let mut last = domain.info(inbox).await?.last;
    if last < taken_up {
        tracing::warn!(
            inbox,
            last,
            taken_up,
            "the inbox ends before the last request that its events have taken; filling the gap"
        );
    }
    while last < taken_up {
        let nothing = batch::nothing(partition);
        let subject = names::subject_in(&names::inbox_subject(installation, partition), epoch);
        last = domain.publish(subject, nothing).await?.sequence;
    }
    Ok(())
}
