//! An inbox that is full refuses, loses nothing, and goes on when there is room.

use journal::{AppendError, Journal as _};
use words::{PartitionId, Seq};

use crate::cluster::{bytes, open, requests, settings, shared};

const ONE: PartitionId = PartitionId(0);

#[tokio::test]
async fn a_full_inbox_refuses_and_goes_on_after_a_trim() {
    let mut settings = settings(shared());
    settings.installation.inbox_bytes_max = Some(64 << 10);
    let journal = open(&settings).await;
    let mut accepted = Vec::new();
    let mut last = Seq(0);
    let refused = loop {
        let text = format!("{:0>8000}", accepted.len());
        match journal.inbox_append(ONE, vec![bytes(&text)]).await {
            Ok(number) => last = number,
            Err(error) => break error,
        }
        accepted.push(text);
        assert!(accepted.len() < 100, "the inbox has a limit");
    };
    assert_eq!(refused, AppendError::Full);
    let found = requests(&journal, ONE, Seq(1)).await;
    assert!(found == accepted, "{} of {} are there", found.len(), accepted.len());

    let claim = journal.claim(ONE).await.unwrap();
    journal.append(ONE, claim.epoch, Seq(0), bytes("events have room")).await.unwrap();
    journal.trim(ONE, Seq(1), last.next()).await.unwrap();
    let next = journal.inbox_append(ONE, vec![bytes("next")]).await.unwrap();
    assert!(next > last);
    assert_eq!(requests(&journal, ONE, last.next()).await, ["next"]);
}
