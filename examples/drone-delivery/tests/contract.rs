//! What holds for every service: one effect however often it is asked for, and an undo that always wins.
#![allow(clippy::unwrap_used, reason = "a test may panic anywhere")]

mod common;

use common::{ROWS, ask, connect, fleet};
use drone_delivery::{Effect, Service};

/// The effects at a service in their order.
fn effects(fleet: &drone_delivery::Fleet, service: Service) -> Vec<Effect> {
    fleet.entries(service).unwrap().into_iter().map(|entry| entry.effect).collect()
}

#[tokio::test]
async fn a_put_creates_once_and_a_repeat_changes_nothing() {
    let fleet = fleet().await;
    for row in &ROWS {
        let path = row.path("x-1");
        let first = ask(&fleet, row.service, "PUT", &path, &row.body_with_id("x-1")).await;
        assert_eq!(first.status, 201, "{first:?}");
        for _ in 0..2 {
            let again = ask(&fleet, row.service, "PUT", &path, row.body).await;
            assert_eq!(again.status, row.repeat, "{again:?}");
            assert_eq!(again.body.is_empty(), row.repeat == 204, "{again:?}");
        }
        assert_eq!(effects(&fleet, row.service), [Effect::Create], "{}", row.service);
        assert_eq!(fleet.totals(row.service).repeats, 2);
    }
    fleet.stop().await;
}

#[tokio::test]
async fn a_put_of_other_content_is_an_update() {
    let fleet = fleet().await;
    for row in &ROWS {
        ask(&fleet, row.service, "PUT", &row.path("x-1"), row.body).await;
        let other = ask(&fleet, row.service, "PUT", &row.path("x-1"), row.other_body).await;
        assert_eq!(other.status, row.repeat, "{other:?}");
        assert_eq!(effects(&fleet, row.service), [Effect::Create, Effect::Update], "{}", row.service);
    }
    fleet.stop().await;
}

// guards: 4
#[tokio::test]
async fn a_key_gives_its_recorded_answer_and_belongs_to_one_request() {
    let fleet = fleet().await;
    for row in &ROWS {
        let mut connection = connect(&fleet, row.service).await;
        let path = row.path("x-1");
        let first = connection.send("PUT", &path, Some("k1"), row.body).await;
        // Another request changes the thing; the answer to the key stays.
        connection.send("PUT", &path, Some("k2"), row.other_body).await;
        let again = connection.send("PUT", &path, Some("k1"), row.body).await;
        assert_eq!((again.status, &again.body), (201, &first.body), "{again:?}");
        assert_eq!(again.header("idempotent-replay"), Some("true"));

        let other_body = connection.send("PUT", &path, Some("k1"), row.other_body).await;
        assert_eq!(other_body.problem(), (422, "key_reused".to_owned(), None));
        let other_path = connection.send("PUT", &row.path("x-2"), Some("k1"), row.body).await;
        assert_eq!(other_path.problem(), (422, "key_reused".to_owned(), None));
        assert_eq!(effects(&fleet, row.service), [Effect::Create, Effect::Update], "{}", row.service);
    }
    fleet.stop().await;
}

#[tokio::test]
async fn what_is_wrong_is_pointed_at_and_nothing_happens() {
    let fleet = fleet().await;
    for row in &ROWS {
        for (body, pointer) in row.wrong {
            let reply = ask(&fleet, row.service, "PUT", &row.path("x-1"), body).await;
            assert_eq!(reply.problem(), (400, "invalid".to_owned(), Some((*pointer).to_owned())), "{body}");
        }
        for body in ["", "[]", "7", "{\"a\":", "\u{0}"] {
            let reply = ask(&fleet, row.service, "PUT", &row.path("x-1"), body).await;
            assert_eq!(reply.problem(), (400, "invalid".to_owned(), Some(String::new())), "{body}");
        }
        let reply = ask(&fleet, row.service, "PUT", &row.path("x-1"), &row.body_with_id("x-2")).await;
        assert_eq!(reply.problem(), (400, "id_mismatch".to_owned(), Some("/id".to_owned())));
        assert_eq!(effects(&fleet, row.service), []);
    }
    fleet.stop().await;
}

#[tokio::test]
async fn what_is_unknown_is_not_found() {
    let fleet = fleet().await;
    for row in &ROWS {
        let reply = ask(&fleet, row.service, "GET", &row.path("nobody"), "").await;
        match row.service {
            Service::Account => assert_eq!((reply.status, &reply.body[..]), (200, &b"true"[..])),
            _ => assert_eq!(reply.problem(), (404, "not_found".to_owned(), None)),
        }
        for path in ["/", "/api", row.folder, "/api/nothing/x"] {
            assert_eq!(ask(&fleet, row.service, "GET", path, "").await.status, 404, "{path}");
        }
        let wrong_method = ask(&fleet, row.service, "POST", &row.path("x"), row.body).await;
        assert_eq!(wrong_method.problem().0, 405);
        assert!(wrong_method.header("allow").unwrap().contains("DELETE"));
    }
    fleet.stop().await;
}

#[tokio::test]
async fn a_put_after_the_delete_is_refused_and_has_no_effect() {
    let fleet = fleet().await;
    for row in &ROWS {
        let mut connection = connect(&fleet, row.service).await;
        let path = row.path("x-1");
        assert_eq!(connection.send("PUT", &path, Some("do"), row.body).await.status, 201);
        assert_eq!(connection.send("DELETE", &path, Some("undo"), "").await.status, 204);
        // The same request once more, late; another with a new key; one without a key.
        for (key, body) in [(Some("do"), row.body), (Some("new"), row.body), (None, row.other_body)] {
            let late = connection.send("PUT", &path, key, body).await;
            assert_eq!(late.problem(), (410, "gone".to_owned(), None), "{key:?}");
        }
        assert_eq!(effects(&fleet, row.service), [Effect::Create, Effect::Delete], "{}", row.service);
        assert_eq!(fleet.totals(row.service).gone, 3);
        let gone = connection.send("GET", &path, None, "").await;
        assert_eq!(gone.status, if row.service == Service::Account { 200 } else { 404 });
    }
    fleet.stop().await;
}

// guards: 6
#[tokio::test]
async fn an_undo_before_the_do_wins() {
    let fleet = fleet().await;
    for row in &ROWS {
        let mut connection = connect(&fleet, row.service).await;
        let path = row.path("x-1");
        assert_eq!(connection.send("DELETE", &path, Some("undo"), "").await.status, 204);
        let late = connection.send("PUT", &path, Some("do"), row.body).await;
        assert_eq!(late.problem(), (410, "gone".to_owned(), None));
        assert_eq!(effects(&fleet, row.service), [Effect::Tombstone], "{}", row.service);
    }
    let audit = fleet.audit().unwrap();
    assert_eq!((audit.effects, audit.double_effects()), (0, 0));
    assert_eq!(audit.services_of("x-1"), []);
    fleet.stop().await;
}

#[tokio::test]
async fn a_delete_can_be_repeated_with_and_without_its_key() {
    let fleet = fleet().await;
    for row in &ROWS {
        let mut connection = connect(&fleet, row.service).await;
        let path = row.path("x-1");
        connection.send("PUT", &path, None, row.body).await;
        for key in [Some("undo"), Some("undo"), Some("other"), None] {
            assert_eq!(connection.send("DELETE", &path, key, "").await.status, 204, "{key:?}");
        }
        assert_eq!(effects(&fleet, row.service), [Effect::Create, Effect::Delete], "{}", row.service);
    }
    fleet.stop().await;
}

#[tokio::test]
async fn paths_may_be_spelled_as_in_the_reference() {
    let fleet = fleet().await;
    for row in &ROWS {
        let path = format!("{}/X-1", row.reference_folder);
        assert_eq!(ask(&fleet, row.service, "PUT", &path, row.body).await.status, 201, "{path}");
        let again = ask(&fleet, row.service, "PUT", &row.path("X-1"), row.body).await;
        assert_eq!(again.status, row.repeat, "{path}");
        let other_id = ask(&fleet, row.service, "PUT", &row.path("x-1"), row.body).await;
        assert_eq!(other_id.status, 201, "ids keep their case");
    }
    fleet.stop().await;
}

#[tokio::test]
async fn ids_of_any_text_are_kept_as_they_are() {
    let fleet = fleet().await;
    for row in &ROWS {
        let path = row.path("a%20b%2F%22%C3%BC");
        assert_eq!(ask(&fleet, row.service, "PUT", &path, row.body).await.status, 201);
        assert_eq!(fleet.entries(row.service).unwrap()[0].id, "a b/\"ü");
        for bad in [row.path("%00"), row.path("%ff"), row.path(&"x".repeat(257))] {
            let reply = ask(&fleet, row.service, "PUT", &bad, row.body).await;
            assert_eq!(reply.problem().1, "invalid_id", "{bad}");
        }
    }
    let body = format!("{{\"tag\":\"{}\"}}", "x".repeat(70_000));
    assert_eq!(ask(&fleet, Service::Package, "PUT", "/api/packages/p", &body).await.problem().0, 413);
    fleet.stop().await;
}
