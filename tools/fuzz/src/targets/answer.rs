//! Responses of services: what each means, its Retry-After, and what of it is quoted.

use bytes::Bytes;
use http::header::RETRY_AFTER;
use http::{HeaderMap, HeaderValue};
use outbound::limits::{REASON_CHARS_MAX, RETRY_AFTER_MAX};
use outbound::{Fault, ServiceResponse, Sorted, sort};
use types::Timestamp;

use crate::Target;
use crate::input::Input;

pub const TARGET: Target = Target {
    name: "answer",
    run,
    seeds,
    words: &[
        "120",
        "-1",
        "0",
        "Wed, 21 Oct 2099 07:28:00 GMT",
        "Sunday, 06-Nov-94 08:49:37 GMT",
        "Sun Nov  6 08:49:37 1994",
        "99999999999999999999999",
        "\u{202e}",
        "\u{2028}",
        "\u{1b}[31m",
        "GMT",
        "Feb 30",
    ],
    inputs: 4000,
};

fn run(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let status = input.u16() % 1000;
    let now = Timestamp(i64::from(input.u32()) * 1000);
    let wish = input.bytes(64);
    let mut headers = HeaderMap::new();
    if let Ok(value) = HeaderValue::from_bytes(wish) {
        headers.insert(RETRY_AFTER, value);
    }
    let answer = ServiceResponse { status, headers, body: Bytes::copy_from_slice(input.rest()) };
    let whole = sort(&Ok(answer.clone()), now);
    check(&whole);
    let cut = sort(&Err(Fault::TooLarge { answer: Some(Box::new(answer.clone())) }), now);
    check(&cut);
    let reason = String::from_utf8_lossy(&answer.body).into_owned();
    check(&sort(&Err(Fault::BadAnswer { reason }), now));
    match (200..300).contains(&status) {
        true => {
            assert_eq!(whole, Sorted::Done { status, body: answer.body });
            assert!(matches!(cut, Sorted::Unknown { .. }), "it was done, and we cannot say what came of it");
        }
        false => assert_eq!(whole, cut, "of an error the beginning is enough"),
    }
}

fn check(sorted: &Sorted) {
    let (reason, wait) = match sorted {
        Sorted::Done { .. } => return,
        Sorted::Refused { reason, .. } | Sorted::Unknown { reason } => (reason, None),
        Sorted::Transient { reason, retry_after, .. } => (reason, *retry_after),
    };
    assert!(wait.is_none_or(|wait| wait.as_std() <= RETRY_AFTER_MAX), "{wait:?}");
    // An escaped character is at most ten long.
    assert!(reason.chars().count() <= REASON_CHARS_MAX * 10 + 40, "{} characters", reason.len());
    let harmful = |c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}');
    assert!(!reason.contains(harmful), "{reason:?}");
}

fn seeds() -> Vec<Vec<u8>> {
    let one = |status: u16, wish: &str, body: &str| {
        let mut bytes = status.to_le_bytes().to_vec();
        bytes.extend_from_slice(&1_700_000_000u32.to_le_bytes());
        bytes.extend_from_slice(&(wish.len() as u16).to_le_bytes());
        bytes.extend_from_slice(wish.as_bytes());
        bytes.extend_from_slice(body.as_bytes());
        bytes
    };
    vec![
        one(200, "", "{}"),
        one(429, "120", "slow down\u{202e}"),
        one(503, "Wed, 21 Oct 2099 07:28:00 GMT", "<html>"),
        one(404, "Sun, 06 Nov 1994 08:49:37 GMT", "\u{1b}[31mred"),
        one(999, "-1", ""),
    ]
}
