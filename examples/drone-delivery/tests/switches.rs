//! Each switch does what it says, and nothing else.
#![allow(clippy::unwrap_used, reason = "a test may panic anywhere")]

mod common;

use std::time::Duration;

use common::{Reply, ask, connect, fleet};
use drone_delivery::{Fleet, Hits, Service, Switches};
use serde_json::json;

const DRONE: &str = "/api/dronedeliveries/d-1";
const BODY: &str = r#"{"pickup":"a","dropoff":"b"}"#;

async fn hurt_fleet(switches: Switches) -> Fleet {
    let fleet = fleet().await;
    fleet.set_switches(Service::Drone, switches).unwrap();
    fleet
}

async fn put(fleet: &Fleet) -> Reply {
    ask(fleet, Service::Drone, "PUT", DRONE, BODY).await
}

async fn delete(fleet: &Fleet) -> Reply {
    ask(fleet, Service::Drone, "DELETE", DRONE, "").await
}

fn named(ids: &[&str]) -> std::collections::BTreeSet<String> {
    ids.iter().map(|id| (*id).to_owned()).collect()
}

/// Lets the fleet go on until the condition holds.
async fn until(holds: impl Fn() -> bool) {
    // The machine's clock, because tokio's may be stopped; it only ends what would hang forever.
    let started = std::time::Instant::now();
    while !holds() {
        assert!(started.elapsed() < Duration::from_secs(60), "what was waited for never came");
        tokio::task::yield_now().await;
    }
}

/// Stops the clock until it is advanced manually. Something is always ready to run, because the runtime
/// would move the clock itself when it has nothing to do.
fn stop_the_clock() {
    tokio::time::pause();
    tokio::spawn(async {
        loop {
            tokio::task::yield_now().await;
        }
    });
}

/// Sends a PUT and hangs up when the fault has hit it.
async fn give_up_on_a_put(fleet: &Fleet, hit: impl Fn(Hits) -> bool) {
    let mut connection = connect(fleet, Service::Drone).await;
    tokio::select! {
        biased;
        reply = connection.try_send("PUT", DRONE, None, BODY) => panic!("answered early: {reply:?}"),
        () = until(|| hit(fleet.hits(Service::Drone))) => {}
    }
}

#[tokio::test]
async fn switches_are_set_over_http_and_strictly() {
    let fleet = fleet().await;
    let set = async |body: &str| ask(&fleet, Service::Drone, "PUT", "/switches", body).await;
    let reply = set(r#"{"seed":42,"error_rate":1,"refuse":["a"]}"#).await;
    let shown = ask(&fleet, Service::Drone, "GET", "/switches", "").await;
    assert_eq!((reply.status, reply.json()), (200, shown.json()));
    assert_eq!(
        shown.json(),
        json!({
            "seed": 42, "latency_ms": 0, "jitter_ms": 0, "error_rate": 1.0, "unavailable_rate": 0.0,
            "retry_after_s": 1, "hang_rate": 0.0, "refuse_rate": 0.0, "refuse": ["a"], "lost_rate": 0.0,
            "late_rate": 0.0, "late_ms": 1000, "undo_error_rate": 0.0, "undo_refuse": [],
        })
    );
    assert_eq!(put(&fleet).await.status, 500);
    assert_eq!(set(r#"{"error_rate":2}"#).await.problem().2.as_deref(), Some("/error_rate"));
    assert_eq!(set(r#"{"errorrate":0}"#).await.problem().0, 400);
    assert_eq!(put(&fleet).await.status, 500, "what was refused changed nothing");
    assert_eq!(set("{}").await.status, 200);
    assert_eq!(put(&fleet).await.status, 201);
    let hits = ask(&fleet, Service::Drone, "GET", "/switches/hits", "").await.json();
    assert_eq!((&hits["failed"], &hits["lost"]), (&json!(2), &json!(0)));
    fleet.stop().await;
}

#[tokio::test]
async fn errors_and_unavailability_do_nothing_and_spare_undos() {
    let fleet = hurt_fleet(Switches { error_rate: 1.0, ..Switches::default() }).await;
    assert_eq!(put(&fleet).await.problem(), (500, "failed".to_owned(), None));
    let unavailable = Switches { unavailable_rate: 1.0, retry_after_s: 7, ..Switches::default() };
    fleet.set_switches(Service::Drone, unavailable).unwrap();
    let reply = put(&fleet).await;
    assert_eq!((reply.status, reply.header("retry-after")), (503, Some("7")));
    assert_eq!(fleet.totals(Service::Drone).entries, 0);
    assert_eq!(delete(&fleet).await.status, 204);
    fleet.stop().await;
}

#[tokio::test]
async fn refusals_are_by_rate_and_by_id() {
    let fleet = hurt_fleet(Switches { refuse_rate: 1.0, ..Switches::default() }).await;
    assert_eq!(put(&fleet).await.problem(), (409, "refused".to_owned(), None));
    let by_id = Switches { refuse: named(&["d-1"]), ..Switches::default() };
    for service in [Service::Drone, Service::Package, Service::Account] {
        fleet.set_switches(service, by_id.clone()).unwrap();
    }
    assert_eq!(put(&fleet).await.status, 409);
    let other = ask(&fleet, Service::Drone, "PUT", "/api/dronedeliveries/d-2", BODY).await;
    assert_eq!(other.status, 201);
    let package = "/api/packages/p?delivery=d-1";
    let claimed = ask(&fleet, Service::Package, "PUT", package, r#"{"size":"small"}"#).await;
    assert_eq!(claimed.status, 409);
    let account = ask(&fleet, Service::Account, "GET", "/api/accounts/d-1", "").await;
    assert_eq!((account.status, account.json()), (200, json!(false)));
    fleet.stop().await;
}

#[tokio::test]
async fn undos_fail_by_rate_and_by_id() {
    let fleet = hurt_fleet(Switches { undo_error_rate: 1.0, ..Switches::default() }).await;
    assert_eq!(put(&fleet).await.status, 201);
    assert_eq!(delete(&fleet).await.status, 500);
    fleet
        .set_switches(Service::Drone, Switches { undo_refuse: named(&["d-1"]), ..Switches::default() })
        .unwrap();
    assert_eq!(delete(&fleet).await.problem(), (409, "refused".to_owned(), None));
    assert_eq!(fleet.totals(Service::Drone).standing, 1);
    fleet.set_switches(Service::Drone, Switches::default()).unwrap();
    assert_eq!(delete(&fleet).await.status, 204);
    fleet.stop().await;
}

#[tokio::test]
async fn a_lost_answer_leaves_the_effect() {
    let fleet = hurt_fleet(Switches { lost_rate: 1.0, ..Switches::default() }).await;
    let mut connection = connect(&fleet, Service::Drone).await;
    connection.try_send("PUT", DRONE, Some("k"), BODY).await.unwrap_err();
    assert_eq!(fleet.totals(Service::Drone).create, 1);
    fleet.set_switches(Service::Drone, Switches::default()).unwrap();
    let again = connect(&fleet, Service::Drone).await.send("PUT", DRONE, Some("k"), BODY).await;
    assert_eq!((again.status, again.json()["droneId"].clone()), (201, json!("drone-1")));
    assert_eq!(fleet.totals(Service::Drone).create, 1);
    fleet.stop().await;
}

#[tokio::test]
async fn a_late_request_is_applied_after_the_client_has_gone() {
    stop_the_clock();
    let fleet = hurt_fleet(Switches { late_rate: 1.0, late_ms: 5_000, ..Switches::default() }).await;
    give_up_on_a_put(&fleet, |hits| hits.late == 1).await;
    assert_eq!(fleet.totals(Service::Drone).entries, 0);
    tokio::time::advance(Duration::from_millis(6_000)).await;
    until(|| fleet.totals(Service::Drone).create == 1).await;
    fleet.stop().await;
}

#[tokio::test]
async fn a_late_request_comes_after_the_undo_and_has_no_effect() {
    stop_the_clock();
    let fleet = hurt_fleet(Switches { late_rate: 1.0, late_ms: 5_000, ..Switches::default() }).await;
    give_up_on_a_put(&fleet, |hits| hits.late == 1).await;
    fleet.set_switches(Service::Drone, Switches::default()).unwrap();
    assert_eq!(delete(&fleet).await.status, 204);
    tokio::time::advance(Duration::from_millis(6_000)).await;
    until(|| fleet.totals(Service::Drone).gone == 1).await;
    let totals = fleet.totals(Service::Drone);
    assert_eq!((totals.create, totals.tombstone, totals.standing), (0, 1, 0));
    fleet.stop().await;
}

#[tokio::test]
async fn a_hanging_service_never_answers_and_does_nothing_and_can_be_stopped() {
    let fleet = hurt_fleet(Switches { hang_rate: 1.0, ..Switches::default() }).await;
    give_up_on_a_put(&fleet, |hits| hits.hung == 1).await;
    let mut connection = connect(&fleet, Service::Drone).await;
    let hanging = tokio::spawn(async move { connection.try_send("PUT", DRONE, None, BODY).await.is_err() });
    until(|| fleet.hits(Service::Drone).hung == 2).await;
    assert_eq!(fleet.totals(Service::Drone).entries, 0);
    fleet.stop().await;
    assert!(hanging.await.unwrap(), "the stop ends what hangs");
}

#[tokio::test]
async fn latency_holds_back_the_work() {
    stop_the_clock();
    let fleet = hurt_fleet(Switches { latency_ms: 5_000, ..Switches::default() }).await;
    let mut connection = connect(&fleet, Service::Drone).await;
    let waiting = tokio::spawn(async move { connection.send("PUT", DRONE, None, BODY).await.status });
    until(|| fleet.hits(Service::Drone).delayed == 1).await;
    assert_eq!(fleet.totals(Service::Drone).entries, 0);
    tokio::time::advance(Duration::from_millis(6_000)).await;
    assert_eq!(waiting.await.unwrap(), 201);
    fleet.stop().await;
}

#[tokio::test]
async fn rates_between_follow_the_seed() {
    let outcomes = async |seed| {
        let fleet = hurt_fleet(Switches { seed, error_rate: 0.5, ..Switches::default() }).await;
        let mut statuses = Vec::new();
        let mut connection = connect(&fleet, Service::Drone).await;
        for _ in 0..40 {
            statuses.push(connection.send("PUT", DRONE, None, BODY).await.status);
        }
        fleet.stop().await;
        statuses
    };
    let first = outcomes(11).await;
    assert_eq!(first, outcomes(11).await);
    assert_ne!(first, outcomes(12).await);
    assert!(first.contains(&500) && first.contains(&200), "{first:?}");
}
