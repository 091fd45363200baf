//! The page of a recorded overview, on screens of several widths.

use expect_test::{Expect, expect};

use super::*;

fn recorded() -> TopData {
    let attention = r#"[{"id":"delivery-9","workflow":"drone-delivery","version":1,"status":"parked","key":"k",
        "accepted_at":"2026-03-01T11:58:00.000Z","reason":"undo of package failed: 500 disk full"}]"#;
    TopData {
        overview: serde_json::from_str(include_str!("overview.json")).unwrap(),
        attention: serde_json::from_str(attention).unwrap(),
    }
}

fn check(picture: &TopData, front: Panel, note: &str, width: Option<usize>, expected: Expect) {
    let page = TopPage { url: "http://127.0.0.1:7070", picture, front, note };
    expected.assert_eq(&page.text(&Screen { colour: false, width }));
}

#[test]
fn a_snapshot_says_everything() {
    check(
        &recorded(),
        Panel::Services,
        "",
        None,
        expect![[r#"
            Sortie at http://127.0.0.1:7070, 2026-03-01 12:00:00 UTC

              in             1240/s  ▁▂▃▆█, 3.5/s refused
              out            1180/s  ▁▂▃▇█
              attempts       5902/s
              latency     accept p50 1.2 ms, p99 9.8 ms; run p50 21.5 ms, p99 1.81s
              backlog     5120 unfinished: 4800 waiting, 320 running; drained in 3m 05s
              parked      23: see them with sortie parked
              firings     2 late, p99 412 ms late
              partitions  31 of 32 running, 1 stopped
              region      east is active; west does not respond

            Services
              SERVICE                BREAKER    IN FLIGHT  LIMIT  WAITING     P50      P99
              http://127.0.0.1:7104  closed             3    512        0  1.2 ms  40.0 ms
              http://127.0.0.1:7102  half open          0      1       77       -        -

            Parked
              ID          WORKFLOW          ACCEPTED  WHY
              delivery-9  drone-delivery  2m 00s ago  undo of package failed: 500 disk full
              and 22 more

            Next firings
              JOB                                     NEXT (UTC)                IN
              ops/report                              2026-03-01 12:03:05   3m 05s
              ops/clean-up-of-everything-that-is-old  2026-03-02 03:00:00  15h 00m
        "#]],
    );
}

#[test]
fn a_narrow_page_has_the_panel_in_front_first() {
    check(
        &recorded(),
        Panel::Attention,
        "paused; p resumes",
        Some(40),
        expect![[r#"
            Sortie at http://127.0.0.1:7070, 2026-03-01 12:00:00 UTC
            paused; p resumes

              in             1240/s  ▁▂▃▆█, 3.5/s refused
              out            1180/s  ▁▂▃▇█
              attempts       5902/s
              latency     accept p50 1.2 ms, p99 9.8 ms; run p50 21.5 ms, p99 1.81s
              backlog     5120 unfinished: 4800 waiting, 320 running; drained in 3m 05s
              parked      23: see them with sortie parked
              firings     2 late, p99 412 ms late
              partitions  31 of 32 running, 1 stopped
              region      east is active; west does not respond

            Parked
              ID          WORKFLOW  WHY
              delivery-9  drone-d…  undo of package…
              and 22 more

            Next firings
              JOB                                 IN
              ops/report                      3m 05s
              ops/clean-up-of-everything-t…  15h 00m

            Services
              SERVICE                BREAKER
              http://127.0.0.1:7104  closed
              http://127.0.0.1:7102  half open
        "#]],
    );
}

#[test]
fn an_idle_server_is_shown_as_idle() {
    let json = r#"{"at":"2026-03-01T12:00:00.000Z","rates":{"accepted":0,"refused":0,"ended":0,"attempts":0},
        "latency":{"accept_p50_ms":null,"accept_p99_ms":null,"run_p50_ms":null,"run_p99_ms":null},
        "backlog":{"unfinished":0,"waiting":0,"live":0},"parked":0,"firings":{"next":[],"late":0},"services":[],
        "partitions":{"total":4,"running":4,"stopped":0,"unheld":0},
        "series":{"every_seconds":10,"accepted":[0,0],"ended":[],"run_p99_ms":[],"unfinished":[]}}"#;
    let picture = TopData { overview: serde_json::from_str(json).unwrap(), attention: Vec::new() };
    check(
        &picture,
        Panel::Firings,
        "",
        Some(80),
        expect![[r#"
            Sortie at http://127.0.0.1:7070, 2026-03-01 12:00:00 UTC

              in                0/s  ▁▁
              out               0/s
              attempts          0/s
              latency     accept -; run -
              backlog     nothing
              parked      none
              firings     0 late
              partitions  4 of 4 running

            Next firings
              No scheduled firings.

            Services
              No service has been called yet.

            Parked
              No parked runs.
        "#]],
    );
}

#[test]
fn panels_go_round() {
    let all = [Panel::Services, Panel::Attention, Panel::Firings];
    assert!(all.iter().all(|panel| panel.next().previous() == *panel && panel.next() != *panel));
}
