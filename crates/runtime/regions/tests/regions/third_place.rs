//! The witness, and answers that wait for the pair.

use std::time::Duration;

use api_types::LeasesView;
use journal_nats::jetstream::JetStream;
use journal_nats::{Installation, Login, NatsWire, Outgoing, Proof, PublishError, Servers, Tls, Wire};
use regions::{Mode, Paired, RegionError, Regions, Role, Settings};
use test_brokers::{NatsCluster, NatsSettings};

use crate::proxy::Proxy;
use crate::stage::{I, Stage, connect, join, make_streams, publish, role, until, until_status};

// guards: 47
#[tokio::test(flavor = "multi_thread")]
async fn a_region_cut_off_from_the_witness_lets_go_and_its_pair_stands_in() {
    let stage = Stage::start().await;
    make_streams(&stage.east).await;
    let third = NatsCluster::start_with(NatsSettings { servers: 1, ..NatsSettings::default() }).unwrap();
    let port: u16 = third.urls()[0].rsplit(':').next().unwrap().parse().unwrap();
    let wire = Proxy::start(port).await;
    let witness =
        [connect(&format!("nats://127.0.0.1:{}", wire.port)).await, connect(&third.urls()[0]).await];
    let settings = |name: &str, number: usize| Settings {
        witness: Some(JetStream::new(witness[number].clone())),
        lease: Duration::from_secs(9),
        ..stage.settings(name)
    };
    let east = join(stage.east.clone(), settings("east", 0)).await.unwrap();
    let west = join(stage.west.clone(), settings("west", 1)).await.unwrap();
    until("east has the lease", async || east.active().borrow().then_some(())).await;
    publish(&stage.east, "ing", "one").await.unwrap();
    until_status(&west, "the mirror has all", |status| {
        status.follows == Some(true) && status.mirrors.iter().any(|mirror| mirror.last == Some(1))
    })
    .await;

    wire.cut();
    stage.link.cut();
    until("east lets go", async || (!*east.active().borrow()).then_some(())).await;
    until("west stands in", async || west.active().borrow().then_some(())).await;
    assert!(!*east.active().borrow());
    assert_eq!(publish(&stage.west, "ing", "two").await, Ok(2));

    wire.restore();
    until_status(&east, "east learns it from the witness", |status| {
        role(&status.record) == Some(Role::Fenced)
    })
    .await;
    stage.link.restore();
    until_status(&east, "east mirrors west", |status| role(&status.record) == Some(Role::Standby)).await;
    assert!(*west.active().borrow() && !*east.active().borrow());
}

/// A witness to which both regions have a way that can be cut, with the settings of each.
struct Third {
    ways: [Proxy; 2],
    witness: [async_nats::Client; 2],
    _servers: NatsCluster,
}

impl Third {
    async fn start() -> Third {
        let servers =
            NatsCluster::start_with(NatsSettings { servers: 1, ..NatsSettings::default() }).unwrap();
        let port: u16 = servers.urls()[0].rsplit(':').next().unwrap().parse().unwrap();
        let ways = [Proxy::start(port).await, Proxy::start(port).await];
        let urls = ways.each_ref().map(|way| format!("nats://127.0.0.1:{}", way.port));
        let witness = [connect(&urls[0]).await, connect(&urls[1]).await];
        Third { ways, witness, _servers: servers }
    }

    /// Both regions, east active and west level.
    async fn joined(&self, stage: &Stage) -> [Regions; 2] {
        make_streams(&stage.east).await;
        let settings = |name: &str, number: usize| Settings {
            witness: Some(JetStream::new(self.witness[number].clone())),
            lease: LEASE,
            ..stage.settings(name)
        };
        let east = join(stage.east.clone(), settings("east", 0)).await.unwrap();
        let west = join(stage.west.clone(), settings("west", 1)).await.unwrap();
        until("east has the lease", async || east.active().borrow().then_some(())).await;
        until_status(&west, "west follows", |status| status.follows == Some(true)).await;
        [east, west]
    }
}

const LEASE: Duration = Duration::from_secs(6);

#[tokio::test(flavor = "multi_thread")]
async fn a_witness_that_is_lost_stops_nobody_while_the_two_see_each_other() {
    let stage = Stage::start().await;
    let third = Third::start().await;
    let [east, west] = third.joined(&stage).await;
    third.ways.iter().for_each(Proxy::cut);
    // Nobody who is believed in by the witness alone would be left after this.
    tokio::time::sleep(LEASE * 2).await;
    until("east has its pair's consent", async || east.active().borrow().then_some(())).await;
    assert!(!*west.active().borrow());
    assert_eq!(publish(&stage.east, "ing", "one").await, Ok(1));
    let status = east.status().await.unwrap();
    assert_eq!(status.leases.map(|held| held.witness), Some(false));

    let refused = west.promote(Mode::Planned).await;
    assert!(matches!(refused, Err(RegionError::Witness(_))), "{refused:?}");
    until("what cannot be finished is not begun", async || east.active().borrow().then_some(())).await;

    stage.link.cut();
    until("east lets go", async || (!*east.active().borrow()).then_some(())).await;
    assert!(!east.is_leased());
    let status = east.status().await.unwrap();
    assert_eq!((status.leases, status.active()), (Some(LeasesView { witness: false, pair: false }), None));
    tokio::time::sleep(LEASE * 2).await;
    assert!(!*west.active().borrow(), "alone it cannot know");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_standby_that_has_lagged_for_long_takes_over_only_on_request() {
    let stage = Stage::start().await;
    let third = Third::start().await;
    let [east, west] = third.joined(&stage).await;
    stage.link.cut();
    // East works on by the witness, and what it acknowledges is not mirrored any more.
    tokio::time::sleep(LEASE * 3).await;
    until("east is active", async || east.active().borrow().then_some(())).await;
    third.ways[0].cut();
    until("east lets go", async || (!*east.active().borrow()).then_some(())).await;
    tokio::time::sleep(LEASE * 2).await;
    assert!(!*west.active().borrow(), "it would lose all that it has not got");
    assert_eq!(west.status().await.unwrap().follows, Some(false));

    let promoted = west.promote(Mode::Forced).await.unwrap();
    assert_eq!(promoted.epoch, 2);
    until("west is active", async || west.active().borrow().then_some(())).await;
    let again = west.promote(Mode::Planned).await.unwrap();
    assert!(again.forced, "a repeated call reports what it was");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_stored_when_the_leases_have_run_out_is_not_acknowledged() {
    let stage = Stage::start().await;
    let third = Third::start().await;
    let [east, _west] = third.joined(&stage).await;
    let settings = journal_nats::Settings {
        servers: Servers(vec![stage.east_url()]),
        login: Login::Anonymous,
        tls: Tls::default(),
        installation: Installation { name: I.to_owned(), partitions: 1, inbox_bytes_max: None },
        replicas: 1,
        pair_domain: None,
        proof: Proof::Trusted,
    };
    let client = NatsWire::connect(&settings).await.unwrap();
    let wire = Paired::new(client, Some(east.clone()), false);
    let request = || Outgoing {
        stream: format!("{I}_ING_00000"),
        subject: format!("{I}.ing.00000"),
        expected_last: None,
        message_id: None,
        payload: "a request".into(),
    };
    assert_eq!(wire.publish(request()).await, Ok(1));
    third.ways[0].cut();
    stage.link.cut();
    until("east has nothing any more", async || (!east.is_leased()).then_some(())).await;
    let answer = wire.publish(request()).await;
    assert!(matches!(answer, Err(PublishError::Unknown(_))), "{answer:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_region_that_alone_cannot_see_the_witness_goes_on() {
    let stage = Stage::start().await;
    let third = Third::start().await;
    let [east, west] = third.joined(&stage).await;
    third.ways[0].cut();
    tokio::time::sleep(LEASE * 2).await;
    until("its pair has consented", async || east.active().borrow().then_some(())).await;
    assert!(!*west.active().borrow());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_promotion_by_itself_that_was_cut_short_goes_on_by_itself() {
    let stage = Stage::start().await;
    let third = Third::start().await;
    let [east, west] = third.joined(&stage).await;
    // As an instance leaves it that ends when it has been granted the next epoch.
    let buckets = async_nats::jetstream::new(third.witness[1].clone());
    let granted = buckets.get_key_value(format!("{I}_granted")).await.unwrap();
    granted.put("epoch", "2".into()).await.unwrap();
    until_status(&east, "east learns it from the witness", |status| {
        role(&status.record) == Some(Role::Fenced)
    })
    .await;
    until("west stands in", async || west.active().borrow().then_some(())).await;
    assert_eq!(west.status().await.unwrap().record.unwrap().epoch, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_standby_to_which_the_witness_says_no_goes_on_mirroring() {
    let stage = Stage::start().await;
    let third = Third::start().await;
    let [east, west] = third.joined(&stage).await;

    stage.link.cut();
    until_status(&west, "the link is down", |status| !status.pair_reachable).await;
    let refused = west.promote(Mode::Forced).await;
    assert!(matches!(refused, Err(RegionError::WitnessRefuses(_))), "{refused:?}");
    let record = west.status().await.unwrap().record.unwrap();
    assert_eq!((record.role, record.promotion), (Role::Standby, None));

    stage.link.restore();
    let new = async_nats::jetstream::stream::Config {
        name: format!("{I}_ING_00007"),
        subjects: vec![format!("{I}.ing.00007")],
        ..Default::default()
    };
    async_nats::jetstream::new(stage.east.clone()).create_stream(new).await.unwrap();
    until_status(&west, "what is new is mirrored", |status| {
        let new = status.mirrors.iter().find(|mirror| mirror.stream.ends_with("_ING_00007"));
        new.is_some_and(|mirror| mirror.last.is_some())
    })
    .await;
    assert!(*east.active().borrow() && !*west.active().borrow());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_pair_has_of_its_own_does_not_count_as_mirrored() {
    let stage = Stage::start().await;
    let (east, _west) = stage.joined().await;
    let stream = format!("{I}_ING_00000");
    let sequence = publish(&stage.east, "ing", "one").await.unwrap();
    assert!(east.reached(&stream, sequence).await);
    // As a region has it that was overtaken and has not begun to mirror.
    let west = async_nats::jetstream::new(stage.west.clone());
    west.delete_stream(&stream).await.unwrap();
    let own = async_nats::jetstream::stream::Config {
        name: stream.clone(),
        subjects: vec![format!("{I}.ing.00000")],
        ..Default::default()
    };
    west.create_stream(own).await.unwrap();
    for number in 1..=5 {
        publish(&stage.west, "ing", &format!("only west {number}")).await.unwrap();
    }
    let sequence = publish(&stage.east, "ing", "two").await.unwrap();
    assert!(!east.reached(&stream, sequence).await, "another message has its number there");
}

// guards: 47
#[tokio::test(flavor = "multi_thread")]
async fn without_a_witness_nothing_is_promoted_by_itself() {
    let stage = Stage::start().await;
    let (east, west) = stage.joined().await;
    stage.link.cut();
    until_status(&west, "the link is down", |status| !status.pair_reachable).await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert!(*east.active().borrow() && !*west.active().borrow());
    east.demote().await.unwrap();
    assert!(!*east.active().borrow());
    assert!(publish(&stage.east, "ing", "nobody takes it").await.is_err());
    assert_eq!(east.promote(Mode::Forced).await.unwrap().epoch, 3);
    assert_eq!(publish(&stage.east, "ing", "again").await, Ok(1));
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_waits_for_a_pair_that_was_lost_by_force_until_it_has_stood_by() {
    let stage = Stage::start().await;
    let (_east, west) = stage.joined().await;
    let stream = format!("{I}_ING_00000");
    stage.link.cut();
    west.promote(Mode::Forced).await.unwrap();
    let sequence = publish(&stage.west, "ing", "one").await.unwrap();
    let started_again = stage.join("west").await.unwrap();
    assert!(started_again.reached(&stream, sequence).await, "it has nobody to wait for");

    stage.link.restore();
    until_status(&west, "east stands by", |status| role(&status.pair_record) == Some(Role::Standby)).await;
    let record = async_nats::jetstream::new(stage.west.clone());
    let record = record.get_key_value(format!("{I}_region")).await.unwrap();
    until("west has noted it", async || record.get("followed").await.unwrap()).await;
    until("east has it", async || west.reached(&stream, sequence).await.then_some(())).await;
    stage.link.cut();
    until_status(&west, "the link is down", |status| !status.pair_reachable).await;
    let sequence = publish(&stage.west, "ing", "two").await.unwrap();
    let started_again = stage.join("west").await.unwrap();
    assert!(!started_again.reached(&stream, sequence).await, "its pair stands by, and does not have it");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_waits_for_the_pair_knows_whether_it_has_it() {
    let stage = Stage::start().await;
    let (east, _west) = stage.joined().await;
    let stream = format!("{I}_ING_00000");
    let sequence = publish(&stage.east, "ing", "one").await.unwrap();
    assert!(east.reached(&stream, sequence).await);
    stage.link.cut();
    until_status(&east, "the link is down", |status| !status.pair_reachable).await;
    let sequence = publish(&stage.east, "ing", "two").await.unwrap();
    assert!(!east.reached(&stream, sequence).await);
    stage.link.restore();
    until("the pair has it", async || east.reached(&stream, sequence).await.then_some(())).await;
}
