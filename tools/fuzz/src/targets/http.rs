//! The whole API over a socket: up to four requests against a small installation, each answered and none with 500.

mod installation;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use installation::Installation;

use crate::Target;
use crate::input::text;

pub const TARGET: Target = Target {
    name: "http",
    run,
    seeds,
    words: &[
        "GET ",
        "PUT ",
        "POST ",
        "PATCH ",
        "DELETE ",
        "/v1/runs",
        "/v1/workflows",
        "/v1/collections/c",
        "/jobs/j",
        "/history",
        "/preview",
        "/export",
        "/import",
        ":batch",
        ":check",
        "?limit=",
        "?cursor=",
        "?status=",
        "&$top=",
        "$filter=",
        "$skip=",
        "api-version=2016-03-01",
        "If-Match: ",
        "\"1\"",
        "W/\"1\"",
        "*",
        "If-None-Match: *",
        "Idempotency-Key: ",
        "traceparent: ",
        "Content-Type: ",
        "application/json",
        "application/x-ndjson",
        "text/csv",
        "%2e%2e",
        "%00",
        "%",
        "//",
        "\u{fc}",
        "/subscriptions/s/resourceGroups/g/providers/Microsoft.Scheduler/jobCollections/c",
        "x-ms-version: ",
        "Prefer: ",
    ],
    inputs: 400,
};

/// Requests of one input.
const REQUESTS_MAX: usize = 4;
/// After this many inputs a new installation is started, so that none grows without bound.
const INPUTS_MAX: u32 = 3000;
/// Far longer than any response takes: only a hang reaches it.
const PATIENCE: Duration = Duration::from_secs(30);

static RUNNING: Mutex<Option<(Installation, u32)>> = Mutex::new(None);

fn run(bytes: &[u8]) {
    let Some(text) = text(bytes) else { return };
    let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
    let (installation, inputs) = running.get_or_insert_with(|| (Installation::start(), 0));
    for request in text.split("\n===\n").take(REQUESTS_MAX) {
        answer(installation, request);
    }
    *inputs += 1;
    if *inputs == INPUTS_MAX {
        *running = None;
    }
}

/// Sends the request, correctly framed, and checks the response.
fn answer(installation: &Installation, request: &str) {
    let (head, body) = request.split_once("\n\n").unwrap_or((request, ""));
    let (line, headers) = head.split_once('\n').unwrap_or((head, ""));
    let mut sent = format!("{line} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n");
    for header in headers.lines() {
        let name = header.split(':').next().unwrap_or_default().trim().to_ascii_lowercase();
        // These would leave the server waiting for more, which is right and takes long.
        if !["content-length", "transfer-encoding", "connection", "expect", "upgrade"]
            .contains(&name.as_str())
        {
            sent.push_str(header);
            sent.push_str("\r\n");
        }
    }
    sent.push_str(&format!("Content-Length: {}\r\n\r\n{body}", body.len()));
    let told = exchange(installation, sent.as_bytes());
    let told = String::from_utf8_lossy(&told);
    let status = told.strip_prefix("HTTP/1.1 ").and_then(|rest| rest.get(..3)?.parse::<u16>().ok());
    let status = status.unwrap_or_else(|| panic!("no answer to {line:?} but {:?}", told.get(..80)));
    let unwell = status >= 500 && status != 501 && status != 503 && status != 505;
    assert!(!unwell, "{status} to {line:?}: {told}");
    check(status, &told);
}

/// JSON is JSON, and an error says what is wrong.
fn check(status: u16, told: &str) {
    let (head, body) = told.split_once("\r\n\r\n").unwrap_or((told, ""));
    let head = head.to_ascii_lowercase();
    if head.contains("transfer-encoding: chunked") || !head.contains("json\r\n") || body.is_empty() {
        return;
    }
    if head.contains("content-type: application/json") || head.contains("problem+json") {
        let read: Result<serde_json::Value, _> = serde_json::from_str(body);
        let value = read.unwrap_or_else(|error| panic!("{error} in {body}"));
        if head.contains("problem+json") {
            assert_eq!(value["status"].as_u64(), Some(status.into()), "{body}");
            assert!(value["code"].as_str().is_some_and(|code| !code.is_empty()), "{body}");
        }
    }
}

fn exchange(installation: &Installation, bytes: &[u8]) -> Vec<u8> {
    let mut stream = TcpStream::connect(installation.address).expect("the server listens");
    stream.set_read_timeout(Some(PATIENCE)).expect("a timeout can be set");
    // A server may answer and close before it has read everything.
    let _ = stream.write_all(bytes);
    let mut told = Vec::new();
    match stream.read_to_end(&mut told) {
        Ok(_) => {}
        Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset && !told.is_empty() => {}
        Err(error) => panic!("{error} after {} bytes", told.len()),
    }
    told
}

fn seeds() -> Vec<Vec<u8>> {
    let job = r#"{"properties":{"action":{"type":"http","request":{"uri":"http://a.test/","method":"GET"}},"recurrence":{"frequency":"day"}}}"#;
    let azure = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Scheduler/jobCollections/c";
    [
        "GET /v1/runs?limit=2&status=completed&workflow=orders".to_owned(),
        "POST /v1/workflows/orders/runs\nIdempotency-Key: \"k-1\"\nContent-Type: application/json\n\n{\"a\":1}\n===\nGET /v1/runs/k-1\n===\nPOST /v1/runs/k-1/cancel".to_owned(),
        "PUT /v1/workflows/orders/runs/x-1\ntraceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01\n\n{}\n===\nPOST /v1/runs/x-1/decide\n\n{\"decision\":\"retry\"}".to_owned(),
        "POST /v1/workflows/orders/runs:batch\nContent-Type: application/x-ndjson\n\n{\"a\":1}\n{\"a\":2}\n".to_owned(),
        "POST /v1/workflows:check\nContent-Type: application/yaml\n\nname: w\nsteps: {}\n".to_owned(),
        format!("PUT /v1/collections/c2\n\n{{}}\n===\nPUT /v1/collections/c2/jobs/j\nIf-None-Match: *\n\n{job}\n===\nPATCH /v1/collections/c2/jobs/j\nIf-Match: \"1\"\n\n{{\"properties\":{{\"state\":\"disabled\"}}}}\n===\nDELETE /v1/collections/c2"),
        "GET /v1/collections/c/jobs/j/history?limit=3\n===\nGET /v1/collections/c/jobs/j/preview?count=5\n===\nGET /v1/collections/c/export\n===\nGET /v1/collections/c/jobs?state=enabled".to_owned(),
        format!("POST /v1/preview\n\n{job}"),
        format!("POST /v1/collections/c3/import?dry_run=true\n\n{{\"jobs\":{{\"a\":{job}}}}}"),
        format!("PUT {azure}?api-version=2016-03-01\n\n{{\"location\":\"westus\"}}\n===\nPUT {azure}/jobs/j?api-version=2016-03-01\n\n{job}\n===\nGET {azure}/jobs?api-version=2016-03-01&$top=1&$filter=state%20eq%20Enabled\n===\nPOST {azure}/jobs/j/run?api-version=2016-03-01"),
        format!("GET {azure}/jobs/j/history?api-version=2016-03-01&$skip=1"),
        "GET /v1/limits\n===\nGET /readyz\n===\nGET /metrics\n===\nOPTIONS /v1/runs".to_owned(),
    ]
    .map(String::into_bytes)
    .into()
}
