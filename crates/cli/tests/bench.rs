//! The benches run to their end and give the figures that scripts read.

use std::process::Command;

use serde_json::Value;

#[track_caller]
fn check(arguments: &[&str]) -> Value {
    let directory = tempfile::tempdir().expect("the disk has room");
    let place = directory.path().display().to_string();
    let mut command = Command::new(env!("CARGO_BIN_EXE_sortie"));
    let output =
        command.args(arguments).args(["--json", "--data", &place]).output().expect("the binary runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let figures: Value = serde_json::from_slice(&output.stdout).expect("the output is JSON");
    for field in ["throughput", "p50_ms", "p99_ms", "p999_ms", "limit", "ratio_to_limit"] {
        assert!(figures[field].as_f64().is_some_and(|figure| figure > 0.0), "{field}: {figures}");
    }
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
fn workflow_gives_its_figures_and_all_runs_complete() {
    let figures = check(&["bench", "workflow", "--runs", "100", "--concurrency", "8"]);
    assert_eq!(figures["completed"].as_u64(), Some(100), "{figures}");
}

#[test]
fn schedule_gives_its_figures_and_every_job_fires_once() {
    let figures = check(&["bench", "schedule", "--jobs", "1500", "--rate", "500", "--seconds", "1"]);
    for (field, count) in [("due", 500), ("lost", 0), ("repeated", 0), ("early", 0)] {
        assert_eq!(figures[field].as_u64(), Some(count), "{field}: {figures}");
    }
    for field in ["load_seconds", "restart_seconds", "max_ms", "server_p99_ms", "memory_loaded_bytes"] {
        assert!(figures[field].as_f64().is_some_and(|figure| figure > 0.0), "{field}: {figures}");
    }
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
