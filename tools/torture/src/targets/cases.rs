//! The hostile targets by name, and what a call to each must come to.

use std::time::Duration;

use types::RunStatus;

use super::certificates::Flaw;
use super::server::{AfterBytes, Behaviour};

/// A target, and what is expected of calls to it.
pub struct Case {
    pub name: &'static str,
    pub place: TargetAddress,
    pub manner: Behaviour,
    pub shape: WorkflowShape,
    pub expected: Expected,
}

/// How the target is addressed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum TargetAddress {
    Http,
    /// TLS, with this flaw in the certificate.
    Https(Flaw),
    /// Addressed by https, and what answers speaks no TLS.
    HttpsWithoutTls,
    /// Addressed by http, and what answers speaks TLS.
    HttpToTls,
    /// No server of ours: this is the address.
    At(&'static str),
}

/// What the workflow does with the target.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum WorkflowShape {
    /// One call.
    Call,
    /// Two calls, one after the other: the second may find the connection of the first.
    CallTwice,
    /// One call whose answer must say `ok`.
    CallWithCondition,
    /// A call elsewhere that is undone at the target, because a later one is refused.
    Undo,
    /// The call comes after the pivot.
    AfterPivot,
}

/// What the first attempt, and then the run, must come to.
#[derive(Clone, Copy)]
pub struct Expected {
    /// Of the first attempt at the target; one of these.
    pub outcomes: &'static [&'static str],
    pub status: Option<u16>,
    /// Must be part of the detail of the first attempt.
    pub detail: &'static str,
    pub attempts: u32,
    /// From the end of the first attempt to the second, in milliseconds.
    pub wait_ms: (i64, i64),
    pub ending: RunStatus,
    /// Whether an occurrence of a job that calls the target succeeds; none when it is not tried.
    pub job_succeeds: Option<bool>,
}

/// The policy's own delay, and some more for the clock's steps.
const BY_POLICY: (i64, i64) = (100, 2_000);
const TRICKLE: Duration = Duration::from_secs(1);

const fn expected(outcomes: &'static [&'static str], detail: &'static str, attempts: u32) -> Expected {
    Expected {
        outcomes,
        status: None,
        detail,
        attempts,
        wait_ms: BY_POLICY,
        ending: RunStatus::Undone,
        job_succeeds: Some(false),
    }
}

/// Nothing was done; tried again until the attempts are used up.
const fn transient(detail: &'static str) -> Expected {
    expected(&["transient"], detail, 2)
}

/// It may have been done; tried again under the same key until the attempts are used up.
const fn unknown(detail: &'static str) -> Expected {
    expected(&["unknown"], detail, 2)
}

/// Depends on how far the request had come when the connection went.
const fn either() -> Expected {
    expected(&["transient", "unknown"], "", 2)
}

const fn refused(status: Option<u16>, detail: &'static str) -> Expected {
    Expected { status, ..expected(&["refused"], detail, 1) }
}

const fn answered(status: u16) -> Expected {
    Expected { status: Some(status), ..transient("") }
}

const fn done(status: u16) -> Expected {
    Expected {
        status: Some(status),
        ending: RunStatus::Completed,
        job_succeeds: Some(true),
        ..expected(&["done"], "", 1)
    }
}

/// A first answer that asks for a pause, and a second one that is a success.
const fn paused(status: u16, wait_ms: (i64, i64)) -> Expected {
    Expected {
        status: Some(status),
        wait_ms,
        ending: RunStatus::Completed,
        job_succeeds: Some(true),
        ..expected(&["transient"], "", 2)
    }
}

/// Asked to wait for longer than a test can: the run waits, and a cancel ends it.
const fn waits(status: u16) -> Expected {
    Expected { wait_ms: (3_500_000, 3_600_000), attempts: 1, job_succeeds: None, ..answered(status) }
}

/// A success that cannot be used by a workflow; a job only wants to know that it is one.
const fn too_large() -> Expected {
    Expected { job_succeeds: Some(true), ..unknown(LARGE) }
}

const DEADLINE: &str = "no response by the deadline";
const NOT_HTTP: &str = "not valid HTTP";
const LOST: &str = "connection lost";
const LARGE: &str = "larger than allowed";
const OK: &str = "HTTP/1.1 200 OK\r\n";

fn case(name: &'static str, manner: Behaviour, expected: Expected) -> Case {
    Case { name, place: TargetAddress::Http, manner, shape: WorkflowShape::Call, expected }
}

fn says(text: impl AsRef<[u8]>, then: AfterBytes) -> Behaviour {
    Behaviour::Says(text.as_ref().to_vec(), then)
}

fn drips(head: &str, drop: impl AsRef<[u8]>, pause: Duration) -> Behaviour {
    Behaviour::Drips { head: head.as_bytes().to_vec(), drop: drop.as_ref().to_vec(), pause }
}

/// A whole answer without a body.
fn plain(status: &str, headers: &str) -> Vec<u8> {
    format!("HTTP/1.1 {status}\r\n{headers}content-length: 0\r\n\r\n").into_bytes()
}

fn statuses(status: &str, headers: &str) -> Behaviour {
    Behaviour::Says(plain(status, headers), AfterBytes::Keep)
}

/// Answers so once per key, then with a success.
fn pausing(status: &str, headers: &str) -> Behaviour {
    Behaviour::SaysByTurns(plain(status, headers), plain("200 OK", ""))
}

/// All of them. `canary` is an address that must not be called.
pub fn cases(canary: &str) -> Vec<Case> {
    let mut cases = connections();
    cases.extend(heads());
    cases.extend(bodies());
    cases.extend(json_bodies());
    cases.extend(redirects(canary));
    cases.extend(wishes());
    cases.extend(verdicts());
    cases.extend(encrypted());
    cases.extend(addresses());
    cases
}

fn connections() -> Vec<Case> {
    vec![
        case("nobody-listens", Behaviour::Absent, transient("connecting failed")),
        case("never-accepts", Behaviour::NeverAccepts, transient("(request not sent)")),
        case("accepts-and-hangs", Behaviour::Silent, unknown(DEADLINE)),
        case("closes-at-once", Behaviour::ClosesAtOnce, either()),
        case("resets-at-once", Behaviour::ResetsAtOnce, either()),
        case("closes-before-answering", says("", AfterBytes::Close), unknown(LOST)),
        case("resets-before-answering", says("", AfterBytes::Reset), unknown(LOST)),
        case(
            "resets-in-the-body",
            says(format!("{OK}content-length: 100\r\n\r\nhalf"), AfterBytes::Reset),
            unknown(LOST),
        ),
    ]
}

fn heads() -> Vec<Case> {
    let many: String = (0..100_000).map(|n| format!("x-{n}: y\r\n")).collect();
    let long = format!("{OK}x-long: {}\r\n\r\n", "y".repeat(100 << 10));
    vec![
        case("trickles-the-head", drips("HTTP/1.1 200 OK\r\nx: ", "y", TRICKLE), unknown(DEADLINE)),
        case("endless-head", drips(OK, "x-more: and more\r\n", Duration::ZERO), unknown("")),
        case("100k-headers", says(format!("{OK}{many}\r\n"), AfterBytes::Close), unknown("")),
        case("one-huge-header", says(long, AfterBytes::Close), unknown(LARGE)),
        case("invalid-status-line", says("HTTP/1.1 yes fine\r\n\r\n", AfterBytes::Close), unknown(NOT_HTTP)),
        case("http-0.9", says("<html>hello</html>", AfterBytes::Close), unknown(NOT_HTTP)),
        case("http-3.7", says("HTTP/3.7 200 OK\r\n\r\n", AfterBytes::Close), unknown(NOT_HTTP)),
        case(
            "garbage",
            says([0x13_u8, 0x37, 0xff, 0x00].repeat(16 << 10), AfterBytes::Close),
            unknown(NOT_HTTP),
        ),
        case("flood-of-1xx", drips("", "HTTP/1.1 100 Continue\r\n\r\n", Duration::ZERO), unknown(DEADLINE)),
        case(
            "two-lengths",
            says(format!("{OK}content-length: 2\r\ncontent-length: 3\r\n\r\nabc"), AfterBytes::Close),
            unknown(NOT_HTTP),
        ),
        case(
            "unasked-upgrade",
            says(
                "HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n",
                AfterBytes::Hold,
            ),
            expected(&["refused", "unknown"], "", 1),
        ),
        case("status-999", statuses("999 What", ""), answered(999)),
    ]
}

fn bodies() -> Vec<Case> {
    let large = format!("{OK}content-length: 1073741824\r\n\r\n");
    let chunked = format!("{OK}transfer-encoding: chunked\r\n\r\n");
    let stray = format!(
        "{OK}content-length: 2\r\n\r\n{{}}HTTP/1.1 500 Internal Server Error\r\ncontent-length: 0\r\n\r\n"
    );
    vec![
        case(
            "trickles-the-body",
            drips("HTTP/1.1 200 OK\r\ncontent-length: 9999\r\n\r\n", "y", TRICKLE),
            unknown(DEADLINE),
        ),
        case("endless-body", drips(&large, vec![b'y'; 64 << 10], Duration::ZERO), too_large()),
        // Reading them one by one may take longer than an attempt has.
        case(
            "endless-chunks",
            drips(&chunked, "4\r\nmore\r\n".repeat(1000), Duration::ZERO),
            Expected { job_succeeds: None, ..unknown("") },
        ),
        case("endless-chunk-extension", drips(&chunked, vec![b'y'; 64 << 10], Duration::ZERO), unknown("")),
        case(
            "oversized-error",
            drips(
                "HTTP/1.1 500 Oh\r\ncontent-length: 1073741824\r\n\r\n",
                vec![b'y'; 64 << 10],
                Duration::ZERO,
            ),
            answered(500),
        ),
        case(
            "length-too-long",
            says(format!("{OK}content-length: 50\r\n\r\nshort"), AfterBytes::Close),
            unknown(LOST),
        ),
        case(
            "length-never-reached",
            says(format!("{OK}content-length: 50\r\n\r\nshort"), AfterBytes::Hold),
            unknown(DEADLINE),
        ),
        Case {
            shape: WorkflowShape::CallTwice,
            ..case("length-too-short", says(stray, AfterBytes::Keep), done(200))
        },
        case("chunked-garbage", says(format!("{chunked}zz\r\nhello\r\n"), AfterBytes::Close), unknown("")),
        case(
            "chunk-without-end",
            says(format!("{chunked}FFFFFFFFFFFFFFFFF\r\nx"), AfterBytes::Close),
            unknown(""),
        ),
        case("gzip-bomb", says(gzip_bomb(), AfterBytes::Keep), done(200)),
        Case {
            shape: WorkflowShape::CallTwice,
            ..case(
                "204-with-a-body",
                says("HTTP/1.1 204 No Content\r\ncontent-length: 5\r\n\r\nhello", AfterBytes::Keep),
                done(204),
            )
        },
    ]
}

fn json_bodies() -> Vec<Case> {
    let deep = "[".repeat(20_000) + &"]".repeat(20_000);
    vec![
        case("invalid-json", says(json_answer("{\"ok\":"), AfterBytes::Keep), done(200)),
        Case {
            shape: WorkflowShape::CallWithCondition,
            ..case(
                "invalid-json-with-condition",
                says(json_answer("{\"ok\":"), AfterBytes::Keep),
                Expected { job_succeeds: None, ..refused(Some(200), "accept_if") },
            )
        },
        case("deep-json", says(json_answer(&deep), AfterBytes::Keep), done(200)),
        Case {
            shape: WorkflowShape::CallWithCondition,
            ..case(
                "deep-json-with-condition",
                says(json_answer(&deep), AfterBytes::Keep),
                Expected { job_succeeds: None, ..refused(Some(200), "accept_if") },
            )
        },
    ]
}

fn json_answer(body: &str) -> String {
    format!("{OK}content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}", body.len())
}

/// Some forty kilobytes that claim to be gzip of far more: a header, and then blocks that each repeat a long match.
fn gzip_bomb() -> Vec<u8> {
    let mut body = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3];
    body.extend([0xed_u8, 0xc1, 0x01, 0x0d].repeat(10 << 10));
    let head = format!("{OK}content-encoding: gzip\r\ncontent-length: {}\r\n\r\n", body.len());
    [head.into_bytes(), body].concat()
}

fn redirects(canary: &str) -> Vec<Case> {
    let to = |place: &str| statuses("302 Found", &format!("location: {place}\r\n"));
    vec![
        case("redirect-to-itself", to("/"), refused(Some(302), "")),
        case("redirect-elsewhere", to(canary), refused(Some(302), "")),
        case("redirect-to-private", to("http://169.254.169.254/latest/"), refused(Some(302), "")),
        case(
            "redirect-307",
            statuses("307 Moved", &format!("location: {canary}\r\n")),
            refused(Some(307), ""),
        ),
        Case {
            place: TargetAddress::Https(Flaw::None),
            ..case("redirect-to-clear", to(canary), refused(Some(302), ""))
        },
    ]
}

/// What targets ask for with `Retry-After`.
fn wishes() -> Vec<Case> {
    let date = |secs: i64| {
        let at = jiff::Timestamp::now() + jiff::SignedDuration::from_secs(secs);
        format!("retry-after: {}\r\n", at.strftime("%a, %d %b %Y %H:%M:%S GMT"))
    };
    vec![
        case("429-for-seconds", pausing("429 Slow", "retry-after: 2\r\n"), paused(429, (2_000, 4_000))),
        case("503-for-seconds", pausing("503 Busy", "retry-after: 2\r\n"), paused(503, (2_000, 4_000))),
        case("503-until-a-date", pausing("503 Busy", &date(20)), paused(503, (1_000, 21_000))),
        case("503-until-yesterday", pausing("503 Busy", &date(-86_400)), paused(503, BY_POLICY)),
        case("429-for-garbage", pausing("429 Slow", "retry-after: soon\r\n"), paused(429, BY_POLICY)),
        case("503-for-less-than-nothing", pausing("503 Busy", "retry-after: -5\r\n"), paused(503, BY_POLICY)),
        case("503-for-a-fraction", pausing("503 Busy", "retry-after: 0.5\r\n"), paused(503, BY_POLICY)),
        case("503-for-years", statuses("503 Busy", "retry-after: 99999999\r\n"), waits(503)),
        case(
            "429-for-ages",
            statuses("429 Slow", &format!("retry-after: {}\r\n", "9".repeat(40))),
            waits(429),
        ),
    ]
}

fn verdicts() -> Vec<Case> {
    let refusing =
        |name, line: &'static str, status| case(name, statuses(line, ""), refused(Some(status), ""));
    let failing = |name, line: &'static str, status| case(name, statuses(line, ""), answered(status));
    let mut cases = vec![
        refusing("400", "400 Bad Request", 400),
        refusing("401", "401 Unauthorized", 401),
        refusing("404", "404 Not Found", 404),
        refusing("410", "410 Gone", 410),
        failing("408", "408 Request Timeout", 408),
        failing("425", "425 Too Early", 425),
        failing("500", "500 Oh", 500),
        failing("502", "502 Bad Gateway", 502),
        failing("504", "504 Gateway Timeout", 504),
    ];
    let parked = |outcomes, attempts| Expected {
        ending: RunStatus::Parked,
        job_succeeds: None,
        ..expected(outcomes, "", attempts)
    };
    let undo = |name, manner, expected| Case { shape: WorkflowShape::Undo, ..case(name, manner, expected) };
    cases.extend([
        undo("undo-hangs", Behaviour::Silent, parked(&["unknown"], 2)),
        undo("undo-refused", statuses("400 Bad Request", ""), parked(&["refused"], 1)),
        undo(
            "undo-of-nothing",
            statuses("410 Gone", ""),
            Expected { status: Some(410), job_succeeds: None, ..expected(&["done"], "", 1) },
        ),
        Case {
            shape: WorkflowShape::AfterPivot,
            ..case("refused-after-the-pivot", statuses("400 Bad Request", ""), parked(&["refused"], 1))
        },
    ]);
    cases
}

fn encrypted() -> Vec<Case> {
    let ok = || statuses("200 OK", "");
    let greets = || Behaviour::SaysToAnything(plain("400 Bad Request", ""));
    let at = |place, case| Case { place, ..case };
    let flawed = |name, flaw, detail| at(TargetAddress::Https(flaw), case(name, ok(), transient(detail)));
    vec![
        at(TargetAddress::Https(Flaw::None), case("tls", ok(), done(200))),
        flawed("tls-self-signed", Flaw::SelfSigned, "TLS handshake failed"),
        flawed("tls-expired", Flaw::Expired, "xpired"),
        flawed("tls-not-yet-valid", Flaw::NotYetValid, "alid"),
        flawed("tls-other-name", Flaw::OtherName, "name"),
        at(
            TargetAddress::HttpsWithoutTls,
            case("tls-stalls", Behaviour::Silent, transient("(request not sent)")),
        ),
        at(
            TargetAddress::HttpsWithoutTls,
            case("http-on-a-tls-port", greets(), transient("TLS handshake failed")),
        ),
        at(TargetAddress::HttpToTls, case("tls-on-an-http-port", ok(), unknown(""))),
    ]
}

fn addresses() -> Vec<Case> {
    let at = |name, place, expected| Case {
        place: TargetAddress::At(place),
        ..case(name, Behaviour::Absent, expected)
    };
    vec![
        at("name-of-nobody", "http://nobody.invalid", transient("name lookup failed")),
        at("private-address", "http://10.1.2.3", refused(None, "call refused")),
        at("metadata-address", "http://169.254.169.254", refused(None, "call refused")),
        at("mapped-private-address", "http://[::ffff:10.1.2.3]", refused(None, "call refused")),
    ]
}
