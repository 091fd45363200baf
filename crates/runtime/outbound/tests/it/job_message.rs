//! Attempts of actions that send a message: what arrives, and what the history says.

use crate::support::job::{Jobs, answer, recording_server, status_and_text};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use outbound::{ActionPart, PostTarget};
use serde_json::{Value, json};
use types::{Message, Outcome, Property, Span, Timestamp};
use vault::{SasToken, Secret};

const KEY: &str = "e927cf76d24da9625608248ce654cfa7";
const SAS: &str = "?sv=2020-10-02&sp=a&sig=hunter2%2Bhunter2%3D";
const RECORDED: &str = include_str!("../../../../../testdata/azure-scheduler/24_storage_queue_envelope.xml");

fn storage_queue(jobs: &Jobs, account: &str) -> Value {
    json!({ "type": "StorageQueue", "queueMessage": {
        "storageAccount": account, "queueName": "orders", "sasToken": jobs.vault.seal(SAS),
        "message": "membership" } })
}

fn bus_queue(jobs: &Jobs, namespace: &str) -> Value {
    json!({ "type": "ServiceBusQueue", "serviceBusQueueMessage": {
        "queueName": "orders", "namespace": namespace, "transportType": "netMessaging", "message": "text",
        "authentication": { "sasKeyName": "root", "sasKey": jobs.vault.seal("hunter2"), "type": "sharedAccessKey" },
        "brokeredMessageProperties": { "label": "l", "contentType": "application/json", "to": "" },
        "customMessageProperties": { "Tenant": "eu" } } })
}

fn header<'a>(request: &'a str, name: &str) -> &'a str {
    let prefix = format!("{name}: ");
    request.lines().find_map(|line| line.strip_prefix(prefix.as_str())).unwrap_or_else(|| panic!("{request}"))
}

/// The text of a message on its way to a storage queue.
fn message_text(request: &str) -> String {
    let body = request.split_once("\r\n\r\n").unwrap().1;
    let text = body.strip_prefix("<QueueMessage><MessageText>").unwrap();
    let text = text.strip_suffix("</MessageText></QueueMessage>").unwrap();
    String::from_utf8(STANDARD.decode(text).unwrap()).unwrap()
}

#[tokio::test]
async fn a_storage_queue_gets_the_envelope_that_azure_sent() {
    let (server, mut requests) =
        recording_server(&[&answer("201 Created", "", "<QueueMessagesList/>")]).await;
    let jobs = Jobs::new();
    let action = storage_queue(&jobs, &format!("http://{}/acct", server.address));
    let outcome = jobs.call(&action).await;
    let request = requests.recv().await.unwrap();
    assert!(request.starts_with(&format!("POST /acct/orders/messages{SAS} HTTP/1.1\r\n")), "{request}");
    let sent = message_text(&request);
    let id = sent.split("ClientRequestId>").nth(1).unwrap().trim_end_matches("</").to_owned();
    assert_eq!(id.len(), 36);
    let expected = RECORDED
        .trim_end()
        .replace("3c4b84e2-aee5-43ac-913e-c05c8827ac41", &id)
        .replace("2015-09-10T00:00:00", "2016-03-30T20:39:52");
    assert_eq!(sent, expected);
    let message =
        format!("StorageQueue Action - Message '{KEY}' to queue 'orders' at '{}' sent", server.address);
    let output = json!({ "status": 201, "message": message }).to_string().into();
    assert_eq!(outcome, Outcome::Done { status: 201, output });
}

#[tokio::test]
async fn a_storage_queue_gets_the_text_alone_when_asked_for() {
    let (server, mut requests) = recording_server(&[&answer("201 Created", "", "")]).await;
    let jobs = Jobs::new();
    let mut action = storage_queue(&jobs, &format!("http://{}", server.address));
    action["queueMessage"]["envelope"] = json!("none");
    jobs.call(&action).await;
    assert_eq!(message_text(&requests.recv().await.unwrap()), "membership");
}

#[tokio::test]
async fn the_token_of_a_storage_queue_is_never_revealed() {
    let jobs = Jobs::new();
    let quoted = format!("<Error>{} sig=hunter2+hunter2= failed</Error>", &SAS[1..]);
    for status in ["403 Forbidden", "500 Internal Server Error"] {
        let (server, _requests) = recording_server(&[&answer(status, "", &quoted)]).await;
        let outcome = jobs.call(&storage_queue(&jobs, &format!("http://{}", server.address))).await;
        assert!(matches!(outcome, Outcome::Transient { status: Some(_), .. }), "{outcome:?}");
        let (_, text) = status_and_text(&outcome);
        assert!(text.contains("<Error>*** sig=*** failed</Error>") && !text.contains("hunter2"), "{text}");
    }
    let outcome = jobs.call(&storage_queue(&jobs, "http://127.0.0.1:1")).await;
    let (_, text) = status_and_text(&outcome);
    assert!(text.contains("not sent: ") && !text.contains("hunter2"), "{text}");
}

#[tokio::test]
async fn a_service_bus_gets_a_signed_message_with_its_properties() {
    let (server, mut requests) = recording_server(&[&answer("201 Created", "", "")]).await;
    let jobs = Jobs::new();
    let outcome = jobs.call(&bus_queue(&jobs, &format!("http://{}", server.address))).await;
    let request = requests.recv().await.unwrap();
    assert!(request.starts_with("POST /orders/messages HTTP/1.1\r\n"), "{request}");
    assert!(request.ends_with("\r\n\r\ntext"), "{request}");
    let token = SasToken::parse(header(&request, "authorization")).unwrap();
    assert_eq!(token.key_name(), "root");
    let now = host::Clock::start().now();
    assert_eq!(token.verify(&Secret::new("hunter2".to_owned()), now), Ok(()));
    assert!(token.verify(&Secret::new("hunter2".to_owned()), Timestamp(now.0 + 3_700_000)).is_err());
    assert!(token.covers("/orders/messages") && !token.covers("/others/messages"));
    assert_eq!(header(&request, "content-type"), "application/json");
    assert_eq!(header(&request, "tenant"), "\"eu\"");
    let properties: Value = serde_json::from_str(header(&request, "brokerproperties")).unwrap();
    assert_eq!(properties, json!({ "MessageId": KEY, "Label": "l" }));
    let expected =
        format!("ServiceBusQueue Action - Message '{KEY}' to 'orders' at '{}' sent", server.address);
    assert_eq!(status_and_text(&outcome), (Some(201), expected));
}

#[tokio::test]
async fn a_service_bus_that_says_no_is_tried_again_by_the_jobs_policy() {
    let jobs = Jobs::new();
    for (status, wish) in
        [("401 Unauthorized", None), ("410 Gone", None), ("503 Busy", Some(Span::from_secs(9)))]
    {
        let (server, _requests) = recording_server(&[&answer(status, "retry-after: 9\r\n", "hunter2")]).await;
        let outcome = jobs.call(&bus_queue(&jobs, &format!("http://{}", server.address))).await;
        let Outcome::Transient { status: Some(_), reason, retry_after } = outcome else {
            panic!("{outcome:?}")
        };
        assert_eq!(retry_after, wish, "{status}");
        assert!(reason.ends_with(": ***") && !reason.contains("hunter2"), "{reason}");
    }
}

#[tokio::test]
async fn all_attempts_carry_one_id_unless_the_action_names_its_own() {
    let (server, mut requests) = recording_server(&[&answer("500 X", "", "")]).await;
    let jobs = Jobs::new();
    let mut action = bus_queue(&jobs, &format!("http://{}", server.address));
    for attempt in 1..=2 {
        jobs.attempt(&action, ActionPart::Main, attempt).await.unwrap();
        assert!(requests.recv().await.unwrap().contains(&format!("\"MessageId\":\"{KEY}\"")));
    }
    action["serviceBusQueueMessage"]["brokeredMessageProperties"]["messageId"] = json!("mine");
    jobs.call(&action).await;
    assert!(requests.recv().await.unwrap().contains("\"MessageId\":\"mine\""));
}

#[tokio::test]
async fn a_queue_of_our_own_gets_the_whole_message() {
    let jobs = Jobs::new();
    let content = json!({ "name": "orders", "message": "text", "brokeredMessageProperties": {
        "contentType": "text/plain", "correlationId": "c", "forcePersistence": true, "label": "l", "messageId": "m",
        "partitionKey": "p", "replyTo": "r", "replyToSessionId": "rs",
        "scheduledEnqueueTimeUtc": "2026-03-01T12:00:00.5Z", "sessionId": "s", "timeToLive": "PT1H", "to": "t",
        "viaPartitionKey": "v" }, "customMessageProperties": { "a": "b" } });
    let text = |text: &str| Some(text.to_owned());
    let expected = Message {
        content_type: text("text/plain"),
        correlation_id: text("c"),
        label: text("l"),
        partition_key: text("p"),
        reply_to: text("r"),
        reply_to_session: text("rs"),
        session: text("s"),
        to: text("t"),
        via_partition_key: text("v"),
        force_persistence: Some(true),
        time_to_live: Some(Span::from_secs(3600)),
        scheduled_at: Some(Timestamp(1_772_366_400_500)),
        properties: [("a".to_owned(), Property::from("b"))].into(),
        ..Message::new("m", "text")
    };
    let outcome = jobs.call(&json!({ "type": "Queue", "queue": content })).await;
    assert_eq!(
        status_and_text(&outcome),
        (Some(201), "Queue Action - Message 'm' to queue 'orders' sent".to_owned())
    );
    let main = json!({ "type": "Http", "errorAction": { "type": "Topic", "topic": content } });
    jobs.attempt(&main, ActionPart::Error, 1).await.unwrap();
    let posted = std::mem::take(&mut *jobs.posted.0.lock().unwrap());
    let topic = (PostTarget::Topic("orders".to_owned()), expected.clone());
    assert_eq!(posted, [(PostTarget::Queue("orders".to_owned()), expected), topic]);
}

#[tokio::test]
async fn a_queue_of_our_own_that_does_not_take_it_is_a_failed_attempt() {
    let jobs = Jobs::new();
    let call = |name| json!({ "type": "Queue", "queue": { "name": name, "message": "" } });
    let reason = format!("Queue Action - Message '{KEY}' to queue 'unknown' refused: no queue has this name");
    let refused = Outcome::Transient { status: None, reason, retry_after: None };
    assert_eq!(jobs.call(&call("unknown")).await, refused);
    let reason = format!("Queue Action - Message '{KEY}' to queue 'full' not sent: the queue is full");
    let later = Outcome::Transient { status: None, reason, retry_after: Some(Span::from_secs(7)) };
    assert_eq!(jobs.call(&call("full")).await, later);
}

#[tokio::test]
async fn a_secret_that_cannot_be_opened_is_named_and_not_revealed() {
    let jobs = Jobs::new();
    let mut action = storage_queue(&jobs, "acct");
    action["queueMessage"]["sasToken"] = json!("hunter2");
    let (_, text) = status_and_text(&jobs.call(&action).await);
    assert!(
        text.starts_with("StorageQueue Action - Message not sent: the SAS token cannot be unsealed"),
        "{text}"
    );
    let broker = json!({ "type": "Kafka", "kafka": { "servers": "a.test:9092", "topic": "t", "message": "m",
        "username": "u", "password": "hunter2" } });
    let (_, text) = status_and_text(&jobs.call(&broker).await);
    assert!(text.contains("the password cannot be unsealed") && !text.contains("hunter2"), "{text}");
}
