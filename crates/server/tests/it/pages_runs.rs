//! The pages of runs as a browser asks for them: lists, a run, its steps, and the forms.

use bytes::Bytes;
use drone_delivery::Service;
use http::{Method, Request};
use http_body_util::Full;
use serde_json::json;

use crate::client::Answer;
use crate::jobs_target::Target;
use crate::world::World;

async fn page(world: &World, path: &str) -> String {
    world.get(path).await.expect(200).text
}

async fn submit(world: &World, path: &str, form: &str) -> Answer {
    let request = Request::builder().method(Method::POST).uri(path).header("host", "localhost");
    let request = request.header("content-type", "application/x-www-form-urlencoded");
    world.call(request.body(Full::new(Bytes::from(form.to_owned()))).unwrap()).await
}

#[track_caller]
fn has(page: &str, text: &str) {
    assert!(page.contains(text), "no {text:?} in {page}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_delivery_is_found_and_its_steps_are_shown_with_what_they_sent() {
    let world = World::start().await;
    world.post_delivery("d-1").await.expect(202);
    world.wait("d-1", "completed").await;
    let list = page(&world, "/ui/runs?workflow=drone-delivery&within=1h").await;
    has(&list, r#"href="/ui/runs/d-1""#);
    has(&list, r#"<option value="drone-delivery">"#);
    let found = world.get("/ui/runs?id=d-1").await.expect(303);
    assert_eq!(found.headers["location"], "/ui/runs/d-1");
    has(&page(&world, "/ui/runs?id=d-2").await, "Run not found");
    has(&page(&world, "/ui/runs?from=yesterday").await, "from: ");
    has(&page(&world, "/ui/runs?cursor=x").await, "cursor: ");

    let run = page(&world, "/ui/runs/d-1").await;
    has(&run, "All steps are done");
    has(&run, r#"class="bar do done""#);
    has(&run, "/ui/runs/d-1/steps/drone");
    let step = page(&world, "/ui/runs/d-1/steps/drone").await;
    has(&step, "curl -gX PUT");
    has(&step, "idempotency-key: d-1/drone/do");
    has(&page(&world, "/ui/runs/d-1/steps/drone?work=undo").await, "curl -gX DELETE");
    world.get("/ui/runs/d-2").await.expect(404);
    world.get("/ui/runs/d-1/steps/nothing").await.expect(404);
}

// guards: 56
#[tokio::test(flavor = "multi_thread")]
async fn a_parked_run_is_decided_on_by_a_form_and_nothing_typed_is_lost() {
    let world = World::start().await;
    world.switch(Service::Drone, json!({ "refuse": ["d-1"] }));
    world.switch(Service::Package, json!({ "undo_refuse": ["d-1", "mypackage"] }));
    world.post_delivery("d-1").await.expect(202);
    world.wait("d-1", "parked").await;
    let parked = page(&world, "/ui/parked").await;
    has(&parked, "undo of step package failed");
    has(&parked, "Unresolved steps: package");

    let decide = async |form: &str| submit(&world, "/ui/runs/d-1/decide", form).await;
    has(&decide("decision=skip&step=package").await.expect(422).text, "note: required");
    let wrong = decide("decision=instead&step=package&note=try+another&action=%7Bnot").await.expect(422).text;
    has(&wrong, "action: not valid JSON");
    has(&wrong, r#"value="try another""#);
    has(&wrong, "{not</textarea>");
    let refused = decide("decision=skip&step=drone&note=x").await.expect(422).text;
    has(&refused, "package");
    assert_eq!(world.run("d-1").await["status"], "parked");

    world.switch(Service::Package, json!({ "undo_refuse": [] }));
    let done = decide("decision=retry&step=package&note=well+again&back=parked").await.expect(303);
    assert_eq!(done.headers["location"], "/ui/parked");
    world.wait("d-1", "undone").await;
    let run = page(&world, "/ui/runs/d-1").await;
    has(&run, "Rolled back");
    has(&run, "“well again”");
    has(&page(&world, "/ui/parked").await, "No parked runs");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_under_way_is_cancelled_by_a_form() {
    let (world, target) = (World::start().await, Target::start().await);
    let url = target.url("");
    world
        .apply(&format!(
            "name: slow\nservices:\n  s: {{ url: \"{url}\" }}\nsteps:\n  wait:\n    \
             call: {{ service: s, method: POST, path: /held }}\n    undo: {{ service: s, method: DELETE, path: /gone }}\n"
        ))
        .await;
    world.send(Method::PUT, "/v1/workflows/slow/runs/s-1", &json!({})).await.expect(202);
    target.wait("/held", 1).await;
    let run = page(&world, "/ui/runs/s-1").await;
    has(&run, "Waiting for the response to step <strong>wait</strong>");
    has(&run, "/ui/runs/s-1/cancel");
    let done = submit(&world, "/ui/runs/s-1/cancel", "").await.expect(303);
    assert_eq!(done.headers["location"], "/ui/runs/s-1");
    target.let_go();
    world.wait("s-1", "undone").await;
    has(&page(&world, "/ui/runs/s-1").await, "cancelled by");
}

#[tokio::test(flavor = "multi_thread")]
async fn parked_runs_are_retried_together_after_a_dry_run() {
    let world = World::start().await;
    let ids = ["d-1", "d-2"];
    world.switch(Service::Drone, json!({ "refuse": ids }));
    world.switch(Service::Package, json!({ "undo_refuse": ["d-1", "d-2", "mypackage"] }));
    for id in ids {
        world.post_delivery(id).await.expect(202);
        world.wait(id, "parked").await;
    }
    has(&page(&world, "/ui/bulk").await, "No bulk operations");
    let dry = page(&world, "/ui/bulk/new?status=parked&action=retry").await;
    has(&dry, "Dry run: 2 runs");
    has(&dry, "what failed is tried again");
    has(&page(&world, "/ui/bulk/new?id=d-1&action=retry").await, "Dry run: 1 run<");
    has(&page(&world, "/ui/bulk/new?checked=yes&action=retry").await, "id: no run is selected");
    has(&page(&world, "/ui/bulk/new?status=completed&action=retry").await, "select.status");
    assert_eq!(world.run("d-1").await["status"], "parked");
    has(&submit(&world, "/ui/bulk", "action=retry&rate=fast").await.expect(422).text, "rate: ");

    world.switch(Service::Package, json!({ "undo_refuse": [] }));
    let begun = submit(&world, "/ui/bulk", "action=retry&status=parked&note=well+again").await.expect(303);
    for id in ids {
        world.wait(id, "undone").await;
    }
    let at = begun.headers["location"].to_str().unwrap().to_owned();
    for _ in 0..1200 {
        if page(&world, &at).await.contains("2 of 2 (100 %)") {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    panic!("the bulk is not through: {}", page(&world, &at).await);
}
