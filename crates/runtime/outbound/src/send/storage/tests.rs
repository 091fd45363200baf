//! The envelope and the request of a storage queue.
#![allow(clippy::unwrap_used)]

use types::Span;

use super::*;

const RECORDED: &str =
    include_str!("../../../../../../testdata/azure-scheduler/24_storage_queue_envelope.xml");

fn facts() -> Facts {
    Facts {
        execution_tag: "e927cf76d24da9625608248ce654cfa7".to_owned(),
        expected_at: Ticks(1_441_843_200 * Ticks::PER_SECOND),
        job: "rm-msol-membership".to_owned(),
        collection: "rmmsol".to_owned(),
        region: "West Europe".to_owned(),
    }
}

fn queue(account: &str, sas: Option<&str>) -> StorageQueue {
    let sas = sas.map(|sas| Secret::new(sas.to_owned()));
    let account = StorageQueue::account_url(account);
    StorageQueue { account, queue: "q 1".to_owned(), sas, envelope: None }
}

fn url(queue: &StorageQueue, message: &Message) -> Result<String, String> {
    let request = queue.request(message, Timestamp(1_000_000), &mut Mask::default())?;
    Ok(format!("{}{}", request.url.origin, request.url.path_and_query))
}

#[test]
fn the_envelope_is_the_one_that_azure_wrote() {
    let written = envelope(&facts(), "3c4b84e2-aee5-43ac-913e-c05c8827ac41", "membership");
    assert_eq!(written, RECORDED.trim_end());
}

#[test]
fn all_values_of_an_envelope_are_escaped() {
    let odd = "<a b=\"c\">&amp;'\r\n\t\u{1}\u{ffff}ü</a>";
    let mut facts = facts();
    for value in [&mut facts.execution_tag, &mut facts.job, &mut facts.collection, &mut facts.region] {
        *value = odd.to_owned();
    }
    let written = envelope(&facts, odd, odd);
    let escaped = "&lt;a b=\"c\"&gt;&amp;amp;'&#xD;\n\t&#x1;&#xFFFF;ü&lt;/a&gt;";
    assert_eq!(written.matches(escaped).count(), 6);
    assert_eq!(written.matches("</a>").count(), 0);
}

#[test]
fn an_account_is_a_name_a_host_or_a_url() {
    let message = Message::new("m", "text");
    for (account, expected) in [
        ("acct", "https://acct.queue.core.windows.net:443/q%201/messages?sv=1&sig=x"),
        ("queue.test", "https://queue.test:443/q%201/messages?sv=1&sig=x"),
        (
            "http://127.0.0.1:10001/devstoreaccount1/",
            "http://127.0.0.1:10001/devstoreaccount1/q%201/messages?sv=1&sig=x",
        ),
    ] {
        assert_eq!(url(&queue(account, Some("?sv=1&sig=x")), &message).unwrap(), expected);
    }
    assert_eq!(url(&queue("http://a.test", None), &message).unwrap(), "http://a.test:80/q%201/messages");
}

#[test]
fn time_to_live_and_visibility_timeout_are_sent() {
    let message = Message {
        time_to_live: Some(Span::from_ms(1500)),
        scheduled_at: Some(Timestamp(1_090_001)),
        ..Message::new("m", "text")
    };
    let expected = "http://a.test:80/q%201/messages?messagettl=2&visibilitytimeout=91&sig=x";
    assert_eq!(url(&queue("http://a.test", Some("sig=x")), &message).unwrap(), expected);
    let past = Message { scheduled_at: Some(Timestamp(1)), ..Message::new("m", "text") };
    assert!(!url(&queue("http://a.test", None), &past).unwrap().contains("visibility"));
}

#[test]
fn a_malformed_token_or_name_is_refused_without_quoting_the_token() {
    let message = Message::new("m", "text");
    for sas in ["", "?", "hunter 2", "a#b", "a\\b", "ü"] {
        let error = url(&queue("http://a.test", Some(sas)), &message).unwrap_err();
        assert_eq!(error, "the SAS token is not a query like sv=…&sig=…");
    }
    let elsewhere = StorageQueue { queue: "a/../b".to_owned(), ..queue("http://a.test", None) };
    assert!(url(&elsewhere, &message).unwrap_err().contains("'a/../b'"));
}
