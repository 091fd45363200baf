//! Kafka, at the stand-in of librdkafka; and what is said where it is left out.

use action::BrokerDestination;
use brokers::{Endpoint, MessageTarget, SendError};
use types::Message;

use crate::shared::{PATIENCE, brokers};

fn to(servers: &str, topic: &str, key: Option<&str>) -> MessageTarget {
    Endpoint::new(servers.to_owned(), None)
        .target(BrokerDestination::Kafka { topic: topic.to_owned(), key: key.map(str::to_owned) })
}

#[cfg(not(feature = "kafka"))]
#[tokio::test]
async fn a_build_without_kafka_says_how_to_build_it_in() {
    let sent = brokers().send(&to("127.0.0.1:1", "any", None), &Message::new("1", "x"), PATIENCE).await;
    let told = "Kafka is not part of this build; build with `--features kafka` to send there";
    assert_eq!(sent, Err(SendError::Refused(told.to_owned())));
}

#[cfg(feature = "kafka")]
mod built_in {
    use std::collections::BTreeSet;
    use std::sync::Arc;

    use brokers::Brokers;
    use serde_json::json;
    use test_brokers::KafkaMock;

    use super::*;
    use crate::shared::{Nowhere, full, received, send_crowd};

    #[tokio::test(flavor = "multi_thread")]
    async fn what_was_sent_is_received_by_the_client_of_confluent_with_every_property() {
        let peer = KafkaMock::start().unwrap();
        let brokers = brokers();
        brokers
            .send(&to(peer.servers(), "orders", Some("customer-3")), &full("m-1"), PATIENCE)
            .await
            .unwrap();
        let expected = json!({
            "body": "00ff610a80",
            "key": "customer-3",
            "headers": {
                "x-message-id": "m-1",
                "city": "Zürich", "count": "42", "share": "0.25", "urgent": "true",
                "x-content-type": "application/octet-stream", "x-correlation-id": "order-7",
                "x-label": "order.created", "x-reply-to": "answers", "x-time-to-live-ms": "3600000",
                "x-partition-key": "customer-3", "x-reply-to-session": "answers-3", "x-session": "customer-3",
                "x-to": "warehouse", "x-via-partition-key": "via-3", "x-scheduled-at-ms": "1700000000000",
            },
        });
        assert_eq!(received("kafka", peer.servers(), "orders", 1).await, [expected]);

        send_crowd(&brokers, &to(peer.servers(), "crowd", None), 500).await;
        let got = received("kafka", peer.servers(), "crowd", 500).await;
        let ids: BTreeSet<&str> =
            got.iter().filter_map(|one| one["headers"]["x-message-id"].as_str()).collect();
        assert_eq!(ids.len(), 500);

        let guarded = Brokers::new(Arc::new(Nowhere));
        let sent = guarded.send(&to(peer.servers(), "orders", None), &Message::new("1", "x"), PATIENCE).await;
        assert!(matches!(sent, Err(SendError::Refused(_))), "{sent:?}");
        let servers = peer.servers().to_owned();
        drop(peer);
        let patience = std::time::Duration::from_secs(2);
        let sent = crate::shared::brokers()
            .send(&to(&servers, "orders", None), &Message::new("1", "x"), patience)
            .await;
        assert!(matches!(sent, Err(SendError::NotSent(_))), "{sent:?}");
    }
}
