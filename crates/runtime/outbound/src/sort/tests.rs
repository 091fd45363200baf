//! The table of every class.

use http::HeaderValue;

use super::*;
use crate::fault::Stage;

/// 2026-01-01T00:00:00Z
const NOW: Timestamp = Timestamp(1_767_225_600_000);

fn answer(status: u16, body: &str) -> ServiceResponse {
    ServiceResponse { status, headers: HeaderMap::new(), body: Bytes::copy_from_slice(body.as_bytes()) }
}

fn word(result: Result<ServiceResponse, Fault>) -> String {
    match sort(&result, NOW) {
        Sorted::Done { status, .. } => format!("done {status}"),
        Sorted::Refused { status: Some(status), .. } => format!("refused {status}"),
        Sorted::Refused { status: None, .. } => "refused".to_owned(),
        Sorted::Transient { status: Some(status), .. } => format!("transient {status}"),
        Sorted::Transient { status: None, .. } => "transient".to_owned(),
        Sorted::Unknown { .. } => "unknown".to_owned(),
    }
}

#[test]
fn every_status_has_its_class() {
    for status in 100..=999 {
        let class = match status {
            200..=299 => "done",
            408 | 425 | 429 | 500..=999 => "transient",
            _ => "refused",
        };
        assert_eq!(word(Ok(answer(status, "x"))), format!("{class} {status}"));
    }
}

#[test]
fn every_fault_has_its_class() {
    let reason = || "r".to_owned();
    let too_large = |status| Fault::TooLarge { answer: Some(Box::new(answer(status, "x"))) };
    let table = [
        (Fault::Refused { reason: reason() }, "refused"),
        (Fault::Connect { stage: Stage::Dns, reason: reason() }, "transient"),
        (Fault::Connect { stage: Stage::Tcp, reason: reason() }, "transient"),
        (Fault::Connect { stage: Stage::Tls, reason: reason() }, "transient"),
        (Fault::Unsent { reason: reason() }, "transient"),
        (Fault::Timeout { sent: false }, "transient"),
        (Fault::Timeout { sent: true }, "unknown"),
        (Fault::Lost { reason: reason() }, "unknown"),
        (Fault::BadAnswer { reason: reason() }, "unknown"),
        (Fault::TooLarge { answer: None }, "unknown"),
        (too_large(200), "unknown"),
        (too_large(404), "refused 404"),
        (too_large(302), "refused 302"),
        (too_large(503), "transient 503"),
    ];
    for (fault, class) in table {
        assert_eq!(word(Err(fault.clone())), class, "{fault:?}");
    }
}

#[test]
fn the_body_of_a_success_is_handed_back() {
    let sorted = sort(&Ok(answer(201, "{\"a\":1}")), NOW);
    assert_eq!(sorted, Sorted::Done { status: 201, body: Bytes::from_static(b"{\"a\":1}") });
}

#[test]
fn a_wish_to_wait_is_honoured_up_to_an_hour() {
    let hour = Some(Span::from_secs(3600));
    let table = [
        ("0", Some(Span::ZERO)),
        ("7", Some(Span::from_secs(7))),
        (" 7 ", Some(Span::from_secs(7))),
        ("3601", hour),
        ("99999999999999999999999999", hour),
        ("Thu, 01 Jan 2026 00:00:30 GMT", Some(Span::from_secs(30))),
        ("Thursday, 01-Jan-26 00:00:30 GMT", Some(Span::from_secs(30))),
        ("Thu Jan  1 00:00:30 2026", Some(Span::from_secs(30))),
        ("Sat, 01 Jan 2050 00:00:00 GMT", hour),
        ("Thu, 01 Jan 2026 00:00:00 GMT", None),
        ("Wed, 31 Dec 2025 23:59:59 GMT", None),
        ("Mon, 01 Jan 1900 00:00:00 GMT", None),
        ("-1", None),
        ("+5", None),
        ("1.5", None),
        ("5s", None),
        ("soon", None),
        ("", None),
        ("\u{ff}", None),
    ];
    for (text, expected) in table {
        let mut answer = answer(503, "");
        let value = HeaderValue::from_bytes(text.as_bytes()).unwrap();
        answer.headers.insert(RETRY_AFTER, value);
        let Sorted::Transient { retry_after, .. } = sort(&Ok(answer), NOW) else { panic!("{text}") };
        assert_eq!(retry_after, expected, "{text:?}");
    }
}

#[test]
fn a_reason_quotes_little_and_escapes_what_is_not_text() {
    let reason = |body: &[u8]| {
        let answer = ServiceResponse { body: Bytes::copy_from_slice(body), ..answer(404, "") };
        let Sorted::Refused { reason, .. } = sort(&Ok(answer), NOW) else { panic!() };
        reason
    };
    assert_eq!(reason(b""), "404");
    assert_eq!(reason(b"  no such drone \r\n"), "404: no such drone");
    assert_eq!(reason(b"a\x1b[31m\nb\0"), "404: a\\u{1b}[31m\\u{a}b\\u{0}");
    assert_eq!(reason("a\u{202e}b".as_bytes()), "404: a\\u{202e}b");
    assert_eq!(reason(b"\xff\xfe!"), "404: \u{fffd}\u{fffd}!");
    let long = "\u{e9}".repeat(10_000);
    assert_eq!(reason(long.as_bytes()), format!("404: {}", "\u{e9}".repeat(200)));
}
