//! A reschedule is a request of its own, ordered after the delivery by its key.

use drone_delivery::Service;
use http::Method;
use serde_json::json;

use crate::world::World;

#[tokio::test(flavor = "multi_thread")]
async fn a_reschedule_waits_for_its_delivery_and_then_takes_effect() {
    let world = World::start().await;
    world.switch(Service::Drone, json!({ "latency_ms": 500 }));
    world.post_delivery("d-1").await.expect(202);
    let change = json!({
        "deliveryId": "ignored",
        "pickupLocation": "1,1,1",
        "dropOffLocation": "2,2,2",
        "deadline": "noon",
        "pickupTime": "2030-05-09T20:00:00Z",
    });
    let answer = world.send(Method::PATCH, "/api/deliveryrequests/d-1", &change).await.expect(200);
    assert_eq!(answer.text, "d-1");
    let listed = loop {
        // It is listed once it has left the inbox.
        let page = world.get("/v1/runs?workflow=drone-reschedule").await.expect(200).json();
        if let Some(run) = page["items"].get(0) {
            break run.clone();
        }
    };
    let reschedule = listed["id"].as_str().unwrap().to_owned();
    assert_eq!(listed["key"], "d-1");
    let done = world.wait(&reschedule, "completed").await;
    let delivery = world.run("d-1").await;
    assert_eq!(delivery["status"], "completed");
    let begun = done["timeline"].as_array().unwrap().iter().find(|m| m["what"] == "started").unwrap();
    assert!(
        begun["at"].as_str() >= delivery["ended_at"].as_str(),
        "the change began before the delivery ended"
    );

    let address = world.fleet.addresses()[&Service::Delivery];
    let get = crate::client::request(Method::GET, "/api/deliveries/d-1", "");
    let stored = crate::client::call(address, get).await.expect(200).json();
    assert_eq!(stored["deadline"], "noon");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_of_what_does_not_exist_is_refused() {
    let world = World::start().await;
    let change = json!({ "pickupLocation": "1,1,1", "dropOffLocation": "2,2,2", "deadline": "" });
    let (code, _) = world.send(Method::PATCH, "/api/deliveryrequests/nobody", &change).await.problem(404);
    assert_eq!(code, "not_found");
}
