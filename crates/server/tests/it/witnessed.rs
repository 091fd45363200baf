//! A region with a witness on real nats-servers: it starts with nothing, and starts again only on streams that are fit.

use std::net::SocketAddr;
use std::time::Duration;

use async_nats::jetstream;
use async_nats::jetstream::stream::DiscardPolicy;
use http::Method;
use server::Config;
use tempfile::TempDir;
use test_brokers::{NatsCluster, NatsSettings};

use crate::client::{call, request};

pub struct Places {
    east: NatsCluster,
    west: NatsCluster,
    third: NatsCluster,
    data: TempDir,
}

impl Places {
    fn start() -> Places {
        Places::start_with(String::new())
    }

    /// With these lines in the configuration of the servers that an instance of the east speaks to.
    pub fn start_with(lines: String) -> Places {
        let denied = ["sortie.ing.>", "sortie.jrn.>", "$KV.>", "$O.>"].map(str::to_owned);
        let one = |domain: &str, remotes| NatsSettings {
            servers: 1,
            domain: Some(domain.to_owned()),
            remotes,
            remotes_deny: denied.to_vec(),
            ..NatsSettings::default()
        };
        let east = NatsSettings { more: lines.clone(), ..one("east", Vec::new()) };
        let east = NatsCluster::start_with(east).unwrap();
        let west = NatsCluster::start_with(one("west", east.leaf_urls())).unwrap();
        let third = NatsSettings { servers: 1, more: lines, ..NatsSettings::default() };
        let third = NatsCluster::start_with(third).unwrap();
        Places { east, west, third, data: tempfile::tempdir().unwrap() }
    }

    /// An instance of the east, which is at home.
    pub fn config(&self) -> Config {
        let mut config = Config::dev(self.data.path().join("data"), 0);
        config.partitions = 1;
        config.secrets.key = Some("7".repeat(64));
        config.cluster.nats = self.east.urls();
        config.cluster.monitor = self.east.monitor_urls();
        config.cluster.replicas = 1;
        config.cluster.secret = Some("between the instances".to_owned());
        config.region.name = Some("east".to_owned());
        config.region.pair = Some("west".to_owned());
        config.region.witness = self.third.urls();
        config
    }

    /// An instance of the west, which stands by.
    fn standby(&self) -> Config {
        let mut config = self.config();
        config.data = self.data.path().join("west");
        config.cluster.nats = self.west.urls();
        config.cluster.monitor = self.west.monitor_urls();
        config.region.name = Some("west".to_owned());
        config.region.pair = Some("east".to_owned());
        config
    }
}

/// Waits until an instance answers that it is ready.
pub async fn ready(address: SocketAddr) {
    // A minute in all, on a machine however slow.
    for _ in 0..1200 {
        if call(address, request(Method::GET, "/readyz", "")).await.status == 200 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    call(address, request(Method::GET, "/readyz", "")).await.expect(200);
}

const GAUGES_OF_THE_ACTIVE: [&str; 6] = [
    "sortie_region_active 1",
    "sortie_region_level 1",
    "sortie_region_epoch 1",
    "sortie_region_pair_reachable 1",
    "sortie_mirror_lag_messages 0",
    "sortie_region_leased 1",
];

/// The lines about regions once the gauges have seen that the region is active.
async fn gauges_of_regions(address: SocketAddr) -> Vec<String> {
    for _ in 0..1200 {
        let text = call(address, request(Method::GET, "/metrics", "")).await.expect(200).text;
        let about = |line: &&str| line.starts_with("sortie_region_") || line.starts_with("sortie_mirror_");
        let lines: Vec<_> = text.lines().filter(about).map(str::to_owned).collect();
        if lines.iter().any(|line| line == GAUGES_OF_THE_ACTIVE[0]) {
            return lines;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("the gauges do not say that the region is active");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_installation_with_a_witness_starts_and_only_fit_streams_are_taken() {
    let places = Places::start();
    let running = server::start(places.config()).await.unwrap();
    let address = running.address();
    ready(address).await;
    let region = call(address, request(Method::GET, "/v1/region", "")).await.expect(200).json();
    assert_eq!((&region["active"], &region["here"]["role"]), (&"east".into(), &"active".into()));
    assert_eq!(gauges_of_regions(address).await, GAUGES_OF_THE_ACTIVE);
    running.stop().await;

    let client = async_nats::connect(&places.east.urls()[0]).await.unwrap();
    let streams = jetstream::new(client);
    let mut inbox = streams.get_stream("sortie_ING_00000").await.unwrap().cached_info().config.clone();
    inbox.discard = DiscardPolicy::Old;
    streams.update_stream(inbox).await.unwrap();
    let refused =
        server::start(places.config()).await.err().map(|error| (error.exit_code(), error.to_string()));
    let (code, text) = refused.expect("a stream that forgets what is acknowledged is not fit");
    assert_eq!(code, 78, "{text}");
    assert!(text.contains("discard"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_standby_with_another_number_of_partitions_does_not_start() {
    let places = Places::start();
    let running = server::start(Config { partitions: 2, ..places.config() }).await.unwrap();
    ready(running.address()).await;
    let Err(error) = server::start(places.standby()).await else { panic!("it has a partition less") };
    assert!(error.to_string().contains("partitions 2, it must be 1"), "{error}");
    assert_eq!(error.exit_code(), 78);
    running.stop().await;
}
