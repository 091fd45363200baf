//! The benches run to their end and give the figures that scripts read.

use std::process::Command;

use serde_json::Value;

/// Of a bench that compares Sortie with a bare loop.
#[track_caller]
fn check(arguments: &[&str]) -> Value {
    let figures = run(arguments);
    let fields = ["throughput", "p50_ms", "p99_ms", "p999_ms", "limit", "ratio_to_limit"];
    check_positive(&figures, &fields);
    figures
}

#[track_caller]
fn check_positive(figures: &Value, fields: &[&str]) {
    for field in fields {
        let figure = field.split('.').fold(figures, |value, name| &value[name]);
        assert!(figure.as_f64().is_some_and(|figure| figure > 0.0), "{field}: {figures}");
    }
}

#[track_caller]
fn run(arguments: &[&str]) -> Value {
    let directory = tempfile::tempdir().expect("the disk has room");
    let place = directory.path().display().to_string();
    let mut command = Command::new(env!("CARGO_BIN_EXE_sortie"));
    let output =
        command.args(arguments).args(["--json", "--data", &place]).output().expect("the binary runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let figures: Value = serde_json::from_slice(&output.stdout).expect("the output is JSON");
    assert!(figures["commit"].is_string() && figures["bench"] == arguments[1], "{figures}");
    assert!(figures["sync"].is_string() && figures["machine"]["processors"].is_u64(), "{figures}");
    let left = std::fs::read_dir(directory.path()).expect("the directory is there").count();
    assert_eq!(left, 0, "its own directory goes with the bench");
    figures
}

#[test]
fn ingest_gives_its_figures_and_nothing_is_refused() {
    let figures = check(&["bench", "ingest", "--seconds", "1", "--connections", "8"]);
    assert_eq!((figures["refused"].as_u64(), figures["failed"].as_u64()), (Some(0), Some(0)), "{figures}");
}

#[test]
fn ingest_at_a_rate_gives_its_figures() {
    let figures = check(&["bench", "ingest", "--seconds", "1", "--rate", "200"]);
    assert_eq!(figures["rate"].as_u64(), Some(200), "{figures}");
}

#[test]
fn ingest_in_batches_counts_requests_and_repeats_give_a_spread() {
    let batches = ["--batch", "100", "--connections", "2"];
    let figures = check(&[&["bench", "ingest", "--seconds", "1", "--repeats", "2"], &batches[..]].concat());
    assert_eq!((figures["batch"].as_u64(), figures["repeats"].as_u64()), (Some(100), Some(2)), "{figures}");
    assert_eq!((figures["refused"].as_u64(), figures["failed"].as_u64()), (Some(0), Some(0)), "{figures}");
    check_positive(
        &figures,
        &["spread.lowest.throughput", "spread.bare_highest.p99_ms", "spread.ratio_highest"],
    );
}

#[test]
fn workflow_gives_its_figures_and_all_runs_complete() {
    let figures = check(&["bench", "workflow", "--runs", "100", "--concurrency", "8"]);
    assert_eq!(figures["completed"].as_u64(), Some(100), "{figures}");
    check_positive(&figures, &["alone.p50_ms", "alone.bare_p50_ms"]);
}

#[test]
fn schedule_gives_its_figures_and_every_job_fires_once() {
    let figures = check(&["bench", "schedule", "--jobs", "1500", "--rate", "500", "--seconds", "1"]);
    for (field, count) in [("due", 500), ("lost", 0), ("repeated", 0), ("early", 0)] {
        assert_eq!(figures[field].as_u64(), Some(count), "{field}: {figures}");
    }
    let fields = ["load_seconds", "restart_seconds", "max_ms", "server_p99_ms", "memory_loaded_bytes"];
    check_positive(&figures, &fields);
}

#[test]
fn a_spike_gives_its_figures_and_a_chart_and_loses_nothing() {
    let directory = tempfile::tempdir().expect("the disk has room");
    let chart = directory.path().join("spike.svg").display().to_string();
    let rates = ["--rate", "50", "--spike-rate", "200"];
    let figures = check(&[&["bench", "spike", "--seconds", "1", "--chart", &chart], &rates[..]].concat());
    assert_eq!(figures["offered"].as_u64(), Some(300), "{figures}");
    assert_eq!(figures["account"]["lost"].as_u64(), Some(0), "{figures}");
    assert!(figures["series"].as_array().is_some_and(|series| series.len() >= 3), "{figures}");
    assert!(std::fs::read_to_string(chart).expect("the chart is drawn").contains("</svg>"));
}

#[test]
fn overload_gives_its_figures_and_loses_nothing() {
    let figures = check(&["bench", "overload", "--seconds", "1"]);
    assert_eq!(figures["account"]["lost"].as_u64(), Some(0), "{figures}");
    assert_eq!(figures["steps"].as_array().map(Vec::len), Some(7), "{figures}");
    assert_eq!(figures["refused_without_time"].as_u64(), Some(0), "{figures}");
}

#[test]
fn recovery_brings_every_run_back() {
    let figures = run(&["bench", "recovery", "--runs", "300", "--repeats", "1"]);
    let fields = ["restart.ready_seconds", "restart.whole_seconds", "empty.answers_seconds", "data_bytes"];
    check_positive(&figures, &fields);
}

#[test]
fn memory_is_measured_with_all_requests_waiting() {
    let figures = run(&["bench", "memory", "--requests", "5000", "--seconds", "1"]);
    assert_eq!(figures["waiting"].as_u64(), Some(5000), "{figures}");
    check_positive(&figures, &["memory_empty_bytes", "memory_waiting_bytes", "memory_max_bytes"]);
}

#[test]
fn the_journal_stands_beside_writes_and_syncs() {
    let figures = check(&["bench", "journal", "--seconds", "1", "--tasks", "16"]);
    check_positive(&figures, &["alone_p50_ms", "raw_alone_p50_ms"]);
}

#[test]
fn a_soak_gives_its_figures_and_loses_nothing() {
    let figures = run(&["bench", "soak", "--seconds", "3", "--rate", "20"]);
    assert_eq!(figures["account"]["lost"].as_u64(), Some(0), "{figures}");
    check_positive(&figures, &["throughput", "p99_ms", "memory.first", "memory.growth"]);
}
