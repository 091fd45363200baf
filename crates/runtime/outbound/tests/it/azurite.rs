//! A storage queue of Azurite: what a job sent, read back over plain HTTP.

use crate::support::azurite::Azurite;
use crate::support::job::{Jobs, status_and_text};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

const RECORDED: &str = include_str!("../../../../../testdata/azure-scheduler/24_storage_queue_envelope.xml");

#[tokio::test]
async fn a_message_arrives_in_its_envelope_to_the_byte() {
    let azurite = Azurite::start().await;
    azurite.create_queue("orders").await;
    let jobs = Jobs::new();
    let action = |envelope: &str| {
        json!({ "type": "StorageQueue", "queueMessage": {
            "storageAccount": azurite.account_url(), "queueName": "orders", "message": "a < b & \"ü\" 😀",
            "sasToken": jobs.vault.seal(&azurite.sas()), "envelope": envelope } })
    };
    let (status, text) = status_and_text(&jobs.call(&action("xml")).await);
    assert_eq!(status, Some(201), "{text}");
    assert!(!text.contains("sig="), "{text}");
    let sent = azurite.receive("orders").await;
    let id = sent.split("ClientRequestId>").nth(1).unwrap().trim_end_matches("</").to_owned();
    let expected = RECORDED
        .trim_end()
        .replace("3c4b84e2-aee5-43ac-913e-c05c8827ac41", &id)
        .replace("2015-09-10T00:00:00", "2016-03-30T20:39:52")
        .replace("membership</Message>", "a &lt; b &amp; \"ü\" 😀</Message>");
    assert_eq!(sent, expected);

    jobs.call(&action("none")).await;
    assert_eq!(azurite.receive("orders").await, "a < b & \"ü\" 😀");
}

#[tokio::test]
async fn a_refusal_of_azurite_is_reported_without_the_token() {
    let azurite = Azurite::start().await;
    let jobs = Jobs::new();
    let action = |sas: &str| {
        json!({ "type": "StorageQueue", "queueMessage": {
            "storageAccount": azurite.account_url(), "queueName": "missing", "message": "m",
            "sasToken": jobs.vault.seal(sas) } })
    };
    let (status, text) = status_and_text(&jobs.call(&action(&azurite.sas())).await);
    assert_eq!(status, Some(404), "{text}");
    assert!(text.contains("refused: 404") && !text.contains("sig="), "{text}");
    let forged = azurite.sas().replace("sig=", "sig=AAAA");
    let (status, text) = status_and_text(&jobs.call(&action(&forged)).await);
    assert_eq!(status, Some(403), "{text}");
    let signature = forged.split("sig=").nth(1).unwrap().split('&').next().unwrap();
    assert!(!text.contains(signature) && !text.contains(&STANDARD.encode(signature)), "{text}");
}
