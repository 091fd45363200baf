//! The binary without a server: exit codes and what is said on which stream.

use std::path::Path;
use std::process::{Command, Output};

fn sortie(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sortie"));
    command.env_remove("SORTIE_URL").env_remove("SORTIE_TOKEN").env_remove("SORTIE_DATA");
    command.args(arguments).output().expect("the binary runs")
}

#[track_caller]
fn check(arguments: &[&str], code: i32, stdout: &str, stderr: &str) {
    let output = sortie(arguments);
    let said = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(code), "{said:?}");
    assert!(said.0.contains(stdout) && said.1.contains(stderr), "{said:?}");
    assert!(!stdout.is_empty() || said.0.is_empty(), "{said:?}");
    assert!(!stderr.is_empty() || said.1.is_empty(), "{said:?}");
}

fn example(file: &str) -> String {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/drone-delivery/workflows");
    examples.join(file).display().to_string()
}

/// A port on which nothing listens: it was free a moment ago.
fn nobody() -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("loopback has free ports");
    format!("http://{}", listener.local_addr().expect("a listener has an address"))
}

#[test]
fn well_definitions_pass_with_their_schema_files() {
    let (delivery, reschedule) = (example("drone-delivery.yaml"), example("drone-reschedule.yaml"));
    check(&["workflow", "check", &delivery, &reschedule], 0, "drone-reschedule is valid\n", "");
}

#[test]
fn a_bad_definition_is_65_with_file_line_and_field() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("bad.yaml");
    let text = "name: bad\nservices:\n  a: { url: \"http://127.0.0.1:1\" }\nsteps:\n  one:\n    call: { service: b, method: GET, path: / }\n    afterr: [two]\n";
    std::fs::write(&file, text).unwrap();
    let file = file.display().to_string();
    check(&["workflow", "check", &file], 65, "", &format!("{file}:7: steps.one"));
    check(
        &["workflow", "check", &example("drone-delivery.yaml"), &file],
        65,
        "",
        &format!("{file}:6: steps.one.call"),
    );
}

#[test]
fn a_schema_file_that_is_not_there_is_65_and_named() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("a.yaml");
    std::fs::copy(example("drone-delivery.yaml"), &file).unwrap();
    let file = file.display().to_string();
    check(&["workflow", "check", &file], 65, "", "accept.schema: cannot read");
}

#[test]
fn a_file_that_is_not_there_is_75() {
    check(&["workflow", "check", "/nowhere/a.yaml"], 75, "", "sortie: reading /nowhere/a.yaml");
}

#[test]
fn nothing_is_sent_when_one_of_the_files_is_bad() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("bad.yaml");
    std::fs::write(&file, "steps: 3\n").unwrap();
    let bad = file.display().to_string();
    // Had it tried to send the first one, it would have found nobody there: 69.
    let arguments = ["workflow", "apply", &example("drone-delivery.yaml"), &bad, "--url", &nobody()];
    check(&arguments, 65, "", &bad);
}

#[test]
fn usage_is_64_and_help_is_0() {
    check(&["run", "resolve", "x"], 64, "", "--step");
    check(&["run"], 64, "", "Follow a run until it ends");
    check(&["run", "--json"], 64, "", "Follow a run until it ends");
    check(&["help", "exit-codes"], 0, "77  the token is missing", "");
    check(&["worklow", "list"], 64, "", "a similar subcommand exists: 'workflow'");
    check(&["dance"], 64, "", "unrecognized subcommand");
    check(&["run", "list", "--url", "ftp://x"], 64, "", "like http://127.0.0.1:7070");
    check(&["bench", "schedule", "--jobs", "10"], 64, "", "is 200000, more than the 10 of --jobs");
    check(&["run", "list", "--help"], 0, "Example:", "");
    check(&["--version"], 0, "sortie ", "");
}

#[test]
fn a_job_that_says_too_little_or_too_much_is_64() {
    check(&["job", "create", "ops/a"], 64, "", "--uri URL, --workflow NAME or --file");
    check(&["job", "create", "ops/a", "--uri", "http://h/", "--count", "3"], 64, "", "--cron or --every");
    check(&["job", "create", "ops/a", "--workflow", "w", "--body", "{"], 64, "", "not valid JSON");
    check(&["job", "create", "ops/a", "--file", "-", "--every", "5m"], 64, "", "into the file");
    check(&["job", "create", "ops", "--uri", "http://h/"], 64, "", "COLLECTION/JOB");
    check(&["job", "preview"], 64, "", "--cron, --every, --at or --start");
}

#[test]
fn a_file_of_jobs_that_is_none_is_65_with_its_line() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).display().to_string();
    let (json, crontab) = (path("jobs.json"), path("crontab"));
    std::fs::write(&json, "{\n  \"jobs\": [,]\n}\n").unwrap();
    std::fs::write(&crontab, "0 3 * * * curl http://h/a\n@daily make coffee\n").unwrap();
    check(&["job", "apply", "ops", &json], 65, "", &format!("{json}:2: not valid JSON"));
    check(&["job", "import", "ops", "--crontab", &crontab], 65, "", &format!("{crontab}: line 2: "));
}

#[test]
fn a_server_that_is_not_there_is_69_with_a_hint() {
    check(&["run", "list", "--url", &nobody()], 69, "", "start one with 'sortie dev'");
}

#[test]
fn settings_that_are_wrong_are_78() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("sortie.toml");
    std::fs::write(&file, "listn = 3\n").unwrap();
    check(&["serve", "--config", &file.display().to_string()], 78, "", "listn");
}

#[test]
fn completions_are_printed() {
    check(&["completions", "bash"], 0, "_sortie", "");
}
