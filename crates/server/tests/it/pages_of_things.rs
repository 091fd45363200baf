//! Pages of workflows, jobs and queues, as a browser uses them: a page is opened, its form is filled in and sent.

use std::fmt::Write;

use http::Method;
use serde_json::{Value, json};

use crate::client::{Answer, call, request};
use crate::jobs_target::Target;
use crate::jobs_world::Scheduler;
use crate::world::World;

type Fields = Vec<(String, String)>;

fn fields(pairs: &[(&str, &str)]) -> Fields {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

/// The fields as a browser sends them.
fn encoded(fields: &Fields) -> String {
    let encode = |text: &str| {
        text.bytes().fold(String::new(), |mut out, byte| {
            if byte.is_ascii_alphanumeric() {
                out.push(char::from(byte));
            } else {
                write!(out, "%{byte:02X}").unwrap();
            }
            out
        })
    };
    let pairs = fields.iter().map(|(name, value)| format!("{}={}", encode(name), encode(value)));
    pairs.collect::<Vec<_>>().join("&")
}

fn form(path: &str, fields: &Fields) -> http::Request<http_body_util::Full<bytes::Bytes>> {
    let mut request = request(Method::POST, path, encoded(fields));
    let kind = http::HeaderValue::from_static("application/x-www-form-urlencoded");
    request.headers_mut().insert("content-type", kind);
    request
}

#[track_caller]
fn location(answer: Answer) -> String {
    answer.expect(303).headers["location"].to_str().unwrap().to_owned()
}

/// Stands in a select until its first option, which is chosen unless another is.
const UNCHOSEN: &str = "\0";

fn plain(text: &str) -> String {
    text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&amp;", "&")
}

/// What a browser would send of the one form with `marker` in it if nobody touched it.
fn untouched(html: &str, marker: &str) -> Fields {
    let form = html.split("<form").find(|form| form.contains(marker)).expect("the form is there");
    let form = form.split("</form>").next().unwrap();
    let attribute = |tag: &str, name: &str| {
        let (_, rest) = tag.split_once(&format!(" {name}=\""))?;
        Some(plain(rest.split('"').next()?))
    };
    let mut found = Vec::new();
    for piece in form.split('<').skip(1) {
        let (tag, text) = piece.split_once('>').unwrap();
        let name = attribute(tag, "name");
        match (tag.split([' ', '>']).next().unwrap(), name) {
            ("input", Some(name)) => {
                let is_box = attribute(tag, "type").as_deref() == Some("checkbox");
                if !is_box || tag.contains(" checked") {
                    found.push((name, attribute(tag, "value").unwrap_or_default()));
                }
            }
            ("textarea", Some(name)) => {
                found.push((name, plain(text.strip_prefix('\n').unwrap_or(text))));
            }
            ("select", Some(name)) => found.push((name, UNCHOSEN.to_owned())),
            ("option", _) => {
                let (_, value) = found.last_mut().expect("options are in a select");
                if tag.contains(" selected") || value == UNCHOSEN {
                    *value = attribute(tag, "value").unwrap_or_default();
                }
            }
            _ => {}
        }
    }
    found
}

fn set(fields: &mut Fields, name: &str, value: &str) {
    fields.retain(|(known, _)| known != name);
    fields.push((name.to_owned(), value.to_owned()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_is_started_from_the_form_of_its_schema() {
    let world = World::start().await;
    let start = "/ui/workflows/drone-delivery/start";
    let page = world.get(start).await.expect(200).text;
    let mut filled = untouched(&page, "name=\"run_id\"");
    for (name, value) in [
        ("f/deliveryId", "from-a-form"),
        ("f/ownerId", "owner"),
        ("f/pickupLocation", "\"here\" <&>"),
        ("f/confirmationRequired", "\"None\""),
        ("f/packageInfo/packageId", "p"),
        ("f/packageInfo/weight", "heavy"),
    ] {
        set(&mut filled, name, value);
    }
    let again = world.call(form(start, &filled)).await.expect(422).text;
    assert!(again.contains("is not a number") && again.contains("&quot;here&quot; &lt;&amp;&gt;"), "{again}");
    set(&mut filled, "f/packageInfo/weight", "1.5");
    let again = world.call(form(start, &filled)).await.expect(422).text;
    let missing = again.split("id=\"f/dropOffLocation\"").nth(1).unwrap().split("</div>").next().unwrap();
    assert!(missing.contains("required"), "the API's message is shown at the field: {missing}");
    set(&mut filled, "f/dropOffLocation", "there");
    set(&mut filled, "f/packageInfo/size", "\"Small\"");
    let to = location(world.call(form(start, &filled)).await);
    assert_eq!(to, "/ui/runs/from-a-form");
    let run = world.wait("from-a-form", "completed").await;
    assert_eq!(run["request"]["pickupLocation"], "\"here\" <&>");
    // Sent twice, it is one run.
    assert_eq!(location(world.call(form(start, &filled)).await), to);
}

// guards: 56
#[tokio::test(flavor = "multi_thread")]
async fn a_workflow_is_not_overwritten_unseen() {
    let world = World::start().await;
    let source = |word: &str| {
        format!(
            "name: mine # {word}\nservices: {{ s: {{ url: \"http://127.0.0.1:9\" }} }}\nsteps:\n  a:\n    call: {{ service: s, method: PUT, path: /a }}\n"
        )
    };
    let page = world.get("/ui/workflows/~new").await.expect(200).text;
    let mut filled = untouched(&page, "name=\"source\"");
    set(&mut filled, "source", "name: mine\nsteps: {}\n");
    set(&mut filled, "do", "check");
    let wrong = world.call(form("/ui/workflows/~new", &filled)).await.expect(422).text;
    assert!(wrong.contains("line 2"), "{wrong}");
    set(&mut filled, "source", &source("one"));
    world.call(form("/ui/workflows/~new", &filled)).await.expect(200);
    world.get("/v1/workflows/mine").await.expect(404);
    set(&mut filled, "do", "apply");
    assert_eq!(location(world.call(form("/ui/workflows/~new", &filled)).await), "/ui/workflows/mine");

    let page = world.get("/ui/workflows/mine/edit").await.expect(200).text;
    let mut mine = untouched(&page, "name=\"source\"");
    world.apply(&source("theirs")).await;
    set(&mut mine, "source", &source("ours"));
    set(&mut mine, "do", "apply");
    let overtaken = world.call(form("/ui/workflows/mine/edit", &mine)).await.expect(422).text;
    assert!(
        overtaken.contains("name: mine # theirs") && overtaken.contains("Overwrite version 2"),
        "{overtaken}"
    );
    let mut seen = untouched(&overtaken, "name=\"source\"");
    assert!(seen.contains(&("source".to_owned(), source("ours"))), "{seen:?}");
    set(&mut seen, "do", "apply");
    location(world.call(form("/ui/workflows/mine/edit", &seen)).await);
    let versions = world.get("/v1/workflows/mine/versions").await.expect(200).json();
    let numbers: Vec<&Value> =
        versions["items"].as_array().unwrap().iter().map(|one| &one["version"]).collect();
    assert_eq!(numbers, [3, 2, 1]);
    let compared = world.get("/ui/workflows/mine/versions?from=1&to=3").await.expect(200).text;
    assert!(
        compared.contains("- name: mine # one") && compared.contains("+ name: mine # ours"),
        "{compared}"
    );
    world.get("/v1/workflows/nobody/versions").await.problem(404);
}

// guards: 56
#[tokio::test(flavor = "multi_thread")]
async fn a_job_is_the_same_after_its_form_and_keeps_its_secret() {
    let (scheduler, target) = (Scheduler::start().await, Target::start().await);
    let send = |path: &'static str, fields: Fields| {
        let address = scheduler.address;
        async move { call(address, form(path, &fields)).await }
    };
    let page = call(scheduler.address, request(Method::GET, "/ui/jobs/~new", "")).await.expect(200).text;
    let mut filled = untouched(&page, "name=\"new_collection\"");
    let url = target.url("/report");
    let later = api_types::Time(scheduler.clock.wall() + types::Span::from_secs(30 * 24 * 3600)).to_string();
    for (name, value) in [
        ("name", "report"),
        ("new_collection", "ops"),
        ("uri", url.as_str()),
        ("headers", "X-A: b"),
        ("body", "line 1\nline 2\n"),
        ("auth", "Basic"),
        ("auth_username", "ann"),
        ("auth_password", "correct horse"),
        ("mode", "every"),
        ("frequency", "week"),
        ("hours", "nine"),
        ("day_friday", "true"),
        ("start", later.as_str()),
        ("time_zone", "Europe/Berlin"),
        ("retry", "none"),
        ("overlap", "allow"),
        ("error_kind", "queue"),
        ("error_queue_name", "alarms"),
        ("error_queue_message", "no report"),
    ] {
        set(&mut filled, name, value);
    }
    let again = send("/ui/jobs/~new", filled.clone()).await.expect(422).text;
    assert!(again.contains("whole numbers"), "{again}");
    set(&mut filled, "hours", "9, 17");
    set(&mut filled, "minutes", "0");
    set(&mut filled, "do", "preview");
    let preview = send("/ui/jobs/~new", filled.clone()).await.expect(200).text;
    assert!(preview.contains(" 09:00:00 CE"), "both time zones are shown: {preview}");
    set(&mut filled, "do", "save");
    assert_eq!(location(send("/ui/jobs/~new", filled).await), "/ui/jobs/ops/report");

    let at = "/v1/collections/ops/jobs/report";
    let before = scheduler.get(at).await;
    assert_eq!(
        before["properties"]["recurrence"]["schedule"],
        json!({ "hours": [9, 17], "minutes": [0], "weekDays": ["friday"] })
    );
    let edit =
        call(scheduler.address, request(Method::GET, "/ui/jobs/ops/report/edit", "")).await.expect(200).text;
    assert!(!edit.contains("correct horse") && edit.contains("name=\"uri\""), "a form, without the secret");
    let mut shown = untouched(&edit, "name=\"version\"");
    let stale = shown.clone();
    set(&mut shown, "do", "save");
    location(send("/ui/jobs/ops/report/edit", shown.clone()).await);
    assert_eq!(scheduler.get(at).await["properties"], before["properties"]);

    let edit =
        call(scheduler.address, request(Method::GET, "/ui/jobs/ops/report/edit", "")).await.expect(200).text;
    let mut changed = untouched(&edit, "name=\"version\"");
    set(&mut changed, "headers", "X-B: c");
    set(&mut changed, "do", "save");
    location(send("/ui/jobs/ops/report/edit", changed).await);
    let after = scheduler.get(at).await;
    assert_eq!(after["properties"]["action"]["request"]["headers"], json!({ "X-B": "c" }));
    location(send("/ui/jobs/ops/report/run", Vec::new()).await);
    let calls = target.wait("/report", 1).await;
    assert_eq!(calls[0].headers["authorization"], "Basic YW5uOmNvcnJlY3QgaG9yc2U=", "the secret was kept");
    assert_eq!(calls[0].body, "line 1\nline 2\n");
    let overtaken = send("/ui/jobs/ops/report/edit", stale).await;
    assert_eq!(overtaken.status.as_u16(), 422, "{}", overtaken.text);
}

// guards: 56
#[tokio::test(flavor = "multi_thread")]
async fn what_the_form_does_not_know_is_edited_as_json() {
    let scheduler = Scheduler::start().await;
    scheduler.put("/v1/collections/ops", &json!({})).await.expect(201);
    let kafka = json!({ "properties": { "action": { "type": "Kafka", "kafka": { "servers": "127.0.0.1:9", "topic": "t",
        "message": "</textarea><script>x</script>", "username": "u", "password": "swordfish-7" } }, "state": "disabled" } });
    let at = "/v1/collections/ops/jobs/odd";
    scheduler.put(at, &kafka).await.expect(201);
    let before = scheduler.get(at).await;
    let edit =
        call(scheduler.address, request(Method::GET, "/ui/jobs/ops/odd/edit", "")).await.expect(200).text;
    assert!(
        edit.contains("name=\"json\"") && !edit.contains("swordfish") && !edit.contains("<script>x"),
        "{edit}"
    );
    let mut shown = untouched(&edit, "name=\"version\"");
    set(&mut shown, "do", "save");
    location(call(scheduler.address, form("/ui/jobs/ops/odd/edit", &shown)).await);
    assert_eq!(scheduler.get(at).await["properties"], before["properties"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_queue_is_made_filled_looked_into_and_emptied() {
    let world = World::start().await;
    let make = fields(&[("kind", "queue"), ("name", "Orders"), ("lock", "45h")]);
    let refused = world.call(form("/ui/queues", &make)).await.expect(422).text;
    assert!(refused.contains("45h is not 1s to 1h") && refused.contains("value=\"Orders\""), "{refused}");
    let make = fields(&[("kind", "queue"), ("name", "Orders"), ("lock", "45s"), ("deliveries_max", "1")]);
    assert_eq!(location(world.call(form("/ui/queues", &make)).await), "/ui/queues/orders");
    let message =
        fields(&[("body", "<b>é</b>"), ("message_id", "m-1"), ("label", "paid"), ("properties", "n=5")]);
    location(world.call(form("/ui/queues/orders/send", &message)).await);
    let page = world.get("/ui/queues/orders").await.expect(200).text;
    assert!(
        page.contains("m-1") && page.contains("&lt;b&gt;é&lt;/b&gt;") && !page.contains("<b>é"),
        "{page}"
    );
    // The settings, saved untouched, stay what they are.
    let before = world.get("/v1/queues/orders").await.json();
    location(world.call(form("/ui/queues/orders/settings", &untouched(&page, "name=\"version\""))).await);
    let after = world.get("/v1/queues/orders").await.json();
    for name in ["lock", "deliveries_max", "duplicate_window", "messages_max", "bytes_max", "sessions"] {
        assert_eq!(after[name], before[name], "{name}");
    }
    let received = world.send_text(Method::POST, "/orders/messages/head?timeout=0", "").await.expect(201);
    let lock = received.headers["location"].to_str().unwrap().to_owned();
    let lock =
        lock.split_once("//").map_or(lock.as_str(), |(_, rest)| &rest[rest.find('/').unwrap()..]).to_owned();
    world.send(Method::POST, &format!("{lock}/deadletter"), &json!({ "reason": "Odd" })).await.expect(200);
    let dead = world.get("/ui/queues/orders?sub_queue=dead").await.expect(200).text;
    assert!(dead.contains("Odd"), "{dead}");
    location(world.call(form("/ui/queues/orders/redrive", &fields(&[("max", "1")]))).await);
    assert_eq!(world.get("/v1/queues/orders").await.json()["counts"]["ready"], 1);
    location(world.call(form("/ui/queues/orders/purge", &fields(&[("sub_queue", "main")]))).await);
    assert_eq!(world.get("/v1/queues/orders").await.json()["counts"]["ready"], 0);
    location(world.call(form("/ui/queues/orders/delete", &Vec::new())).await);
    world.get("/v1/queues/orders").await.expect(404);
}
