//! Attempts of http actions against servers on loopback: what is sent, and what the history says.

use std::time::Duration;

use crate::support::job::{Jobs, answer, http_action, recording_server, status_and_text};
use crate::support::{Server, read_request, settings};
use outbound::{ActionPart, JobSettings};
use serde_json::{Value, json};
use tokio::io::AsyncReadExt;
use tokio::net::TcpListener;
use types::{Outcome, Span};

fn lines(request: &str) -> Vec<&str> {
    let (head, _) = request.split_once("\r\n\r\n").unwrap();
    let mut lines: Vec<&str> = head.lines().collect();
    lines[1..].sort_unstable();
    lines
}

fn header<'a>(request: &'a str, name: &str) -> &'a str {
    let prefix = format!("{name}: ");
    let mut values = request.lines().filter_map(|line| line.strip_prefix(prefix.as_str()));
    let value = values.next().unwrap_or_else(|| panic!("no {name} in {request}"));
    assert_eq!(values.next(), None, "{name} once in {request}");
    value
}

#[tokio::test]
async fn a_call_carries_what_the_job_says_and_the_facts_of_its_occurrence() {
    let (server, mut requests) = recording_server(&[&answer("200 OK", "", "fine")]).await;
    let action = json!({ "type": "Http", "request": {
        "uri": format!("http://{}/path?q=1", server.address), "method": "post", "body": "some body message!",
        "headers": { "Content-Type": "application/xml", "X-Own": "mine" } } });
    let outcome = Jobs::new().call(&action).await;
    let request = requests.recv().await.unwrap();
    let (request_id, trace) = (header(&request, "x-ms-client-request-id"), header(&request, "traceparent"));
    assert_eq!(request_id.len(), 36);
    let host = format!("host: {}", server.address);
    let expected = [
        "POST /path?q=1 HTTP/1.1",
        "content-length: 18",
        "content-type: application/xml",
        &host,
        "idempotency-key: e927cf76d24da9625608248ce654cfa7",
        &format!("traceparent: {trace}"),
        &format!("user-agent: sortie/{}", env!("CARGO_PKG_VERSION")),
        &format!("x-ms-client-request-id: {request_id}"),
        "x-ms-execution-tag: e927cf76d24da9625608248ce654cfa7",
        "x-ms-scheduler-execution-region: West Europe",
        "x-ms-scheduler-expected-execution-time: 2016-03-30T20:39:52",
        "x-ms-scheduler-jobcollection: rmmsol",
        "x-ms-scheduler-jobid: rm-msol-membership",
        "x-own: mine",
    ];
    assert_eq!(lines(&request), expected);
    assert!(request.ends_with("\r\n\r\nsome body message!"), "{request}");
    let message = "Http Action - Response from host '127.0.0.1': 'OK' Response Headers: Content-Length: 4\r\n Body: fine";
    let output = json!({ "status": 200, "message": message }).to_string().into();
    assert_eq!(outcome, Outcome::Done { status: 200, output });
}

#[tokio::test]
async fn attempts_share_their_trace_and_key_but_not_their_request_id() {
    let (server, mut requests) = recording_server(&[&answer("500 X", "", "")]).await;
    let (jobs, action) = (Jobs::new(), http_action(&format!("http://{}/", server.address)));
    for attempt in 1..=2 {
        jobs.attempt(&action, ActionPart::Main, attempt).await.unwrap();
    }
    let (one, other) = (requests.recv().await.unwrap(), requests.recv().await.unwrap());
    for same in ["idempotency-key", "x-ms-execution-tag"] {
        assert_eq!(header(&one, same), header(&other, same));
    }
    assert_eq!(header(&one, "traceparent")[..36], header(&other, "traceparent")[..36]);
    for different in ["traceparent", "x-ms-client-request-id"] {
        assert_ne!(header(&one, different), header(&other, different));
    }
}

#[tokio::test]
async fn an_actions_own_header_does_not_replace_the_schedulers() {
    let (server, mut requests) = recording_server(&[&answer("200 OK", "", "")]).await;
    let facts = [
        "x-ms-execution-tag",
        "x-ms-client-request-id",
        "x-ms-scheduler-expected-execution-time",
        "x-ms-scheduler-jobid",
        "x-ms-scheduler-jobcollection",
        "x-ms-scheduler-execution-region",
        "idempotency-key",
        "traceparent",
        "host",
    ];
    let own: Value = facts.iter().map(|name| (name.to_uppercase(), json!("forged"))).collect();
    let mut action = http_action(&format!("http://{}/", server.address));
    action["request"]["headers"] = own;
    action["request"]["headers"]["User-Agent"] = json!("mine/1");
    Jobs::new().call(&action).await;
    let request = requests.recv().await.unwrap();
    for fact in facts {
        assert_ne!(header(&request, fact), "forged");
    }
    assert_eq!(header(&request, "user-agent"), "mine/1");
}

#[tokio::test]
async fn every_method_is_sent_with_its_body() {
    for method in ["GET", "PUT", "POST", "DELETE", "PATCH", "OPTIONS", "TRACE", "PURGE"] {
        for body in [None, Some("text")] {
            let (server, mut requests) = recording_server(&[&answer("204 No Content", "", "")]).await;
            let mut action = http_action(&format!("http://{}/", server.address));
            action["request"]["method"] = json!(method);
            action["request"]["body"] = json!(body);
            let outcome = Jobs::new().call(&action).await;
            assert!(matches!(outcome, Outcome::Done { status: 204, .. }), "{method}: {outcome:?}");
            let request = requests.recv().await.unwrap();
            assert!(request.starts_with(&format!("{method} / HTTP/1.1")), "{request}");
            assert_eq!(request.split_once("\r\n\r\n").unwrap().1, body.unwrap_or(""));
        }
    }
    let head = "HTTP/1.1 200 OK\r\ncontent-length: 500\r\n\r\n";
    let (server, _requests) = recording_server(&[head]).await;
    let mut action = http_action(&format!("http://{}/", server.address));
    action["request"]["method"] = json!("HEAD");
    assert!(matches!(Jobs::new().call(&action).await, Outcome::Done { status: 200, .. }));
}

#[tokio::test]
async fn only_2xx_is_done_and_all_else_is_for_the_retry_policy() {
    let jobs = Jobs::new();
    for status in [200, 201, 202, 204, 226, 299] {
        let (server, _requests) = recording_server(&[&answer(&format!("{status} X"), "", "")]).await;
        let outcome = jobs.call(&http_action(&format!("http://{}/", server.address))).await;
        assert!(matches!(outcome, Outcome::Done { status: done, .. } if done == status), "{outcome:?}");
    }
    for status in [300, 301, 304, 400, 401, 403, 404, 409, 410, 418, 429, 500, 501, 503, 599, 799] {
        let (server, _requests) = recording_server(&[&answer(&format!("{status} X"), "", "why")]).await;
        let outcome = jobs.call(&http_action(&format!("http://{}/", server.address))).await;
        let Outcome::Transient { status: Some(answered), reason, retry_after: None } = outcome else {
            panic!("{status}: {outcome:?}")
        };
        assert_eq!(answered, status);
        assert!(reason.starts_with("Http Action - Response from host '127.0.0.1': '"), "{reason}");
        assert!(reason.ends_with(" Body: why") || status == 304, "{reason}");
    }
}

#[tokio::test]
async fn the_services_wish_to_be_left_alone_is_passed_on() {
    let (server, _requests) = recording_server(&[&answer("503 X", "retry-after: 120\r\n", "")]).await;
    let outcome = Jobs::new().call(&http_action(&format!("http://{}/", server.address))).await;
    assert!(
        matches!(outcome, Outcome::Transient { retry_after: Some(wish), .. } if wish == Span::from_secs(120)),
        "{outcome:?}"
    );
}

#[tokio::test]
async fn redirects_are_failures_and_not_followed() {
    let (elsewhere, _requests) = recording_server(&[&answer("200 OK", "", "")]).await;
    for status in [301, 302, 303, 307, 308] {
        let location = format!("location: http://{}/\r\n", elsewhere.address);
        let (server, _requests) = recording_server(&[&answer(&format!("{status} X"), &location, "")]).await;
        let outcome = Jobs::new().call(&http_action(&format!("http://{}/", server.address))).await;
        assert_eq!(status_and_text(&outcome).0, Some(status));
    }
    assert_eq!(elsewhere.connections(), 0);
}

#[tokio::test]
async fn what_cannot_be_called_is_a_failed_attempt_with_its_reason() {
    let closed = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let closed_url = format!("http://{}/", closed.local_addr().unwrap());
    drop(closed);
    let jobs = Jobs::new();
    for (uri, reason) in [
        (
            "http://10.0.0.1/",
            "Http Action - Request to host '10.0.0.1' failed: call refused: 10.0.0.1 is not allowed by the egress policy; egress.networks can allow it",
        ),
        (
            "http://169.254.169.254/latest",
            "Http Action - Request to host '169.254.169.254' failed: call refused: ",
        ),
        (
            "ftp://example.com/",
            "Http Action - Request failed: call refused: url's scheme is neither http nor https",
        ),
        (
            "http://me:hunter2@example.com/",
            "Http Action - Request failed: call refused: url contains user info; put credentials into a header",
        ),
        (
            "http://0x7f.1/",
            "Http Action - Request failed: call refused: url's host is an address in an unusual form",
        ),
        (&closed_url, "Http Action - Request to host '127.0.0.1' failed: connecting failed: "),
    ] {
        let outcome = jobs.call(&http_action(uri)).await;
        let Outcome::Transient { status: None, reason: failure, .. } = &outcome else {
            panic!("{uri}: {outcome:?}")
        };
        assert!(failure.starts_with(reason), "{failure}");
        assert!(!failure.contains("hunter2"), "{failure}");
    }
}

#[tokio::test]
async fn an_answer_that_does_not_come_is_unknown() {
    let silent = Server::start(|mut stream| async move {
        read_request(&mut stream).await;
        // Until the client has had enough.
        let _ = stream.read(&mut [0; 1]).await;
    })
    .await;
    let jobs = JobSettings { timeout: Duration::from_millis(200), ..JobSettings::default() };
    let outcome =
        Jobs::with(settings(), jobs).call(&http_action(&format!("http://{}/", silent.address))).await;
    let reason =
        "Http Action - Request to host '127.0.0.1' failed: no response by the deadline (request sent)";
    assert_eq!(outcome, Outcome::Unknown { reason: reason.to_owned() });

    let rude = Server::start(|mut stream| async move {
        read_request(&mut stream).await;
    })
    .await;
    let outcome = Jobs::new().call(&http_action(&format!("http://{}/", rude.address))).await;
    assert!(matches!(outcome, Outcome::Unknown { .. }), "{outcome:?}");
}

#[tokio::test]
async fn an_answer_larger_than_is_read_counts_by_its_status() {
    for (status, done) in [("200 OK", true), ("500 X", false)] {
        let (server, _requests) = recording_server(&[&answer(status, "", &"x".repeat(1_000_000))]).await;
        let outcome = Jobs::new().call(&http_action(&format!("http://{}/", server.address))).await;
        assert_eq!(matches!(outcome, Outcome::Done { .. }), done, "{outcome:?}");
        assert!(status_and_text(&outcome).1.ends_with(&format!(" Body: {}", "x".repeat(1024))));
    }
}

// guards: 24
#[tokio::test]
async fn basic_credentials_are_sent_and_never_revealed() {
    // "aladdin:opensesame" in base64.
    let credentials = "YWxhZGRpbjpvcGVuc2VzYW1l";
    let echo = format!("you said Basic {credentials} that is opensesame");
    let (server, mut requests) =
        recording_server(&[&answer("401 X", "x-echo: opensesame\r\nset-cookie: id=7\r\n", &echo)]).await;
    let jobs = Jobs::new();
    let mut action = http_action(&format!("http://{}/", server.address));
    action["request"]["headers"] = json!({ "Authorization": "Bearer own" });
    action["request"]["authentication"] =
        json!({ "type": "Basic", "username": "aladdin", "password": jobs.vault.seal("opensesame") });
    let outcome = jobs.call(&action).await;
    assert_eq!(header(&requests.recv().await.unwrap(), "authorization"), format!("Basic {credentials}"));
    let (_, text) = status_and_text(&outcome);
    let length = echo.len();
    let end = format!(
        "X-Echo: ***\r\nSet-Cookie: ***\r\nContent-Length: {length}\r\n Body: you said Basic *** that is ***"
    );
    assert!(text.ends_with(&end), "{text}");
}

#[tokio::test]
async fn credentials_in_the_headers_of_an_action_are_not_revealed() {
    let (server, mut requests) = recording_server(&[&answer("200 OK", "", "echo s3cr3t-value")]).await;
    let mut action = http_action(&format!("http://{}/", server.address));
    action["request"]["headers"] = json!({ "X-Api-Key": "s3cr3t-value" });
    let (_, text) = status_and_text(&Jobs::new().call(&action).await);
    assert!(text.ends_with(" Body: echo ***"), "{text}");
    assert_eq!(header(&requests.recv().await.unwrap(), "x-api-key"), "s3cr3t-value");
}

#[tokio::test]
async fn a_secret_that_cannot_be_unsealed_fails_the_attempt_before_it_leaves() {
    let (server, _requests) = recording_server(&[&answer("200 OK", "", "")]).await;
    let foreign = vault::Vault::new([8; 32]).seal("hush");
    let jobs = Jobs::new();
    let damaged = jobs.vault.seal("hush").replace(':', ":A");
    for (password, reason) in [
        ("plain hush", "the password cannot be unsealed: the text is not a sealed secret"),
        (&foreign, "which this vault does not have"),
        (&damaged, "the password cannot be unsealed: "),
    ] {
        let mut action = http_action(&format!("http://{}/", server.address));
        action["request"]["authentication"] =
            json!({ "type": "Basic", "username": "u", "password": password });
        let (status, text) = status_and_text(&jobs.call(&action).await);
        assert_eq!(status, None);
        assert!(
            text.starts_with("Http Action - Request to host '127.0.0.1' failed: ") && text.contains(reason),
            "{text}"
        );
        assert!(!text.contains("hush"), "{text}");
    }
    assert_eq!(server.connections(), 0);
}

#[tokio::test]
async fn an_endpoint_that_is_down_sees_every_attempt() {
    let (server, mut requests) = recording_server(&[&answer("503 X", "retry-after: 3600\r\n", "")]).await;
    let (jobs, action) = (Jobs::new(), http_action(&format!("http://{}/", server.address)));
    // In a task of its own, as the engine's orders are carried out.
    let attempts = tokio::spawn(async move {
        for attempt in 1..=50 {
            let outcome = jobs.attempt(&action, ActionPart::Main, attempt).await.unwrap();
            assert_eq!(status_and_text(&outcome).0, Some(503));
        }
    });
    attempts.await.unwrap();
    for _ in 1..=50 {
        requests.recv().await.unwrap();
    }
}

#[tokio::test]
async fn calls_to_one_origin_wait_for_their_turn_and_can_be_stopped_there() {
    let (release, released) = tokio::sync::watch::channel(false);
    let (arrived_tx, mut arrived) = tokio::sync::mpsc::unbounded_channel();
    let server = Server::start(move |mut stream| {
        let (mut released, arrived) = (released.clone(), arrived_tx.clone());
        async move {
            use tokio::io::AsyncWriteExt;
            while read_request(&mut stream).await.is_some() {
                // The test may be over.
                let _ = arrived.send(());
                released.wait_for(|released| *released).await.unwrap();
                stream.write_all(answer("200 OK", "", "").as_bytes()).await.unwrap();
            }
        }
    })
    .await;
    let (elsewhere, _requests) = recording_server(&[&answer("200 OK", "", "")]).await;
    let bound = JobSettings { calls_per_origin: 2, ..JobSettings::default() };
    let jobs = Jobs::with(settings(), bound);
    let action = http_action(&format!("http://{}/", server.address));
    let (one, other) = (jobs.call(&action), jobs.call(&action));
    let rest = async {
        arrived.recv().await.unwrap();
        arrived.recv().await.unwrap();
        // A third one waits, and another origin does not.
        let third = Jobs { stop: order::Stop::default(), caller: jobs.caller.clone(), ..Jobs::new() };
        let outcome = jobs.call(&http_action(&format!("http://{}/", elsewhere.address))).await;
        assert_eq!(status_and_text(&outcome).0, Some(200));
        let stopped = async {
            tokio::task::yield_now().await;
            third.stop.raise();
        };
        let attempt = async { tokio::join!(third.attempt(&action, ActionPart::Main, 1), stopped).0 };
        tokio::select! {
            withdrawn = attempt => assert_eq!(withdrawn, None),
            _ = arrived.recv() => panic!("the third call went without a turn"),
        }
        release.send(true).unwrap();
    };
    let (one, other, ()) = tokio::join!(one, other, rest);
    assert_eq!((status_and_text(&one).0, status_and_text(&other).0), (Some(200), Some(200)));
    // The turns are free again, and the withdrawn call has never arrived.
    assert_eq!(status_and_text(&jobs.call(&action).await).0, Some(200));
    arrived.recv().await.unwrap();
    assert!(arrived.try_recv().is_err());
}

#[tokio::test]
async fn the_error_action_is_called_when_it_is_meant() {
    let (main, mut main_requests) = recording_server(&[&answer("200 OK", "", "")]).await;
    let (error, mut error_requests) = recording_server(&[&answer("200 OK", "", "")]).await;
    let mut action = http_action(&format!("http://{}/main", main.address));
    let jobs = Jobs::new();
    let none = jobs.attempt(&action, ActionPart::Error, 1).await.unwrap();
    assert_eq!(status_and_text(&none).1, "Action cannot be carried out: the job has no errorAction");
    action["errorAction"] = http_action(&format!("http://{}/error", error.address));
    jobs.attempt(&action, ActionPart::Error, 1).await.unwrap();
    assert!(error_requests.recv().await.unwrap().starts_with("GET /error "));
    assert!(main_requests.try_recv().is_err());
}

#[tokio::test]
async fn a_workflow_action_starts_one_run_per_occurrence() {
    let jobs = Jobs::new();
    let mut action = json!({ "type": "Workflow", "workflow": { "name": "ship", "body": { "a": 1 } } });
    let outcome = jobs.call(&action).await;
    let message = "Workflow Action - Run 'e927cf76d24da9625608248ce654cfa7' of workflow 'ship' started";
    assert_eq!(status_and_text(&outcome), (Some(202), message.to_owned()));
    action["workflow"]["id"] = json!("own");
    jobs.call(&action).await;
    let started: Vec<_> = jobs.started.0.lock().unwrap().iter().map(|start| start.id.clone()).collect();
    assert_eq!(started, ["e927cf76d24da9625608248ce654cfa7", "own"]);
    assert_eq!(jobs.started.0.lock().unwrap()[0].body, r#"{"a":1}"#);

    action["workflow"]["name"] = json!("unknown");
    let message = "Workflow Action - Run of workflow 'unknown' not started: no such workflow";
    assert_eq!(status_and_text(&jobs.call(&action).await), (None, message.to_owned()));
}

#[tokio::test]
async fn an_action_without_its_target_says_so() {
    for (kind, target) in [("Https", "request"), ("StorageQueue", "queueMessage"), ("RabbitMq", "rabbitMq")] {
        let outcome = Jobs::new().call(&json!({ "type": kind })).await;
        let reason = format!("Action cannot be carried out: it has no {target:?}");
        assert_eq!(outcome, Outcome::Transient { status: None, reason, retry_after: None });
    }
}
