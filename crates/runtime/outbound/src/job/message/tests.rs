//! The message: as Azure wrote it, without secrets, fit for a terminal.

use bytes::Bytes;
use http::HeaderValue;

use super::*;

fn answer(status: u16, headers: &[(&'static str, &str)], body: &str) -> ServiceResponse {
    let headers = headers
        .iter()
        .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::try_from(*value).unwrap()))
        .collect();
    ServiceResponse { status, headers, body: Bytes::copy_from_slice(body.as_bytes()) }
}

fn message_of(answer: &ServiceResponse, secrets: &[&str]) -> String {
    let mut mask = Mask::default();
    secrets.iter().for_each(|secret| mask.hide(secret));
    answered("www.bing.com", answer, 1024, &mask)
}

#[test]
fn an_answer_reads_as_azure_wrote_it() {
    let headers = [("vary", "Accept-Encoding"), ("cache-control", "max-age=0, private"), ("etag", "1")];
    assert_eq!(
        message_of(&answer(200, &headers, "<html>"), &[]),
        "Http Action - Response from host 'www.bing.com': 'OK' Response Headers: Vary: Accept-Encoding\r\n\
         Cache-Control: max-age=0, private\r\nEtag: 1\r\n Body: <html>"
    );
    for (status, name) in
        [(404, "'NotFound'"), (500, "'InternalServerError'"), (418, "'418'"), (302, "'Found'")]
    {
        assert!(message_of(&answer(status, &[], ""), &[]).contains(name), "{status}");
    }
}

#[test]
fn the_body_is_cut_by_characters_after_it_was_masked() {
    let body = format!("{}hunter2{}", "\u{1f680}".repeat(1020), "x".repeat(100));
    let text = message_of(&answer(200, &[], &body), &["hunter2"]);
    let (_, body) = text.split_once(" Body: ").unwrap();
    assert_eq!(body, format!("{}***x", "\u{1f680}".repeat(1020)));
}

#[test]
fn headers_that_carry_credentials_are_masked_whatever_they_say() {
    let headers = [
        ("set-cookie", "id=1"),
        ("www-authenticate", "Bearer x"),
        ("authorization", "Basic x"),
        ("proxy-authenticate", "NTLM x"),
        ("x-auth-token", "abc"),
        ("x-api-key", "abc"),
        ("x-echo", "pass hunter2 through"),
    ];
    let text = message_of(&answer(401, &headers, "hunter2"), &["hunter2"]);
    assert!(text.ends_with(
        "Set-Cookie: ***\r\nWww-Authenticate: ***\r\nAuthorization: ***\r\nProxy-Authenticate: ***\r\n\
         X-Auth-Token: ***\r\nX-Api-Key: ***\r\nX-Echo: pass *** through\r\n Body: ***"
    ));
}

#[test]
fn many_headers_are_cut_at_a_line() {
    let value = "v".repeat(1000);
    let headers: Vec<_> = ["a", "b", "c", "d", "e"].map(|name| (name, value.as_str())).into();
    let text = message_of(&answer(200, &headers, "body"), &[]);
    assert!(text.contains("D: vvv") && !text.contains("E: vvv"), "{text}");
    assert!(text.ends_with("v\r\n\u{2026}\r\n Body: body"), "{text}");
}

#[test]
fn nothing_steers_a_terminal() {
    let text = message_of(&answer(200, &[], "a\u{1b}[2J\r\n\tb\u{202e}c\u{0}"), &[]);
    assert!(text.ends_with("Body: a\\u{1b}[2J\r\n\tb\\u{202e}c\\u{0}"), "{text}");
    let text = failed("h", "lost \u{7} hunter2", &{
        let mut mask = Mask::default();
        mask.hide("hunter2");
        mask
    });
    assert_eq!(text, "Http Action - Request to host 'h' failed: lost \\u{7} ***");
}

#[test]
fn bodies_that_are_not_text_do_no_harm() {
    let mut broken = answer(200, &[], "");
    broken.body = Bytes::from_static(b"\xff\xfe ok");
    assert!(message_of(&broken, &[]).ends_with("Body: \u{fffd}\u{fffd} ok"));
}
