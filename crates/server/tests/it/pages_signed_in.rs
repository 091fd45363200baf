//! Pages of a server with tokens, as a browser asks for them: with a cookie, and never with a header of its own.

use http::Method;
use server::{Config, Running, TokenConfig};

use crate::client::{Answer, call, request};

/// A step that never ends: nobody listens there.
const WORKFLOW: &str = r#"
name: waits
retry: { type: fixed, delay: 1h, attempts: 9 }
services: { nobody: { url: "http://127.0.0.1:9" } }
steps: { ask: { call: { service: nobody, method: GET, path: / } } }
"#;

struct Guarded {
    running: Running,
    _directory: tempfile::TempDir,
}

impl Guarded {
    /// A server with a run, `r-1`.
    async fn start() -> Guarded {
        let directory = tempfile::tempdir().unwrap();
        let mut config = Config::dev(directory.path().join("data"), 0);
        for (name, role) in [("ops", "admin"), ("eyes", "viewer")] {
            let secret = Some(format!("{name}-secret-of-16-characters"));
            config
                .tokens
                .insert(name.to_owned(), TokenConfig { role: role.to_owned(), sha256: None, secret });
        }
        let running = server::start(config).await.unwrap();
        running.apply(WORKFLOW).await.unwrap();
        let mut start = request(Method::PUT, "/v1/workflows/waits/runs/r-1", "{}");
        start.headers_mut().insert("authorization", "Bearer ops-secret-of-16-characters".parse().unwrap());
        call(running.address(), start).await.expect(202);
        Guarded { running, _directory: directory }
    }

    /// What a browser gets that is signed in as somebody, or not at all.
    async fn browse(&self, who: Option<&str>, method: Method, path: &str) -> Answer {
        let mut request = request(method, path, "");
        if let Some(who) = who {
            let cookie = format!("sortie_token={who}-secret-of-16-characters");
            request.headers_mut().insert("cookie", cookie.parse().unwrap());
        }
        call(self.running.address(), request).await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_raw_json_of_a_run_is_for_whoever_may_see_its_page() {
    let server = Guarded::start().await;
    let page = server.browse(Some("eyes"), Method::GET, "/ui/runs/r-1").await.expect(200).text;
    assert!(page.contains("href=\"/ui/runs/r-1/raw\""), "{page}");
    assert!(!page.contains("\"/v1/"), "browsers have no header for the API: {page}");
    let raw = server.browse(Some("eyes"), Method::GET, "/ui/runs/r-1/raw").await.expect(200);
    assert_eq!(raw.headers["content-type"], "application/json");
    assert_eq!(raw.json()["id"], "r-1");
    server.browse(Some("eyes"), Method::GET, "/ui/runs/r-2/raw").await.expect(404);
    let stranger = server.browse(None, Method::GET, "/ui/runs/r-1/raw").await.expect(303);
    assert_eq!(stranger.headers["location"], "/ui/sign-in?next=%2Fui%2Fruns%2Fr-1%2Fraw");
    server.browse(None, Method::GET, "/v1/runs/r-1").await.expect(401);
    server.running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_reports_a_sign_out_and_asks_proxies_not_to_buffer() {
    let server = Guarded::start().await;
    let stream = server.browse(None, Method::GET, "/ui/live?at=%2Fui%2Fruns").await.expect(200);
    assert_eq!(stream.headers["content-type"], "text/event-stream");
    assert_eq!(stream.headers["x-accel-buffering"], "no");
    assert_eq!(stream.text, "event: signed-out\ndata: null\n\n");
    server.running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_viewer_cannot_cancel_by_a_form() {
    let server = Guarded::start().await;
    let refused = server.browse(Some("eyes"), Method::POST, "/ui/runs/r-1/cancel").await.expect(403).text;
    assert!(refused.contains("role"), "{refused}");
    server.browse(Some("ops"), Method::POST, "/ui/runs/r-1/cancel").await.expect(303);
    server.running.stop().await;
}
