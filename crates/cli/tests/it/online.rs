//! The binary with a server: `sortie dev` and `sortie serve` as people use them.

use crate::process::{Process, check, client, command, word_after};

/// Two workflows against the account service: one that parks past its pivot, one that never gets ahead.
fn stubborn(account: &str) -> [String; 2] {
    let services = format!(
        "services:\n  account: {{ url: \"{account}\" }}\n  nobody: {{ url: \"http://127.0.0.1:1\" }}\n"
    );
    let parks = "name: parks\nretry: { type: none }\nsteps:
  settle: { call: { service: account, method: GET, path: /api/accounts/a }, pivot: true }
  fail: { after: [settle], call: { service: nobody, method: GET, path: / } }\n";
    let tries = "name: tries\nretry: { type: fixed, delay: 1h, attempts: 9 }\nsteps:
  ask: { call: { service: account, method: GET, path: /api/accounts/a } }
  fail: { after: [ask], call: { service: nobody, method: GET, path: / } }\n";
    [parks, tries].map(|text| text.replace("steps:", &format!("{services}steps:")))
}

#[test]
fn dev_delivers_and_shows_cancelled_parked_and_resolved_runs() {
    let mut dev = Process::start(&["dev", "--port", "0", "--drone-port-base", "0"]);
    let welcome = dev.read_to("Press Ctrl-C to stop.");
    let url = word_after(&welcome, "  API ").trim_end_matches("/v1").to_owned();

    let request = welcome.split('\'').nth(3).expect("curl has a body");
    let (code, text) = client(&url, "run start drone-delivery -", request);
    assert!(code == 0 && text.contains("accepted run delivery-1"), "{text}");
    let (code, text) = client(&url, "run start drone-delivery", request);
    assert!(code == 0 && text.contains("run delivery-1 already exists"), "{text}");
    check(&url, "run wait delivery-1 --timeout 1m", 0, &["run delivery-1 is completed after"]);
    check(&url, "run list", 0, &["delivery-1", "drone-delivery", "completed"]);
    let shown = check(&url, "run show delivery-1", 0, &["Run delivery-1 is completed", "Timeline"]);
    assert!(["account", "package", "transport", "drone", "delivery"].iter().all(|step| shown.contains(step)));
    check(&url, "run cancel delivery-1", 1, &["the run has ended: it is completed"]);
    check(
        &url,
        "run start dron-delivery -",
        1,
        &["no workflow 'dron-delivery'; did you mean 'drone-delivery'?"],
    );

    let directory = tempfile::tempdir().unwrap();
    for (name, text) in
        ["parks.yaml", "tries.yaml"].iter().zip(stubborn(word_after(&welcome, "services   account")))
    {
        let file = directory.path().join(name);
        std::fs::write(&file, text).unwrap();
        let line = format!("workflow apply {}", file.display());
        check(&url, &line, 0, &["version 1 is active"]);
        check(&url, &line, 0, &["nothing changed"]);
    }

    let (code, text) = client(&url, "run start parks --id p-1", "{}");
    assert_eq!(code, 0, "{text}");
    check(&url, "run wait p-1 --timeout 1m", 1, &["run p-1 is parked", "see why with"]);
    check(
        &url,
        "run show p-1",
        0,
        &["Run p-1 is parked", "waits for  a decision on fail", "run give-up p-1"],
    );
    check(&url, "parked", 0, &["1 run is parked.", "run resolve p-1 --step fail --skip"]);
    check(&url, "run resolve p-1 --step settle --skip --note no", 1, &["these do: fail"]);
    check(&url, "run resolve p-1 --step fail --by-hand --output 7 --note seen", 0, &["decision recorded"]);
    check(&url, "run wait p-1 --timeout 1m", 0, &["run p-1 is completed"]);
    check(&url, "run show p-1", 0, &["by hand by", ": seen", "hand "]);
    check(&url, "parked list", 0, &["No parked runs."]);

    let (code, text) = client(&url, "run start tries --id t-1", "{}");
    assert_eq!(code, 0, "{text}");
    check(&url, "run cancel t-1", 0, &["cancel requested"]);
    check(&url, "run wait t-1 --timeout 1m", 1, &["run t-1 is undone"]);
    check(&url, "run show t-1", 0, &["Run t-1 is undone", "cancel"]);
    check(&url, "workflow delete tries", 0, &["deleted tries"]);

    let (code, rest) = dev.stop();
    assert!(code == Some(0) && rest.contains("Shutting down"), "{code:?} {rest}");
    let data = word_after(&welcome, "  data ");
    assert!(!std::path::Path::new(data).exists(), "{data} is still there");
}

#[test]
fn dev_speaks_json_when_asked() {
    let mut dev = Process::start(&["dev", "--port", "0", "--drone-port-base", "0", "--json"]);
    let ready: serde_json::Value = serde_json::from_str(&dev.line()).expect("a line of JSON");
    assert_eq!(ready["event"], "ready", "{ready}");
    assert!(ready["services"]["drone"].as_str().is_some_and(|url| url.starts_with("http://")), "{ready}");
    check(ready["url"].as_str().expect("it has an address"), "run list", 0, &["No runs."]);
    assert_eq!(dev.stop(), (Some(0), "{\"event\":\"stopping\"}\n".to_owned()));
}

#[test]
fn jobs_are_made_changed_fired_and_moved() {
    let mut dev = Process::start(&["dev", "--port", "0", "--drone-port-base", "0"]);
    let welcome = dev.read_to("Press Ctrl-C to stop.");
    let url = word_after(&welcome, "  API ").trim_end_matches("/v1").to_owned();
    let account = format!("{}/api/accounts/myowner", word_after(&welcome, "services   account"));

    // The command of the welcome, without the program and the address of the server.
    let shown = welcome.lines().find(|line| line.contains(" job create ")).expect("the welcome shows a job");
    let create = &shown[shown.find("job create").expect("it was found there")..];
    let without = create.replace(" --create-collection", "");
    check(&url, &without, 1, &["no collection is named 'ops'; add --create-collection"]);
    check(&url, create, 0, &["created job ops/account: every minute", "next run at"]);
    check(&url, create, 1, &["job ops/account already exists", "job update ops/account"]);
    check(&url, "job list", 0, &["ops/account", "enabled", "every minute"]);
    check(&url, "job list nowhere", 1, &["no collection is named 'nowhere'"]);
    check(&url, "job show ops/nothing", 1, &["collection 'ops' has no job 'nothing'"]);

    let failing = "job create ops/failing --disabled --uri http://127.0.0.1:1/ --retry-count 0 --cron @daily";
    check(&url, failing, 0, &["every day at 00:00", "it is disabled"]);
    // It fires by hand alone: one that fires by itself may be under way, and refuses.
    check(&url, &format!("job create ops/by-hand --disabled --every 1h --uri {account}"), 0, &["every hour"]);
    check(&url, "job run ops/by-hand --wait --timeout 1m", 0, &["is completed after"]);
    check(&url, "job run ops/failing --wait --timeout 1m", 1, &["is undone after", "see why with"]);
    check(&url, "job run ops/by-hand", 0, &["fired job ops/by-hand: run "]);
    check(&url, "job history ops/by-hand", 0, &["manual", "completed"]);
    check(&url, "job history ops/failing --failed", 0, &["manual", "failed", "127.0.0.1:1"]);
    check(&url, "job history ops/by-hand --failed", 0, &["No failed attempts."]);
    let called = format!("calls     GET {account}");
    check(&url, "job show ops/account", 0, &["is enabled", &called, "Next"]);
    check(&url, "job show ops/by-hand", 0, &["is disabled", &called, ", 0 failed", "Last attempts"]);

    let update = "job update ops/failing --every 2h --time-zone Asia/Tokyo --retry-count 3 --body hello";
    let changes =
        ["schedule: every day at 00:00 -> every 2 hours, Asia/Tokyo", "retries: none -> 3", "hello"];
    check(&url, update, 0, &changes);
    check(&url, "job update ops/failing --clear time-zone --clear body", 0, &["body: hello -> nothing"]);
    check(&url, "job update ops/failing", 64, &["nothing to change"]);
    check(&url, "job update ops/failing --uri ftp://x/", 1, &["uri"]);
    check(&url, "job enable ops/failing", 0, &["is enabled; next run at"]);
    check(&url, "job disable ops/failing", 0, &["job ops/failing is disabled\n"]);
    check(&url, "job list ops --state disabled", 0, &["ops/failing"]);
    check(&url, "job preview ops/account --count 2", 0, &["WHEN (UTC)"]);
    let spring = "job preview --cron 30.2.*.*.* --time-zone Europe/Berlin --now 2027-03-27 --count 2";
    let words: Vec<String> = spring.split(' ').map(|word| word.replace('.', " ")).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).chain(["--url", &url]).collect();
    let output = command(&words).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("2027-03-28 03:00:00 CEST") && text.contains("daylight saving skips"), "{text}");

    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("ops.json").display().to_string();
    check(&url, &format!("job export ops -o {file}"), 0, &["3 jobs of ops in "]);
    check(&url, &format!("job diff ops {file}"), 0, &["No differences: 3 jobs match the file."]);
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replace("\"hour\"", "\"day\"").replace("\"account\"", "\"renamed\"")).unwrap();
    let differ = ["would be created", "would be deleted", "schedule: every 2 hours -> every 2 days"];
    check(&url, &format!("job diff ops {file}"), 1, &differ);
    check(
        &url,
        &format!("job apply ops {file}"),
        0,
        &["created  job ops/renamed", "updated  job ops/failing"],
    );
    check(&url, &format!("job diff ops {file}"), 1, &["would be deleted  job ops/account"]);
    check(&url, &format!("job import ops {file} --prune"), 0, &["deleted  job ops/account"]);
    let crontab = directory.path().join("crontab").display().to_string();
    std::fs::write(&crontab, format!("*/5 * * * * curl -s {account}\n")).unwrap();
    let import = format!("job import cron --crontab {crontab}");
    check(&url, &import, 0, &["created  collection cron", "every 5 minutes"]);
    check(&url, &import, 0, &["No differences: 1 job matches the file."]);

    check(&url, "job collection create small --max-jobs 1 --plan standard", 0, &["with plan Standard"]);
    check(&url, "job collection create small", 1, &["collection small already exists"]);
    check(&url, "job collections", 0, &["small", "Standard", "cron", "Sortie"]);
    check(&url, "job list", 0, &["1 collection without jobs: small"]);
    check(&url, "job collection disable cron", 0, &["collection cron is disabled"]);
    check(&url, "job list cron --state disabled", 0, &["every 5 minutes"]);
    check(&url, "job collection enable cron", 0, &["collection cron is enabled"]);
    check(&url, "job delete ops/renamed", 0, &["deleted job ops/renamed"]);
    check(&url, "job collection delete ops", 0, &["collection ops is deleted"]);
    check(&url, "job collection delete ops", 1, &["no collection is named 'ops'"]);

    let (code, text) = client(
        &url,
        "job create ops/file --file - --create-collection --json",
        "{\"properties\":{\"action\":{\"type\":\"Workflow\",\"workflow\":{\"name\":\"drone-delivery\"}},\"state\":\"disabled\"}}",
    );
    assert!(code == 0 && text.starts_with('{') && text.contains("\"collection\":\"ops\""), "{text}");
    assert_eq!(dev.stop().0, Some(0));
}

#[test]
fn serve_asks_for_a_token_and_owns_its_directory() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).display().to_string();
    let (config, data) = (path("sortie.toml"), path("data"));
    std::fs::write(&config, "[tokens.ops]\nrole = \"admin\"\nsecret = \"0123456789abcdef\"\n[tokens.eye]\nrole = \"viewer\"\nsecret = \"fedcba9876543210\"\n").unwrap();
    let arguments = ["serve", "--config", &config, "--data", &data, "--listen", "127.0.0.1:0"];
    let mut server = Process::start(&arguments);
    let line = server.read_to("listening on ");
    let url = word_after(&line, "listening on");

    check(url, "run list --token 0123456789abcdef", 0, &["No runs."]);
    check(url, "run list --token wrong", 77, &["Authorization: Bearer"]);
    check(url, "run list", 77, &["Authorization: Bearer", "SORTIE_TOKEN; 'run list' needs the role viewer"]);
    check(
        url,
        "run cancel x --token fedcba9876543210",
        77,
        &["'run cancel' needs a token with the role operator"],
    );

    let second = command(&arguments).output().unwrap();
    let said = String::from_utf8_lossy(&second.stderr).into_owned();
    assert_eq!(second.status.code(), Some(75), "{said}");
    assert!(said.contains(&data), "{said}");

    let (code, _) = server.stop();
    assert_eq!(code, Some(0));
}

#[test]
fn queues_and_topics_are_made_filled_read_and_emptied() {
    let mut dev = Process::start(&["dev", "--port", "0", "--drone-port-base", "0"]);
    let url = word_after(&dev.read_to("Press Ctrl-C to stop."), "  API ").trim_end_matches("/v1").to_owned();
    let url = url.as_str();
    check(url, "queue list", 0, &["No queues. Create one with"]);
    check(
        url,
        "queue create Orders --lock 30s --max-deliveries 1",
        0,
        &["orders", "lock        30s", "max. 1"],
    );
    check(url, "queue create orders", 1, &["it already exists"]);
    check(url, "queue create orders --lock 2h --replace", 1, &["lock: 2h is not 1s to 1h"]);
    check(url, "queue create orders --max-deliveries 1 --replace", 0, &["version"]);

    let send = "queue send orders first --id m-1 --label paid --property country=NO --property amount=5";
    check(url, send, 0, &["sent 5 bytes to orders"]);
    check(url, send, 0, &["sent 5 bytes"]);
    let (code, text) = client(url, "queue send orders", "from stdin");
    assert!(code == 0 && text.contains("sent 10 bytes"), "{text}");
    check(url, "queue send orders later --in 1h", 0, &[]);
    check(url, "queue show orders", 0, &["2 ready, 0 locked, 1 scheduled, 0 dead"]);
    check(url, "queue peek orders", 0, &["m-1", "paid", "first", "from stdin", "scheduled"]);
    check(
        url,
        "queue receive orders --max 5",
        0,
        &["m-1", "country = NO", "amount = 5", "first", "from stdin"],
    );
    check(url, "queue receive orders", 0, &["No messages."]);
    check(url, "queue receive orders --wait 1ms", 1, &["no message arrived from orders"]);
    check(url, "queue receive orders --json", 0, &["[]"]);

    check(url, "queue send orders poison", 0, &[]);
    check(url, "queue receive orders --keep", 0, &["poison"]);
    check(url, "queue peek orders --dead", 0, &["poison", "MaxDeliveryCountExceeded"]);
    check(url, "queue redrive orders", 0, &["1 message moved back"]);
    check(url, "queue receive orders --delete --json", 0, &["\"Body\":\"poison\""]);
    check(url, "queue purge orders", 0, &["1 message deleted"]);
    check(url, "queue list", 0, &["orders", "READY"]);

    check(url, "topic create events --duplicate-window 1h", 0, &["events", "1h"]);
    check(url, "topic subscribe events/all", 0, &["events/all"]);
    check(url, "topic subscribe events/paid --label paid --property n=5", 0, &["\"label\":\"paid\""]);
    check(url, "topic send events one --label paid --property n=5", 0, &["sent 3 bytes to events"]);
    check(url, "topic send events two", 0, &[]);
    check(url, "topic show events", 0, &["SUBSCRIPTION", "all", "paid"]);
    check(url, "queue receive events/paid --max 9", 0, &["one"]);
    let all = check(url, "queue receive events/all --max 9 --json", 0, &["\"one\"", "\"two\""]);
    assert_eq!(all.matches("\"LockToken\"").count(), 2, "{all}");
    check(url, "queue receive events/all", 0, &["No messages."]);
    check(url, "topic unsubscribe events/all", 0, &["deleted events/all"]);
    check(url, "topic list", 0, &["events"]);
    check(url, "topic delete orders", 1, &["orders is a queue, not a topic"]);
    check(url, "topic delete events", 0, &["deleted topic events"]);
    check(url, "queue delete orders", 0, &["deleted orders"]);
    check(url, "queue show orders", 1, &["no queue or topic is called orders"]);
    assert_eq!(dev.stop().0, Some(0));
}

#[test]
fn lines_are_submitted_once_and_what_is_refused_is_reported() {
    let dev = Process::dev();
    let line = |id: &str, member: &str, body: &str| {
        format!(r#"{{"stream":"s","sequence":1,"workflow":"drone-delivery","id":"{id}","{member}":{body}}}"#)
    };
    let in_lines = serde_json::to_string(&format!("\n{}\n", dev.request("delivery-2"))).unwrap();
    let good =
        [line("delivery-1", "body", &dev.request("delivery-1")), line("delivery-2", "text", &in_lines)]
            .join("\n");
    let bad = line("delivery-3", "body", &dev.request("delivery-4"));
    let (code, text) = client(&dev.url, "run start --lines -", &format!("{good}\n\n{bad}\nno line\n"));
    assert_eq!(code, 1, "{text}");
    for said in ["run delivery-1 accepted", "run delivery-2 accepted", "line 4: ", "line 5: "] {
        assert!(text.contains(said), "no {said:?} in {text}");
    }
    assert!(text.contains("2 accepted, 0 already existed, 2 rejected"), "{text}");
    let (code, text) = client(&dev.url, "run start --lines -", &good);
    assert!(code == 0 && text.contains("0 accepted, 2 already existed, 0 rejected"), "{text}");
    check(&dev.url, "run wait delivery-2 --timeout 1m", 0, &["run delivery-2 is completed"]);
}
