//! Two regions in earnest, with an instance in each: what only the lost one had is handed in again.

#[path = "../../../runtime/regions/tests/regions/proxy.rs"]
#[expect(dead_code, reason = "the wire is cut here, and never made long")]
mod proxy;

use std::net::SocketAddr;
use std::time::Duration;

use http::Method;
use serde_json::{Value, json};
use server::{Config, Running};
use tempfile::TempDir;
use test_brokers::{NatsCluster, NatsSettings};

use crate::client::{Answer, call, request};
use proxy::Proxy;

/// Its step waits for ever: what counts is that there is a run.
const WORKFLOW: &str = "
name: parcels
services: { a: { url: 'http://127.0.0.1:9' } }
steps:
  one: { call: { service: a, method: PUT, path: /x, body: .request } }
";

struct Pair {
    east: Running,
    west: Running,
    link: Proxy,
    _servers: [NatsCluster; 2],
    _data: TempDir,
}

impl Pair {
    /// East active, west level.
    async fn start() -> Pair {
        let denied = ["sortie.ing.>", "sortie.jrn.>", "$KV.>", "$O.>"].map(str::to_owned);
        let settings = |domain: &str, remotes| NatsSettings {
            servers: 1,
            domain: Some(domain.to_owned()),
            remotes,
            remotes_deny: denied.to_vec(),
            ..NatsSettings::default()
        };
        let east = NatsCluster::start_with(settings("east", Vec::new())).unwrap();
        let leaf: u16 = east.leaf_urls()[0].rsplit(':').next().unwrap().parse().unwrap();
        let link = Proxy::start(leaf).await;
        let remote = format!("nats-leaf://127.0.0.1:{}", link.port);
        let west = NatsCluster::start_with(settings("west", vec![remote])).unwrap();
        let data = tempfile::tempdir().unwrap();
        let config = |name: &str, pair: &str, servers: &NatsCluster| {
            let mut config = Config::dev(data.path().join(name), 0);
            config.partitions = 2;
            config.secrets.key = Some("7".repeat(64));
            config.cluster.nats = servers.urls();
            config.cluster.monitor = servers.monitor_urls();
            config.cluster.replicas = 1;
            config.cluster.secret = Some("between the instances".to_owned());
            config.region.name = Some(name.to_owned());
            config.region.pair = Some(pair.to_owned());
            config.region.home = Some("east".to_owned());
            config
        };
        let (in_east, in_west) = (config("east", "west", &east), config("west", "east", &west));
        // The west listens only when it mirrors what the east has made.
        let (east_runs, west_runs) = tokio::join!(server::start(in_east), server::start(in_west));
        let pair = Pair {
            east: east_runs.unwrap(),
            west: west_runs.unwrap(),
            link,
            _servers: [east, west],
            _data: data,
        };
        pair.until("the west is level", async || {
            let region = pair.west("/v1/region").await.expect(200).json();
            (region["here"]["level"] == true && region["active"] == "east").then_some(())
        })
        .await;
        pair
    }

    async fn east(&self, path: &str) -> Answer {
        call(self.east.address(), request(Method::GET, path, "")).await
    }

    async fn west(&self, path: &str) -> Answer {
        call(self.west.address(), request(Method::GET, path, "")).await
    }

    async fn until<T>(&self, what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
        // A minute and a half in all, on a machine however slow.
        for _ in 0..900 {
            if let Some(found) = look().await {
                return found;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        panic!("waited too long until {what}");
    }
}

/// Hands in a request under its id, when it is taken.
async fn hand_in(address: SocketAddr, id: &str, body: &str) -> Option<u16> {
    let path = format!("/v1/workflows/parcels/runs/{id}");
    let answer = call(address, request(Method::PUT, &path, body.to_owned())).await;
    [200, 202].contains(&answer.status.as_u16()).then(|| answer.status.as_u16())
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_that_only_the_lost_region_had_are_handed_in_again() {
    let pair = Pair::start().await;
    pair.until("the workflow is there", async || pair.east.apply(WORKFLOW).await.ok()).await;
    let known = pair.until("a request is taken", async || hand_in(pair.east.address(), "both", "{}").await);
    assert_eq!(known.await, 202);
    pair.until("the mirrors have all", async || {
        let region = pair.west("/v1/region").await.expect(200).json();
        let level = |mirror: &Value| mirror["lag"] == 0;
        region["mirrors"].as_array()?.iter().all(level).then_some(())
    })
    .await;

    pair.link.cut();
    let bodies = [("one", r#"{"a": 1.50,  "b": []}"#), ("two", "{\n  \"a\": 2\n}")];
    for (id, body) in bodies {
        assert_eq!(hand_in(pair.east.address(), id, body).await, Some(202), "{id}");
    }
    let force = json!({ "force": true }).to_string();
    pair.until("the west takes over", async || {
        let promote = request(Method::POST, "/v1/region:promote", force.clone());
        (call(pair.west.address(), promote).await.status == 200).then_some(())
    })
    .await;
    pair.link.restore();
    let tail = pair.until("the east has kept its tail", async || {
        let region = pair.east("/v1/region").await.expect(200).json();
        (region["here"]["role"] == "standby").then(|| region["tail"].clone())
    });
    let tail = tail.await;

    let mut requests: Vec<Value> = Vec::new();
    let streams = tail["streams"].as_array().unwrap().iter().filter_map(|stream| stream["stream"].as_str());
    for stream in streams.filter(|stream| stream.contains("_ING_")) {
        let lines = pair.east(&format!("/v1/region:requests?stream={stream}")).await.expect(200).text;
        requests.extend(lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()));
    }
    requests.sort_by_key(|request| request["id"].to_string());
    let ids: Vec<_> = requests.iter().map(|request| request["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["one", "two"]);
    assert!(requests.iter().all(|request| request["workflow"] == "parcels"), "{requests:?}");
    // A body with lines in it stands there as a text, so that it comes back byte by byte.
    assert_eq!(requests[0]["body"], json!({ "a": 1.5, "b": [] }));
    assert_eq!(requests[1]["text"], bodies[1].1);
    pair.east("/v1/region:requests?stream=sortie_JRN_00000").await.expect(404);

    for (id, body) in bodies {
        let again = async || hand_in(pair.west.address(), id, body).await;
        assert_eq!(pair.until("it is taken", again).await, 202, "{id} was never there");
        assert_eq!(hand_in(pair.west.address(), id, body).await, Some(200), "{id} is there once");
        let run = pair.until("there is a run", async || {
            let answer = pair.west(&format!("/v1/runs/{id}")).await;
            (answer.status == 200).then(|| answer.json())
        });
        assert_eq!(run.await["workflow"], "parcels");
    }
    pair.east.stop().await;
    pair.west.stop().await;
}
