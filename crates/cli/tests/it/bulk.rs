//! The binary with a server that is killed: what is done to many runs goes on, and nothing is done twice.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::process::command;

const RUNS: u64 = 100;

/// A server of ours; killed when it is dropped.
struct Dev {
    child: Child,
    url: String,
    account: String,
}

impl Dev {
    fn start(data: &Path) -> Dev {
        Dev::start_at(data, "0")
    }

    fn start_at(data: &Path, port: &str) -> Dev {
        let data = data.to_str().expect("a path of ours is text");
        let mut child = command(&["dev", "--data", data, "--port", port, "--drone-port-base", "0"])
            .stdout(Stdio::piped())
            .spawn()
            .expect("the binary runs");
        let mut out = BufReader::new(child.stdout.take().expect("stdout is piped"));
        let mut text = String::new();
        while !text.contains("Press Ctrl-C to stop.") {
            assert!(out.read_line(&mut text).expect("stdout can be read") > 0, "it ended: {text}");
        }
        let after = |label: &str| {
            let rest = text.split_once(label).expect("the label is there").1;
            rest.split_whitespace().next().expect("a word follows it").to_owned()
        };
        let (url, account) =
            (after("  API ").trim_end_matches("/v1").to_owned(), after("services   account"));
        Dev { child, url, account }
    }

    fn send(&self, method: &str, path: &str, body: &str) -> (u16, Value) {
        let address = self.url.trim_start_matches("http://");
        let mut stream = TcpStream::connect(address).expect("it listens");
        let head = format!("{method} {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n");
        let request = format!("{head}content-length: {}\r\n\r\n{body}", body.len());
        stream.write_all(request.as_bytes()).expect("it reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("it answers");
        let (head, body) = answer.split_once("\r\n\r\n").expect("an answer has a head");
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
        (status, serde_json::from_str(body).unwrap_or_default())
    }

    fn get(&self, path: &str) -> Value {
        let (status, value) = self.send("GET", path, "");
        assert_eq!(status, 200, "{path}: {value}");
        value
    }

    /// Asks until the answer is as it must become.
    fn wait_for(&self, path: &str, good: impl Fn(&Value) -> bool) -> Value {
        let deadline = Instant::now() + Duration::from_secs(120);
        loop {
            let value = self.get(path);
            if good(&value) {
                return value;
            }
            assert!(Instant::now() < deadline, "{path}: {value}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Runs the client; gives its exit code, what it printed and what it said beside that.
    fn client(&self, line: &str) -> (i32, String, String) {
        let mut words: Vec<&str> = line.split(' ').collect();
        words.extend(["--url", &self.url]);
        let output = command(&words).stdin(Stdio::null()).output().expect("the binary runs");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (output.status.code().expect("it was not killed"), text(&output.stdout), text(&output.stderr))
    }

    #[track_caller]
    fn check(&self, line: &str, code: i32, said: &[&str]) -> String {
        let (actual, out, beside) = self.client(line);
        assert_eq!(actual, code, "sortie {line}: {out}{beside}");
        let text = out + &beside;
        for said in said {
            assert!(text.contains(said), "sortie {line}: no {said:?} in {text}");
        }
        text
    }
}

impl Drop for Dev {
    fn drop(&mut self) {
        // As a power cut does: nothing is finished or kept. A process that has ended already is fine.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs that are parked past their pivot, and are parked again whenever they are tried again.
fn park(dev: &Dev, count: u64) {
    let source = format!(
        "name: parks\nretry: {{ type: none }}\nservices: {{ account: {{ url: \"{}\" }} }}\nsteps:
  settle: {{ call: {{ service: account, method: GET, path: /api/accounts/a }}, pivot: true }}
  fail: {{ after: [settle], call: {{ service: account, method: GET, path: /nowhere }} }}\n",
        dev.account
    );
    assert_eq!(dev.send("POST", "/v1/workflows", &source).0, 201);
    for n in 0..count {
        assert_eq!(dev.send("PUT", &format!("/v1/workflows/parks/runs/r-{n}"), "{}").0, 202);
    }
    parked(dev, count);
}

fn parked(dev: &Dev, count: u64) {
    let all = |page: &Value| page["items"].as_array().map(Vec::len) == usize::try_from(count).ok();
    dev.wait_for("/v1/parked?limit=1000", all);
}

fn decisions(run: &Value) -> usize {
    let timeline = run["timeline"].as_array().expect("a run has a timeline");
    timeline.iter().filter(|moment| moment["what"] == "decided").count()
}

// guards: 50
#[test]
fn a_bulk_survives_being_killed_and_retries_each_run_once() {
    let directory = tempfile::tempdir().expect("a directory");
    let mut dev = Dev::start(&directory.path().join("data"));
    park(&dev, RUNS);
    let asked = json!({ "action": "retry", "select": {}, "rate": 20 }).to_string();
    let (status, bulk) = dev.send("POST", "/v1/bulk", &asked);
    assert_eq!(status, 202, "{bulk}");
    let path = format!("/v1/bulk/{}", bulk["id"].as_str().expect("it has an id"));
    for done in [20, 60] {
        dev.wait_for(&path, |bulk| bulk["done"].as_u64() >= Some(done));
        // In the midst of a page: more has been done than is kept.
        std::thread::sleep(Duration::from_millis(300));
        drop(dev);
        dev = Dev::start(&directory.path().join("data"));
    }
    let bulk = dev.wait_for(&path, |bulk| bulk["state"] == "done");
    assert_eq!((bulk["done"].as_u64(), &bulk["skipped"]["count"]), (Some(RUNS), &json!(0)), "{bulk}");
    for n in 0..RUNS {
        let run = dev.get(&format!("/v1/runs/r-{n}"));
        assert_eq!(decisions(&run), 1, "{run}");
    }
}

#[test]
fn who_follows_a_bulk_waits_for_a_server_that_comes_back() {
    let directory = tempfile::tempdir().expect("a directory");
    let data = directory.path().join("data");
    let dev = Dev::start(&data);
    park(&dev, 12);
    let url = dev.url.clone();
    let mut following = command(&["bulk", "retry", "--rate", "4", "--yes", "--url", &url]);
    let following = following.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the binary runs");
    let begun = |all: &Value| all["items"][0]["done"].as_u64() >= Some(1);
    dev.wait_for("/v1/bulk", begun);
    drop(dev);
    let (_, port) = url.rsplit_once(':').expect("an address has a port");
    let _dev = Dev::start_at(&data, port);
    let output = following.wait_with_output().expect("it ends");
    let text =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && text.contains("12 done, 0 skipped, 0 failed"), "{text}");
}

#[test]
fn the_commands_show_ask_follow_and_stop() {
    let directory = tempfile::tempdir().expect("a directory");
    let dev = Dev::start(&directory.path().join("data"));
    dev.check("bulk list", 0, &["No bulk operations."]);
    dev.check("bulk retry", 0, &["No run matches"]);
    park(&dev, 12);
    dev.check("bulk retry --dry-run", 0, &["12 runs match:", "r-3", "what failed is tried again"]);
    dev.check("bulk retry --workflow parks", 64, &["retry 12 runs at up to 50 per second", "--yes"]);
    dev.check("bulk retry --workflow nobody --yes", 0, &["No run matches"]);
    let lines = dev.check("bulk retry --yes --note back", 0, &["is done: 12 done, 0 skipped, 0 failed"]);
    assert!(!lines.contains('\u{1b}'), "no terminal, no bar: {lines}");
    dev.check("bulk list", 0, &["retry", "done", "12", "back"]);
    parked(&dev, 12);

    let (code, out, _) = dev.client("bulk retry --rate 1 --yes --detach --json");
    let bulk: Value = serde_json::from_str(&out).expect("JSON and nothing else");
    assert_eq!((code, bulk["state"].as_str()), (0, Some("running")), "{out}");
    let id = bulk["id"].as_str().expect("it has an id");
    dev.check(&format!("bulk stop {id}"), 0, &["is stopped"]);
    dev.check(&format!("bulk show {id}"), 0, &["is stopped"]);
    dev.check("bulk show nobody", 1, &["no bulk nobody"]);
    dev.check(
        "bulk resolve --step fail --skip --id r-0 --id r-1 --id r-99 --yes --note gone",
        0,
        &["2 done, 1 skipped", "not_found"],
    );
    dev.check(
        "bulk resolve --step nothing --skip --yes --note gone",
        1,
        &["10 failed", "no step 'nothing'", "it failed for 10 runs"],
    );
    dev.check("bulk resolve --step fail --skip --yes", 64, &["--note is required"]);
    dev.check("bulk resolve --step fail --skip --dry-run", 0, &["10 runs match"]);
    dev.check("bulk rerun --status parked --yes", 1, &["select.status: say which ended runs"]);
    dev.check("bulk rerun --status completed --yes", 0, &["2 done"]);
    dev.wait_for("/v1/runs/r-0.again", |run| run["status"] == "parked");
}
