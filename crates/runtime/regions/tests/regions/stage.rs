//! Two regions with a wire between them that can be cut.

use std::time::{Duration, Instant};

use async_nats::Client;
use async_nats::jetstream::{self, stream};
use journal_nats::jetstream::JetStream;
use regions::{Record, RegionError, Regions, Role, Settings, Status};
use tempfile::TempDir;
use test_brokers::{NatsCluster, NatsSettings};

use crate::proxy::Proxy;

pub const I: &str = "sortie";
/// Generous: a busy machine is slow, and nothing here asserts a time.
pub const WITHIN: Duration = Duration::from_secs(60);

pub struct Stage {
    pub link: Proxy,
    pub data: TempDir,
    // The servers end before the wire does.
    east_servers: NatsCluster,
    _west_servers: NatsCluster,
    pub east: Client,
    pub west: Client,
}

pub fn denied() -> Vec<String> {
    let denied = ["ing.>", "jrn.>"].map(|subjects| format!("{I}.{subjects}"));
    denied.into_iter().chain(["$KV.>".to_owned(), "$O.>".to_owned()]).collect()
}

impl Stage {
    pub async fn start() -> Stage {
        Stage::start_with(denied()).await
    }

    pub async fn start_with(remotes_deny: Vec<String>) -> Stage {
        let settings = |domain: &str, remotes: Vec<String>| NatsSettings {
            servers: 1,
            domain: Some(domain.to_owned()),
            remotes,
            remotes_deny: remotes_deny.clone(),
            ..NatsSettings::default()
        };
        let east = NatsCluster::start_with(settings("east", Vec::new())).unwrap();
        let leaf: u16 = east.leaf_urls()[0].rsplit(':').next().unwrap().parse().unwrap();
        let link = Proxy::start(leaf).await;
        let remote = format!("nats-leaf://127.0.0.1:{}", link.port);
        let west = NatsCluster::start_with(settings("west", vec![remote])).unwrap();
        let (east_client, west_client) = (connect(&east.urls()[0]).await, connect(&west.urls()[0]).await);
        let data = TempDir::new().unwrap();
        Stage { link, data, east_servers: east, _west_servers: west, east: east_client, west: west_client }
    }

    pub fn settings(&self, name: &str) -> Settings {
        let pair = if name == "east" { "west" } else { "east" };
        Settings {
            replicas: 1,
            data: self.data.path().join(name),
            answer: Duration::from_secs(2),
            ..Settings::new(name, pair, "east", I)
        }
    }

    pub async fn join(&self, name: &str) -> Result<Regions, RegionError> {
        join(self.client(name), self.settings(name)).await
    }

    pub fn client(&self, name: &str) -> Client {
        if name == "east" { self.east.clone() } else { self.west.clone() }
    }

    pub fn east_url(&self) -> String {
        self.east_servers.urls()[0].clone()
    }

    /// Another way to the east's own server, which can be made long.
    pub async fn way_to_east(&self) -> (Proxy, Client) {
        let port: u16 = self.east_servers.urls()[0].rsplit(':').next().unwrap().parse().unwrap();
        let way = Proxy::start(port).await;
        let client = connect(&format!("nats://127.0.0.1:{}", way.port)).await;
        (way, client)
    }

    /// Both regions, east active with the streams of one partition.
    pub async fn joined(&self) -> (Regions, Regions) {
        make_streams(&self.east).await;
        let east = self.join("east").await.unwrap();
        let west = self.join("west").await.unwrap();
        until("east is active and west mirrors", async || {
            let status = west.status().await.ok()?;
            let mirrored = status.mirrors.len() == 2 && status.mirrors.iter().all(|m| m.last.is_some());
            let level = status.record.is_some_and(|record| record.level);
            (role(&status.pair_record) == Some(Role::Active) && mirrored && level).then_some(())
        })
        .await;
        (east, west)
    }
}

pub fn role(record: &Option<Record>) -> Option<Role> {
    record.as_ref().map(|record| record.role)
}

pub async fn join(client: Client, settings: Settings) -> Result<Regions, RegionError> {
    Regions::join(JetStream::new(client), settings).await
}

pub async fn connect(url: &str) -> Client {
    async_nats::ConnectOptions::new()
        .request_timeout(Some(Duration::from_secs(5)))
        .connect(url)
        .await
        .unwrap()
}

pub async fn make_streams(client: &Client) {
    let js = jetstream::new(client.clone());
    for (name, subject) in [("ING", "ing"), ("JRN", "jrn")] {
        js.create_stream(stream::Config {
            name: format!("{I}_{name}_00000"),
            subjects: vec![format!("{I}.{subject}.00000")],
            discard: stream::DiscardPolicy::New,
            duplicate_window: Duration::from_secs(120),
            deny_delete: true,
            allow_direct: name == "JRN",
            ..Default::default()
        })
        .await
        .unwrap();
    }
}

/// Where a stream of the partition takes messages, if it does.
pub async fn subject(client: &Client, kind: &str) -> Result<String, String> {
    let name = format!("{I}_{}_00000", kind.to_uppercase());
    let stream = jetstream::new(client.clone()).get_stream(name).await.map_err(|error| error.to_string())?;
    let subjects = &stream.cached_info().config.subjects;
    let open = subjects.iter().find(|subject| subject.starts_with(&format!("{I}.{kind}.00000")));
    open.cloned().ok_or_else(|| format!("open at {subjects:?}"))
}

/// Publishes where the stream says, and waits for the sequence.
pub async fn publish(client: &Client, kind: &str, text: &str) -> Result<u64, String> {
    let js = jetstream::new(client.clone());
    let ack = js.publish(subject(client, kind).await?, text.to_owned().into()).await;
    let ack = ack.map_err(|error| error.to_string())?;
    ack.await.map(|ack| ack.sequence).map_err(|error| error.to_string())
}

/// Everything that a stream holds, in order.
pub async fn contents(client: &Client, stream: &str) -> Vec<String> {
    let js = jetstream::new(client.clone());
    let stream = js.get_stream(format!("{I}_{stream}_00000")).await.unwrap();
    let state = stream.cached_info().state.clone();
    let mut found = Vec::new();
    for sequence in state.first_sequence.max(1)..=state.last_sequence {
        let message = stream.get_raw_message(sequence).await.unwrap();
        found.push(String::from_utf8(message.payload.to_vec()).unwrap());
    }
    found
}

pub async fn until<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = look().await {
            return found;
        }
        assert!(begun.elapsed() < WITHIN, "waited too long until {what}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Waits until a region says this of itself.
pub async fn until_status(regions: &Regions, what: &str, holds: impl Fn(&Status) -> bool) -> Status {
    until(what, async || regions.status().await.ok().filter(|status| holds(status))).await
}
