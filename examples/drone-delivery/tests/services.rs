//! What each service does beyond the common contract.
#![allow(clippy::unwrap_used, reason = "a test may panic anywhere")]

mod common;

use common::{DELIVERY, ask, connect, fleet};
use drone_delivery::Service;
use serde_json::json;

const PACKAGE: &str = r#"{"size":"Small","weight":10,"tag":"t"}"#;

#[tokio::test]
async fn an_account_is_active_until_it_is_suspended() {
    let fleet = fleet().await;
    let active = async || ask(&fleet, Service::Account, "GET", "/api/Account/o-1", "").await.json();
    assert_eq!(active().await, json!(true));
    ask(&fleet, Service::Account, "PUT", "/api/accounts/o-1", r#"{"active":false}"#).await;
    assert_eq!(active().await, json!(false));
    ask(&fleet, Service::Account, "PUT", "/api/accounts/o-1", r#"{"active":true}"#).await;
    assert_eq!(active().await, json!(true));
    ask(&fleet, Service::Account, "DELETE", "/api/accounts/o-1", "").await;
    assert_eq!(active().await, json!(true));
    fleet.stop().await;
}

#[tokio::test]
async fn a_package_stays_while_any_delivery_claims_it() {
    let fleet = fleet().await;
    let mut connection = connect(&fleet, Service::Package).await;
    let first = "/api/packages/p?delivery=d-1";
    let second = "/api/packages/p?delivery=d-2";
    assert_eq!(connection.send("PUT", first, None, PACKAGE).await.status, 201);
    let other = r#"{"size":"Large"}"#;
    assert_eq!(connection.send("PUT", second, None, other).await.status, 201);
    assert_eq!(connection.send("GET", "/api/packages/p", None, "").await.json()["size"], "Large");

    assert_eq!(connection.send("DELETE", second, None, "").await.status, 204);
    assert_eq!(connection.send("GET", "/api/packages/p", None, "").await.json()["size"], "Small");
    assert_eq!(connection.send("GET", second, None, "").await.status, 404);
    assert_eq!(connection.send("PUT", second, None, other).await.status, 410);
    assert_eq!(fleet.audit().unwrap().services_of("d-1"), [Service::Package]);
    assert_eq!(fleet.audit().unwrap().services_of("d-2"), []);

    assert_eq!(connection.send("DELETE", first, None, "").await.status, 204);
    assert_eq!(connection.send("GET", "/api/packages/p", None, "").await.status, 404);
    assert_eq!(connection.send("PUT", "/api/packages/p?delivery=d-3", None, PACKAGE).await.status, 201);
    fleet.stop().await;
}

#[tokio::test]
async fn a_patch_of_a_package_changes_only_what_it_names() {
    let fleet = fleet().await;
    let mut connection = connect(&fleet, Service::Package).await;
    let path = "/api/packages/p";
    assert_eq!(connection.send("PATCH", path, None, r#"{"weight":1}"#).await.problem().0, 404);
    connection.send("PUT", "/api/packages/p?delivery=d-1", None, PACKAGE).await;
    let patched = connection.send("PATCH", path, Some("k"), r#"{"weight":1,"tag":null}"#).await;
    assert_eq!(
        (patched.status, patched.json()),
        (200, json!({"id":"p","size":"Small","weight":1,"tag":"t"}))
    );
    connection.send("PATCH", path, None, r#"{"weight":2}"#).await;
    let again = connection.send("PATCH", path, Some("k"), r#"{"weight":1,"tag":null}"#).await;
    assert_eq!(again.json()["weight"], 1, "the recorded answer");
    assert_eq!(connection.send("GET", path, None, "").await.json()["weight"], 2);
    let wrong = connection.send("PATCH", path, None, r#"{"weight":"2"}"#).await;
    assert_eq!(wrong.problem(), (400, "invalid".to_owned(), Some("/weight".to_owned())));
    connection.send("DELETE", "/api/packages/p?delivery=d-1", None, "").await;
    let late = connection.send("PATCH", "/api/packages/p?delivery=d-1", None, r#"{"weight":3}"#).await;
    assert_eq!(late.problem().0, 410);
    fleet.stop().await;
}

#[tokio::test]
async fn a_place_that_says_so_needs_a_third_party() {
    let fleet = fleet().await;
    let mut connection = connect(&fleet, Service::Transport).await;
    for (id, body, required) in [
        ("d-1", r#"{"pickup":"a","dropoff":"b"}"#, false),
        ("d-2", r#"{"pickup":"a","dropoff":"ThirdParty island"}"#, true),
        ("d-3", r#"{"pickup":"thirdparty","dropoff":{"altitude":0,"latitude":1,"longitude":2}}"#, true),
    ] {
        let path = format!("/api/thirdpartydeliveries/{id}");
        for (method, status) in [("PUT", 201), ("PUT", 200), ("GET", 200)] {
            let reply = connection.send(method, &path, None, body).await;
            assert_eq!((reply.status, reply.json()), (status, json!(required)), "{method} {id}");
        }
    }
    fleet.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_delivery_gets_one_drone_however_often_and_concurrently_it_is_asked_for() {
    let fleet = fleet().await;
    let address = fleet.addresses()[&Service::Drone];
    let mut asking = tokio::task::JoinSet::new();
    for number in 0..200 {
        asking.spawn(async move {
            let key = format!("k-{}", number % 3);
            let key = (number % 4 > 0).then_some(key.as_str());
            let body = r#"{"pickup":"a","dropoff":"b"}"#;
            let mut connection = common::Connection::to(address).await;
            connection.send("PUT", "/api/dronedeliveries/d-1", key, body).await.json()["droneId"].clone()
        });
    }
    let drones = asking.join_all().await;
    assert_eq!(drones.len(), 200);
    assert!(drones.iter().all(|drone| *drone == json!("drone-1")), "{drones:?}");
    let totals = fleet.totals(Service::Drone);
    assert_eq!((totals.create, totals.entries, totals.standing), (1, 1, 1));
    let other =
        ask(&fleet, Service::Drone, "PUT", "/api/dronedeliveries/d-2", r#"{"pickup":"a","dropoff":"b"}"#);
    assert_ne!(other.await.json()["droneId"], json!("drone-1"));
    fleet.stop().await;
}

#[tokio::test]
async fn a_delivery_shows_its_owner_and_how_far_it_is() {
    let fleet = fleet().await;
    let mut connection = connect(&fleet, Service::Delivery).await;
    let created = connection.send("PUT", "/api/deliveries/d-1", None, DELIVERY).await;
    assert_eq!(created.header("location"), Some("/api/deliveries/d-1"));
    assert_eq!(created.json()["droneId"], "drone-1");
    let owner = connection.send("GET", "/api/deliveries/d-1/owner", None, "").await;
    assert_eq!(owner.json(), json!({"userId":"u","accountId":"o"}));
    let mut stages = Vec::new();
    for (method, body) in [("GET", ""), ("PATCH", r#"{"dropoff":"z"}"#), ("DELETE", "")] {
        connection.send(method, "/api/deliveries/d-1", None, body).await;
        let status = connection.send("GET", "/api/deliveries/d-1/Status", None, "").await;
        stages.push(status.json()["stage"].as_str().unwrap().to_owned());
    }
    assert_eq!(stages, ["Created", "Rescheduled", "Cancelled"]);
    assert_eq!(connection.send("PATCH", "/api/deliveries/d-1", None, "{}").await.problem().0, 410);
    assert_eq!(connection.send("GET", "/api/deliveries/d-2/status", None, "").await.status, 404);
    fleet.stop().await;
}

#[tokio::test]
async fn a_change_is_taken_back_by_name_and_a_late_one_is_refused() {
    let fleet = fleet().await;
    let mut connection = connect(&fleet, Service::Delivery).await;
    let path = "/api/deliveries/d-1";
    connection.send("PUT", path, None, DELIVERY).await;
    let change = format!("{path}?change=r-1");
    let undo = format!("{path}?undo=r-1");
    let new = r#"{"dropoff":"z","deadline":"soon","pickup":null}"#;
    let changed = connection.send("PATCH", &change, Some("do"), new).await;
    let places =
        |json: serde_json::Value| [json["pickup"].clone(), json["dropoff"].clone(), json["deadline"].clone()];
    assert_eq!(places(changed.json()), ["a", "z", "soon"]);
    assert_eq!(connection.send("PATCH", &change, None, new).await.status, 200);
    assert_eq!(fleet.audit().unwrap().services_of("r-1"), [Service::Delivery]);

    let former = r#"{"pickup":"a","dropoff":"b","deadline":""}"#;
    for _ in 0..2 {
        assert_eq!(connection.send("PATCH", &undo, Some("undo"), former).await.status, 204);
    }
    let late = connection.send("PATCH", &change, Some("do"), new).await;
    assert_eq!(late.problem().0, 410);
    assert_eq!(places(connection.send("GET", path, None, "").await.json()), ["a", "b", ""]);
    assert_eq!(fleet.audit().unwrap().services_of("r-1"), []);
    assert_eq!(fleet.audit().unwrap().double_effects(), 0);
    fleet.stop().await;
}

#[tokio::test]
async fn taking_back_a_change_that_never_came_leaves_later_ones_alone() {
    let fleet = fleet().await;
    let mut connection = connect(&fleet, Service::Delivery).await;
    let path = "/api/deliveries/d-1";
    connection.send("PUT", path, None, DELIVERY).await;
    connection.send("PATCH", &format!("{path}?change=r-2"), None, r#"{"dropoff":"y"}"#).await;
    let former = r#"{"pickup":"a","dropoff":"b","deadline":""}"#;
    assert_eq!(connection.send("PATCH", &format!("{path}?undo=r-1"), None, former).await.status, 204);
    assert_eq!(connection.send("GET", path, None, "").await.json()["dropoff"], "y");
    let late = connection.send("PATCH", &format!("{path}?change=r-1"), None, r#"{"dropoff":"z"}"#).await;
    assert_eq!(late.problem().0, 410);
    assert_eq!(connection.send("GET", path, None, "").await.json()["dropoff"], "y");
    fleet.stop().await;
}
