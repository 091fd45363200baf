//! Examples of what people ask for: how everything is doing, many runs at once, what a step sends.

use std::collections::BTreeMap;

use api_types::{
    BacklogView, BulkAction, BulkCount, BulkFailed, BulkFailure, BulkList, BulkPreview, BulkRequest,
    BulkSample, BulkSelect, BulkSkipped, BulkState, BulkView, FiringView, FiringsView, HeaderView, HttpView,
    LatencyView, OverviewView, PartitionCounts, RatesView, RegionBrief, SentMessageView, SeriesView,
    SettingView, SettingsView, TokenView,
};

use super::*;

#[test]
fn the_overview_is_as_described() {
    let rates = RatesView { accepted: 1.5, refused: 0.0, ended: 1.0, attempts: 5.0 };
    let latency = LatencyView {
        accept_p50_ms: Some(1.0),
        accept_p99_ms: None,
        run_p50_ms: Some(7.5),
        run_p99_ms: Some(20.0),
    };
    let backlog = BacklogView { unfinished: 9, waiting: 4, live: 5, drain_seconds: Some(60) };
    let firing = FiringView { collection: text("ops"), job: text("report"), at: TIME };
    let firings = FiringsView { next: vec![firing.clone()], late: 1, lateness_p99_ms: Some(12.0) };
    let partitions = PartitionCounts { total: 4, running: 3, stopped: 1, unheld: 0 };
    let region =
        RegionBrief { region: text("oslo"), role: text("active"), pair: text("rome"), pair_reachable: true };
    let series = SeriesView {
        every_seconds: 10,
        accepted: vec![1.0],
        ended: vec![0.5],
        run_p99_ms: vec![None, Some(3.0)],
        unfinished: vec![2],
    };
    check("Rates", From::Server, rates.clone());
    check("Latency", From::Server, latency.clone());
    check("Backlog", From::Server, backlog.clone());
    check("Firing", From::Server, firing);
    check("Firings", From::Server, firings.clone());
    check("PartitionCounts", From::Server, partitions.clone());
    check("RegionBrief", From::Server, region.clone());
    check("Series", From::Server, series.clone());
    let overview = OverviewView {
        at: TIME,
        rates,
        latency,
        backlog,
        parked: 2,
        firings,
        services: Vec::new(),
        partitions,
        region: Some(region),
        series,
    };
    check("Overview", From::Server, overview);
}

#[test]
fn settings_are_as_described() {
    let setting = SettingView {
        key: text("secrets.key"),
        variable: some("SORTIE_SECRETS__KEY"),
        value: json!("set"),
        secret: true,
        changed: true,
    };
    let token = TokenView { name: text("ops"), role: text("viewer") };
    check("Setting", From::Server, setting.clone());
    check("SettingToken", From::Server, token.clone());
    let settings = SettingsView {
        version: text("0.1.0"),
        file: some("/etc/sortie.toml"),
        settings: vec![setting],
        tokens: Some(vec![token]),
    };
    check("SettingsInForce", From::Server, settings);
}

#[test]
fn bulks_are_as_described() {
    let select = BulkSelect {
        workflow: some("order"),
        status: Some(RunStatus::Parked),
        key: some("k"),
        from: Some(TIME),
        to: Some(TIME),
        reason: some("503"),
    };
    check("BulkSelect", From::Client, select.clone());
    let draft = BulkRequest {
        select: Some(select.clone()),
        ids: vec![text("r-1")],
        action: BulkAction::Resolve,
        decision: Some(DecisionKind::Skip),
        step: some("pay"),
        note: text("agreed"),
        rate: Some(10),
        dry_run: true,
    };
    check("BulkDraft", From::Client, draft);
    let count = BulkCount { count: 3, at_least: true };
    check("BulkCount", From::Server, count);
    let sample = BulkSample {
        id: text("r-1"),
        workflow: some("order"),
        status: Some(RunStatus::Parked),
        reason: some("503"),
        then: text("is tried again"),
    };
    check("BulkSample", From::Server, sample.clone());
    check("BulkPreview", From::Server, BulkPreview { matched: count, sample: vec![sample] });
    let failure = BulkFailure { id: text("r-2"), code: text("not_parked"), problem: text("it is running") };
    check("BulkFailure", From::Server, failure.clone());
    let failed = BulkFailed { count: 1, sample: vec![failure] };
    check("BulkFailed", From::Server, failed.clone());
    let skipped = BulkSkipped { count: 2, reasons: BTreeMap::from([(text("has ended"), 2)]) };
    check("BulkSkipped", From::Server, skipped.clone());
    let bulk = BulkView {
        id: text("b-1"),
        state: BulkState::Running,
        action: BulkAction::Resolve,
        decision: Some(DecisionKind::Skip),
        step: some("pay"),
        select: Some(select),
        matched: Some(count),
        done: 5,
        skipped,
        failed,
        rate: 10,
        waiting: some("overloaded"),
        by: text("ann"),
        note: text("agreed"),
        started_at: TIME,
        ended_at: Some(TIME),
    };
    check("Bulk", From::Server, bulk.clone());
    check("BulkList", From::Server, BulkList { items: vec![bulk] });
}

#[test]
fn what_a_step_sends_is_as_described() {
    let header = HeaderView { name: text("accept"), value: text("application/json") };
    check("Header", From::Server, header.clone());
    let http = HttpView {
        method: text("PUT"),
        url: text("http://127.0.0.1:1/a"),
        headers: vec![header],
        body: some("{}"),
        body_base64: some("e30="),
        timeout_ms: 5000,
        certificate: true,
    };
    check("HttpCall", From::Server, http);
    let message = SentMessageView {
        to: text("queue orders"),
        at: some("amqp://127.0.0.1"),
        message_id: text("r-1/tell/do"),
        content_type: some("application/json"),
        properties: BTreeMap::from([(text("a"), json!(1))]),
        body: some("{}"),
        body_base64: some("e30="),
    };
    check("CallMessage", From::Server, message);
}
