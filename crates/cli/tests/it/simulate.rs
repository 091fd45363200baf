//! `sortie simulate`: what its examples print, and that a real server does the same.

use std::path::{Path, PathBuf};
use std::process::Command;

use expect_test::{ExpectFile, expect_file};
use serde_json::Value;

use crate::process::{Dev, Process};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn command(line: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sortie"));
    let ours = std::env::vars_os().map(|(name, _)| name);
    for name in ours.filter(|name| name.to_string_lossy().starts_with("SORTIE_")) {
        command.env_remove(name);
    }
    command.current_dir(root()).args(line.split_whitespace());
    command
}

/// Runs the binary to its end; gives its exit code and both streams.
fn sortie(line: &str) -> (Option<i32>, String, String) {
    let output = command(line).output().expect("the binary runs");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[track_caller]
fn check(line: &str, code: i32, expected: ExpectFile) {
    let (actual, out, err) = sortie(line);
    assert_eq!((actual, err.as_str()), (Some(code), ""), "{out}");
    expected.assert_eq(&out);
    // The same command, the same output.
    assert_eq!(sortie(line).1, out);
}

const DELIVERY: &str = "simulate --workflow examples/drone-delivery/workflows/drone-delivery.yaml \
                        --request examples/drone-delivery/requests/delivery.json";

#[test]
fn a_delivery_whose_last_step_fails_is_undone_in_order() {
    let line = format!("{DELIVERY} --services examples/simulate/last-step-fails.yaml");
    check(&line, 1, expect_file!["../simulate/last-step-fails.txt"]);
}

#[test]
fn without_a_script_everything_goes_well() {
    check(&format!("{DELIVERY} --quiet"), 0, expect_file!["../simulate/all-is-well.txt"]);
}

#[test]
fn a_weekly_job_with_three_hour_retries_lives_through_an_outage() {
    let line = "simulate --job examples/simulate/weekly-report.yaml --from 2026-03-01 --to 2026-03-24 \
                --services examples/simulate/outage.yaml";
    check(line, 1, expect_file!["../simulate/weekly-report.txt"]);
}

#[test]
fn a_job_across_the_changes_of_the_clocks_says_what_they_do_to_it() {
    let line = "simulate --job examples/simulate/nightly.yaml --from 2026-03-27 --to 2026-03-31";
    check(line, 0, expect_file!["../simulate/nightly-march.txt"]);
    let line = "simulate --job examples/simulate/nightly.yaml --from 2026-10-24 --to +2d --json";
    check(line, 0, expect_file!["../simulate/nightly-october.txt"]);
}

#[test]
fn what_is_missed_while_sortie_is_down_and_what_overlaps_is_reported() {
    let line = "simulate --job examples/simulate/hourly.yaml --from 2026-03-02 --to +5h \
                --services examples/simulate/maintenance.yaml";
    check(line, 1, expect_file!["../simulate/hourly.txt"]);
}

#[test]
fn an_alternative_a_time_limit_and_a_parked_run_with_its_notice() {
    let line = "simulate --workflow crates/cli/tests/simulate/stubborn.yaml \
                --services crates/cli/tests/simulate/stubborn-services.yaml";
    check(line, 1, expect_file!["../simulate/stubborn.txt"]);
}

#[test]
fn bad_input_is_refused_with_file_field_and_fix() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = |name: &str, text: &str| {
        let file = directory.path().join(name);
        std::fs::write(&file, text).expect("written");
        file.display().to_string()
    };
    let script = file("s.yaml", "services:\n  delivry: { answers: 503 }\n");
    let job = file("j.yaml", "action: { type: Http, request: { uri: \"http://h/\" } }\n");
    for (line, code, said) in [
        (
            format!("{DELIVERY} --services {script}"),
            65,
            format!("{script}:2: services.delivry: the workflow has no such service"),
        ),
        (format!("{DELIVERY} --services {script}"), 65, "did you mean 'delivery'?".to_owned()),
        (
            format!("simulate --job {job} --from 2026-03-01 --to +1d"),
            65,
            format!("{job}: properties.action.request.method"),
        ),
        ("simulate --job j.yaml --from 2026-03-01".to_owned(), 64, "--to".to_owned()),
        (
            format!("simulate --job {job} --from 2026-03-02 --to 2026-03-01"),
            64,
            "--to is before --from".to_owned(),
        ),
        ("simulate".to_owned(), 64, "--workflow".to_owned()),
        ("simulate --workflow nowhere.yaml".to_owned(), 75, "nowhere.yaml".to_owned()),
    ] {
        let (actual, out, err) = sortie(&line);
        assert_eq!((actual, out.as_str()), (Some(code), ""), "{line}: {err}");
        assert!(err.contains(&said), "{line}: no {said:?} in {err}");
    }
    let workflow = "simulate --workflow examples/drone-delivery/workflows/drone-delivery.yaml";
    let (code, _, err) = sortie(workflow);
    assert_eq!(code, Some(65));
    assert!(err.contains("request: /") && err.contains("required"), "{err}");
}

fn ask(dev: &Dev, line: &str) -> String {
    let (code, out, err) = sortie(&format!("{line} --url {}", dev.url));
    assert!(matches!(code, Some(0 | 1)) && !out.is_empty(), "sortie {line}: {code:?} {out} {err}");
    out
}

/// One attempt: step, work, number, outcome, status and the delay before the next.
type Attempt = (String, String, u64, String, u64, Option<i64>);

fn millis(value: &Value) -> Option<i64> {
    value.as_str()?.parse::<jiff::Timestamp>().ok().map(jiff::Timestamp::as_millisecond)
}

fn attempt(started: &Value, ended: &Value, ended_at: i64) -> Attempt {
    let text = |value: &Value, name: &str| value[name].as_str().unwrap_or_default().to_owned();
    let delay = millis(&ended["retry_at"]).map(|retry_at| retry_at - ended_at);
    let (number, status) = (started["attempt"].as_u64(), ended["status"].as_u64());
    let number = number.expect("an attempt has a number");
    (text(started, "step"), text(started, "work"), number, text(ended, "outcome"), status.unwrap_or(0), delay)
}

/// The attempts of a real run in the order in which they began, and its status.
fn of_server(run: &str) -> (Vec<Attempt>, String) {
    let run: Value = serde_json::from_str(run).expect("JSON");
    let moments = run["timeline"].as_array().expect("a timeline");
    let same = |a: &Value, b: &Value| ["step", "work", "attempt"].iter().all(|name| a[name] == b[name]);
    let attempts = moments.iter().filter(|moment| moment["what"] == "started").map(|started| {
        let ended = moments.iter().find(|moment| moment["what"] == "ended" && same(moment, started));
        let ended = ended.expect("every attempt has ended");
        attempt(started, ended, millis(&ended["at"]).expect("a time"))
    });
    (attempts.collect(), run["status"].as_str().expect("a status").to_owned())
}

/// The same of a simulation.
fn of_simulation(lines: &str) -> (Vec<Attempt>, String) {
    let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let attempts = lines.iter().filter(|line| line["what"] == "attempt").map(|line| {
        let ended_at =
            millis(&line["at"]).expect("a time") + line["took_ms"].as_i64().expect("it took some time");
        attempt(line, line, ended_at)
    });
    let summary = lines.last().expect("a summary");
    (attempts.collect(), summary["status"].as_str().expect("a status").to_owned())
}

/// Answers of the services as they are when nothing is switched.
const WELL: &str = "
  account: { answers: { body: true } }
  package: [{ work: undo, answers: 204 }, { answers: 201 }]
  transport: [{ work: undo, answers: 204 }, { answers: { status: 201, body: false } }]
";

// guards: 57
#[test]
fn a_real_server_does_what_the_simulation_says() {
    let dev = Process::dev();
    let directory = tempfile::tempdir().expect("a directory");
    let path = |name: &str| directory.path().join(name);
    let source = ask(&dev, "workflow show drone-delivery --source");
    std::fs::write(path("workflow.yaml"), &source).expect("written");
    let template = std::fs::read_to_string(root().join("examples/drone-delivery/requests/delivery.json"));
    let template = template.expect("the example is there");
    let drone_well = "{ status: 201, body: { droneId: d } }";
    let cases = [
        // The last step is refused: all is undone.
        (
            "undone-1",
            r#"{"refuse":["undone-1"]}"#,
            "{}",
            format!(
                "  delivery: [{{ work: undo, answers: 204 }}, {{ answers: 409 }}]\n  drone: [{{ work: undo, answers: 204 }}, {{ answers: {drone_well} }}]"
            ),
        ),
        // And one of the undos is refused: a person must look.
        (
            "parked-1",
            r#"{"refuse":["parked-1"]}"#,
            r#"{"undo_refuse":["parked-1"]}"#,
            format!(
                "  delivery: [{{ work: undo, answers: 204 }}, {{ answers: 409 }}]\n  drone: [{{ work: undo, answers: 409 }}, {{ answers: {drone_well} }}]"
            ),
        ),
        // Retries with the delays of the policy, of which one service asks for more.
        (
            "tired-1",
            r#"{"unavailable_rate":1,"retry_after_s":1}"#,
            "{}",
            format!(
                "  delivery: [{{ work: undo, answers: 204 }}, {{ answers: {{ status: 503, headers: {{ Retry-After: 1 }} }} }}]\n  drone: [{{ work: undo, answers: 204 }}, {{ answers: {drone_well} }}]"
            ),
        ),
    ];
    for (id, delivery, drone, script) in cases {
        dev.switch("delivery", delivery);
        dev.switch("drone", drone);
        let request = path("request.json");
        std::fs::write(&request, template.replace("delivery-1", id)).expect("written");
        ask(&dev, &format!("run start drone-delivery --file {}", request.display()));
        ask(&dev, &format!("run wait {id} --timeout 5m"));
        let real = of_server(&ask(&dev, &format!("run show {id} --json")));

        let services = path("services.yaml");
        std::fs::write(&services, format!("services:{WELL}{script}\n")).expect("written");
        let line = format!(
            "simulate --workflow {} --request {} --services {} --json",
            path("workflow.yaml").display(),
            request.display(),
            services.display()
        );
        let simulated = of_simulation(&sortie(&line).1);
        assert_eq!(simulated, real, "{id}");
        assert!(real.0.len() >= 7, "{id}: the switches did nothing: {real:?}");
    }
}
