//! The list of runs: the query, and escaping of untrusted text.

use super::*;
use types::RunStatus;

const HOSTILE: &str = "<script>alert('x')</script>\"&";

fn summary() -> RunSummary {
    RunSummary {
        id: "r-1".to_owned(),
        workflow: "w".to_owned(),
        version: 1,
        status: RunStatus::Parked,
        key: "r-1".to_owned(),
        accepted_at: Time(Timestamp(1_800_000_000_000)),
        ended_at: None,
        reason: None,
    }
}

fn search() -> Search {
    Search {
        id: None,
        workflow: None,
        status: None,
        key: None,
        within: None,
        from: None,
        to: None,
        cursor: None,
    }
}

// guards: 54
#[test]
fn foreign_text_stays_text_in_a_list() {
    let hostile = || HOSTILE.to_owned();
    let run = RunSummary {
        id: hostile(),
        workflow: hostile(),
        key: "k".to_owned() + HOSTILE,
        reason: Some(hostile()),
        ..summary()
    };
    let search = Search { workflow: Some(hostile()), key: Some(hostile()), ..search() };
    let query = search.query(Timestamp(0)).unwrap();
    let page = RunPage { items: vec![run], next: Some(hostile()) };
    let shown = content(&search, &query, &page).into_string()
        + &form(&search, &[hostile()]).into_string()
        + &nothing_with(HOSTILE).into_string();
    assert!(!shown.contains("<script>") && !shown.contains("'x'\""), "{shown}");
    assert!(shown.contains("/ui/runs/%3Cscript%3E"), "{shown}");
}

#[test]
fn a_stretch_until_now_becomes_a_start_that_the_next_page_keeps() {
    let now = Time::parse_any("2026-03-01T12:00:00Z").unwrap().0;
    let search = Search { within: Some("1h".to_owned()), ..search() };
    let query = search.query(now).unwrap();
    assert_eq!(query[3], ("from", Some("2026-03-01T11:00:00.000Z".to_owned())));
    let page = RunPage { items: vec![summary()], next: Some("c".to_owned()) };
    let shown = content(&search, &query, &page).into_string();
    assert!(shown.contains("/ui/runs?from=2026-03-01T11%3A00%3A00.000Z&amp;cursor=c"), "{shown}");
}

#[test]
fn times_of_forms_are_read_as_utc_and_others_are_refused_by_name() {
    let at = |from: &str| Search { from: Some(from.to_owned()), ..search() }.query(Timestamp(0));
    assert_eq!(at("2026-03-01T12:30").unwrap()[3].1.as_deref(), Some("2026-03-01T12:30:00.000Z"));
    let Err(PageError::Form(why)) = at("yesterday") else { panic!("yesterday was taken") };
    assert!(why.starts_with("from: "), "{why}");
    let Err(PageError::Form(why)) =
        (Search { within: Some("1y".to_owned()), ..search() }).query(Timestamp(0))
    else {
        panic!("a year was taken")
    };
    assert!(why.starts_with("within: "), "{why}");
}

#[test]
fn what_matches_can_be_handed_to_a_bulk() {
    let search = Search { status: Some("parked".to_owned()), ..search() };
    let query = search.query(Timestamp(0)).unwrap();
    let page = RunPage { items: vec![summary()], next: None };
    let shown = content(&search, &query, &page).into_string();
    assert!(shown.contains("/ui/bulk/new?status=parked"), "{shown}");
    assert!(shown.contains(r#"name="id" value="r-1""#), "{shown}");
}
