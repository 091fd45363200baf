//! Tokens: asked for once, kept, dropped when refused, and never revealed.

use crate::support::job::{Jobs, answer, http_action, recording_server, status_and_text};
use crate::support::{Server, read_request, settings};
use outbound::{ActionPart, JobSettings};
use serde_json::{Value, json};
use types::{Outcome, Span};

const SECRET: &str = "s3cret &+/=%";
const SECRET_IN_FORM: &str = "s3cret+%26%2B%2F%3D%25";

fn token(text: &str, expires_in: &Value) -> String {
    let body = json!({ "token_type": "Bearer", "expires_in": expires_in, "access_token": text });
    answer("200 OK", "", &body.to_string())
}

fn jobs(authority: &Server) -> Jobs {
    let authority = format!("http://{}/", authority.address);
    Jobs::with(settings(), JobSettings { authority, ..JobSettings::default() })
}

fn action(jobs: &Jobs, target: &Server, secret: &str) -> Value {
    let mut action = http_action(&format!("http://{}/", target.address));
    action["request"]["authentication"] = json!({ "type": "ActiveDirectoryOAuth",
        "tenant": "contoso.onmicrosoft.com", "audience": "https://management.core.windows.net/",
        "clientId": "dc23e764", "secret": jobs.vault.seal(secret) });
    action
}

fn bearer(request: &str) -> &str {
    request.lines().find_map(|line| line.strip_prefix("authorization: Bearer ")).unwrap()
}

#[tokio::test]
async fn a_token_is_asked_for_once_and_used_by_all() {
    let (authority, mut asked) = recording_server(&[&token("t0ken", &json!("3599"))]).await;
    let (target, mut called) = recording_server(&[&answer("200 OK", "", "")]).await;
    let jobs = jobs(&authority);
    let calls = (0..20).map(|_| {
        // Sealed again each time: the token depends on the secret, not on how it is stored.
        let action = action(&jobs, &target, SECRET);
        let jobs = &jobs;
        async move { jobs.call(&action).await }
    });
    let calls: Vec<_> = calls.map(Box::pin).collect();
    for outcome in join_all(calls).await {
        assert_eq!(status_and_text(&outcome).0, Some(200));
    }
    for _ in 0..20 {
        assert_eq!(bearer(&called.recv().await.unwrap()), "t0ken");
    }
    let request = asked.recv().await.unwrap();
    assert!(request.starts_with("POST /contoso.onmicrosoft.com/oauth2/token HTTP/1.1\r\n"), "{request}");
    assert!(request.contains("content-type: application/x-www-form-urlencoded\r\n"), "{request}");
    let form = format!(
        "grant_type=client_credentials&client_id=dc23e764&client_secret={SECRET_IN_FORM}\
         &resource=https%3A%2F%2Fmanagement.core.windows.net%2F"
    );
    assert_eq!(request.split_once("\r\n\r\n").unwrap().1, form);
    assert!(asked.try_recv().is_err(), "asked once");
}

async fn join_all<F: Future + Unpin>(mut futures: Vec<F>) -> Vec<F::Output> {
    let mut outputs: Vec<_> = futures.iter().map(|_| None).collect();
    std::future::poll_fn(|cx| {
        for (future, output) in futures.iter_mut().zip(&mut outputs) {
            if output.is_none()
                && let std::task::Poll::Ready(ready) = std::pin::Pin::new(future).poll(cx)
            {
                *output = Some(ready);
            }
        }
        if outputs.iter().all(Option::is_some) {
            std::task::Poll::Ready(())
        } else {
            std::task::Poll::Pending
        }
    })
    .await;
    outputs.into_iter().map(Option::unwrap).collect()
}

#[tokio::test]
async fn another_secret_gets_another_token() {
    let (authority, mut asked) =
        recording_server(&[&token("one", &json!(3599)), &token("other", &json!(3599))]).await;
    let (target, mut called) = recording_server(&[&answer("200 OK", "", "")]).await;
    let jobs = jobs(&authority);
    for (secret, text) in [("a", "one"), ("b", "other"), ("a", "one"), ("b", "other")] {
        jobs.call(&action(&jobs, &target, secret)).await;
        assert_eq!(bearer(&called.recv().await.unwrap()), text);
    }
    asked.recv().await.unwrap();
    asked.recv().await.unwrap();
    assert!(asked.try_recv().is_err());
}

#[tokio::test]
async fn a_token_that_the_target_refuses_is_asked_for_again() {
    let (authority, _asked) =
        recording_server(&[&token("stale", &json!(3599)), &token("new", &json!(3599))]).await;
    let (target, mut called) = recording_server(&[
        &answer("200 OK", "", ""),
        &answer("403 X", "", ""),
        &answer("401 X", "www-authenticate: Bearer\r\n", "stale will not do"),
        &answer("200 OK", "", ""),
    ])
    .await;
    let jobs = jobs(&authority);
    let mut outcomes = Vec::new();
    for _ in 0..4 {
        outcomes.push(jobs.call(&action(&jobs, &target, SECRET)).await);
    }
    for text in ["stale", "stale", "stale", "new"] {
        assert_eq!(bearer(&called.recv().await.unwrap()), text);
    }
    let (status, text) = status_and_text(&outcomes[2]);
    assert_eq!(status, Some(401));
    assert!(text.ends_with("Body: *** will not do"), "{text}");
    assert_eq!(status_and_text(&outcomes[3]).0, Some(200));
}

#[tokio::test]
async fn a_token_at_its_end_is_not_kept() {
    let (authority, mut asked) = recording_server(&[&token("short", &json!(0))]).await;
    let (target, _called) = recording_server(&[&answer("200 OK", "", "")]).await;
    let jobs = jobs(&authority);
    for _ in 0..2 {
        assert_eq!(status_and_text(&jobs.call(&action(&jobs, &target, SECRET)).await).0, Some(200));
        asked.recv().await.unwrap();
    }
}

// guards: 24
#[tokio::test]
async fn without_a_token_the_attempt_fails_and_the_secret_is_not_revealed() {
    let echo = format!("AADSTS7000215: not {SECRET_IN_FORM} nor {SECRET}\u{1b}");
    let refusal = json!({ "error": "invalid_client", "error_description": echo }).to_string();
    let (target, _called) = recording_server(&[&answer("200 OK", "", "")]).await;
    for (reply, expected) in [
        (
            answer("401 X", "", &refusal),
            "no token from '127.0.0.1': 'Unauthorized' invalid_client: AADSTS7000215: not *** nor ***\\u{1b}",
        ),
        (answer("500 X", "", SECRET), "no token from '127.0.0.1': 'InternalServerError'"),
        (answer("302 X", "location: http://127.0.0.1:1/\r\n", ""), "no token from '127.0.0.1': 'Found'"),
        (answer("200 OK", "", SECRET), "no token from '127.0.0.1': none in its answer"),
        (token("two words", &json!(1)), "no token from '127.0.0.1': none in its answer"),
        (token("", &json!(1)), "no token from '127.0.0.1': none in its answer"),
        (
            "no http".to_owned() + SECRET + "\r\n\r\n",
            "no token from '127.0.0.1': response is not valid HTTP: invalid HTTP version parsed",
        ),
    ] {
        let (authority, _asked) = recording_server(&[&reply]).await;
        let jobs = jobs(&authority);
        let outcome = jobs.call(&action(&jobs, &target, SECRET)).await;
        let reason = format!("Http Action - Request to host '127.0.0.1' failed: {expected}");
        assert_eq!(status_and_text(&outcome), (None, reason));
    }
    assert_eq!(target.connections(), 0);
}

#[tokio::test]
async fn the_authoritys_wish_to_be_left_alone_is_passed_on() {
    let (authority, _asked) = recording_server(&[&answer("429 X", "retry-after: 17\r\n", "")]).await;
    let (target, _called) = recording_server(&[&answer("200 OK", "", "")]).await;
    let jobs = jobs(&authority);
    let outcome = jobs.call(&action(&jobs, &target, SECRET)).await;
    assert!(
        matches!(outcome, Outcome::Transient { retry_after: Some(wish), .. } if wish == Span::from_secs(17)),
        "{outcome:?}"
    );
}

#[tokio::test]
async fn the_authority_is_subject_to_the_same_egress_policy() {
    let (target, _called) = recording_server(&[&answer("200 OK", "", "")]).await;
    let guarded = JobSettings { authority: "http://169.254.169.254".to_owned(), ..JobSettings::default() };
    let jobs = Jobs::with(settings(), guarded);
    let (_, text) = status_and_text(&jobs.call(&action(&jobs, &target, SECRET)).await);
    assert!(text.contains("169.254.169.254 is not allowed by the egress policy"), "{text}");
    assert_eq!(target.connections(), 0);
}

#[tokio::test]
async fn a_tenant_cannot_lead_elsewhere() {
    let (authority, mut asked) = recording_server(&[&token("t", &json!(3599))]).await;
    let (target, _called) = recording_server(&[&answer("200 OK", "", "")]).await;
    let jobs = jobs(&authority);
    for tenant in ["", "../x", "a/b", "a?b", "a#b", "a%2fb", "@evil.example", "a b", "\u{e4}"] {
        let mut action = action(&jobs, &target, SECRET);
        action["request"]["authentication"]["tenant"] = json!(tenant);
        let (_, text) = status_and_text(&jobs.call(&action).await);
        assert!(text.ends_with("failed: the tenant is neither a domain nor an id"), "{tenant:?}: {text}");
    }
    assert!(asked.try_recv().is_err());
}

#[tokio::test]
async fn a_call_that_waits_for_its_token_can_be_stopped() {
    let (arrived_tx, mut arrived) = tokio::sync::mpsc::unbounded_channel();
    let silent = Server::start(move |mut stream| {
        let arrived = arrived_tx.clone();
        async move {
            read_request(&mut stream).await;
            arrived.send(()).unwrap();
            // Until the client has gone.
            read_request(&mut stream).await;
        }
    })
    .await;
    let (target, _called) = recording_server(&[&answer("200 OK", "", "")]).await;
    let jobs = jobs(&silent);
    let action = action(&jobs, &target, SECRET);
    let stopping = async {
        arrived.recv().await.unwrap();
        jobs.stop.raise();
    };
    let (outcome, ()) = tokio::join!(jobs.attempt(&action, ActionPart::Main, 1), stopping);
    assert_eq!(outcome, None);
    assert_eq!(target.connections(), 0);
}
