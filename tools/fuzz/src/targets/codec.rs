//! What the journal and the view hold: bytes that can be read are written back to bytes that read the same.

use std::fmt::Debug;

use bytes::Bytes;
use journal::codec::{decode, encode};
use kernel::job::{Collection, JobDefinition, JobProgress};
use kernel::{Accepted, Cause, DropReason, Event, Fact, Request, Run, RunNo, State, Then};
use serde::Serialize;
use serde::de::DeserializeOwned;
use types::{BodyHash, Key, Outcome, RunId, Seq, StepIndex, Timestamp, Work, WorkflowName};

use crate::Target;

pub const TARGET: Target =
    Target { name: "codec", run, seeds, words: &["run-1", "orders", "null"], inputs: 4000 };

fn run(bytes: &[u8]) {
    check::<Vec<Event>>(bytes);
    check::<State>(bytes);
    check::<Request>(bytes);
    check::<Run>(bytes);
    check::<Collection>(bytes);
    check::<JobDefinition>(bytes);
    check::<JobProgress>(bytes);
}

fn check<T: Serialize + DeserializeOwned + PartialEq + Debug>(bytes: &[u8]) {
    let Ok(value) = decode::<T>(bytes) else { return };
    let again = encode(&value);
    assert_eq!(decode::<T>(&again).as_ref(), Ok(&value), "what was read is written and read again");
    assert_eq!(encode(&value), again, "one value, one text");
}

fn seeds() -> Vec<Vec<u8>> {
    let name = |text: &str| RunId::new(text).expect("a valid id");
    let request = Request {
        accepted_at: Timestamp(1_700_000_000_000),
        id: name("run-1"),
        workflow: WorkflowName::new("orders").expect("a valid name"),
        version: 3,
        key: Key::new("k-1").expect("a valid key"),
        body: Bytes::from_static(br#"{"amount": 5}"#),
        body_hash: BodyHash([7; 16]),
        trace: Some("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01".to_owned()),
    };
    let (no, at) = (RunNo(1), Timestamp(5));
    let work = Work::Do(StepIndex(0));
    let outcome = Outcome::Transient { status: Some(503), reason: "busy".to_owned(), retry_after: None };
    let fact = |fact| Event::Run { no, at, fact };
    let events = vec![
        Event::Accepted(Box::new(Accepted { no, inbox: Seq(1), at, request: request.clone() })),
        Event::Dropped { inbox: Seq(2), id: name("run-2"), at, reason: DropReason::Conflict },
        Event::CancelNoted { id: name("run-3"), at, by: "ops".to_owned() },
        fact(Fact::Begun),
        fact(Fact::Started { work, attempt: 1 }),
        fact(Fact::Ended { work, attempt: 1, outcome, then: Then::Retry { at: Timestamp(9) } }),
        fact(Fact::Undoing { cause: Cause::Cancelled { by: "ops".to_owned() } }),
        fact(Fact::Parked { reason: "no".to_owned() }),
        fact(Fact::Completed),
    ];
    vec![encode(&events).to_vec(), encode(&State::default()).to_vec(), encode(&request).to_vec(), vec![1, 0]]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The last one is a list that ends early.
    #[test]
    fn each_of_the_first_three_seeds_is_what_it_was_made_of() {
        let seeds = seeds();
        assert_eq!(decode::<Vec<Event>>(&seeds[0]).unwrap().len(), 9);
        decode::<State>(&seeds[1]).unwrap();
        decode::<Request>(&seeds[2]).unwrap();
    }
}
