//! Parses responses: as much of HTTP/1.1 as a load generator needs, without copying.

use std::ops::Range;

/// The result of parsing the bytes received so far.
#[derive(Debug, PartialEq, Eq)]
pub enum ParsedResponse {
    /// Part of a response.
    Part,
    Whole(RawResponse),
    /// Not a response that this parser supports; why not.
    Broken(&'static str),
}

/// One response at the start of the received bytes.
#[derive(Debug, PartialEq, Eq)]
pub struct RawResponse {
    pub status: u16,
    pub body: Range<usize>,
    /// Whether it says when to come again.
    pub retry_after: bool,
    /// Whether the connection ends with it.
    pub close: bool,
}

/// A fast server does not send more headers than this.
const HEAD_BYTES_MAX: usize = 16 << 10;

/// Reads the answer that `bytes` begin with.
pub fn read(bytes: &[u8]) -> ParsedResponse {
    let mut lines = Lines { bytes, at: 0 };
    let Some(first) = lines.next() else { return unfinished(bytes) };
    let Some(status) = status(first) else {
        return ParsedResponse::Broken("a response that is not HTTP/1.1");
    };
    let (mut length, mut retry_after, mut close) = (None, false, false);
    loop {
        let Some(line) = lines.next() else { return unfinished(bytes) };
        if line.is_empty() {
            break;
        }
        // Most headers are none of these, and their first byte says so.
        match line[0] | 0x20 {
            b'c' => {
                if let Some(value) = value(line, b"content-length") {
                    length = Some(value);
                } else if value(line, b"connection").is_some_and(|value| value.eq_ignore_ascii_case(b"close"))
                {
                    close = true;
                }
            }
            b't' if value(line, b"transfer-encoding").is_some() => {
                return ParsedResponse::Broken(
                    "a chunked response, which this load generator does not support",
                );
            }
            b'r' if value(line, b"retry-after").is_some() => retry_after = true,
            _ => {}
        }
    }
    let length = match length {
        Some(text) => match number(text) {
            Some(length) => length,
            None => return ParsedResponse::Broken("an answer whose length is not a number"),
        },
        None if status == 204 => 0,
        None => return ParsedResponse::Broken("a response without a length"),
    };
    let body = lines.at..lines.at + length;
    if bytes.len() < body.end {
        return ParsedResponse::Part;
    }
    ParsedResponse::Whole(RawResponse { status, body, retry_after, close })
}

fn unfinished(bytes: &[u8]) -> ParsedResponse {
    if bytes.len() > HEAD_BYTES_MAX {
        ParsedResponse::Broken("a response with endless headers")
    } else {
        ParsedResponse::Part
    }
}

/// The lines of a head, without their ends.
struct Lines<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Iterator for Lines<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let rest = &self.bytes[self.at..];
        let end = rest.iter().position(|byte| *byte == b'\n')?;
        self.at += end + 1;
        let line = &rest[..end];
        Some(line.strip_suffix(b"\r").unwrap_or(line))
    }
}

fn status(line: &[u8]) -> Option<u16> {
    let code = line.strip_prefix(b"HTTP/1.1 ")?.get(..3)?;
    number(code).and_then(|code| u16::try_from(code).ok())
}

/// The value of a header, if the line is that one.
fn value<'a>(line: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let (head, rest) = line.split_at_checked(name.len())?;
    let value = rest.strip_prefix(b":")?;
    head.eq_ignore_ascii_case(name).then(|| value.trim_ascii())
}

fn number(digits: &[u8]) -> Option<usize> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANSWER: &[u8] =
        b"HTTP/1.1 202 Accepted\r\nX-Other: 1\r\nContent-Length: 5\r\ndate: now\r\n\r\nhello";

    fn whole(bytes: &[u8]) -> RawResponse {
        match read(bytes) {
            ParsedResponse::Whole(answer) => answer,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn an_answer_may_break_at_any_byte() {
        for end in 0..ANSWER.len() {
            assert_eq!(read(&ANSWER[..end]), ParsedResponse::Part, "{end}");
        }
        let answer = whole(ANSWER);
        assert_eq!((answer.status, &ANSWER[answer.body]), (202, &b"hello"[..]));
        assert!(!answer.close && !answer.retry_after);
    }

    #[test]
    fn what_follows_belongs_to_the_next() {
        let two = [ANSWER, ANSWER].concat();
        assert_eq!(whole(&two).body.end, ANSWER.len());
    }

    #[test]
    fn a_refusal_says_when_to_come_again_and_that_it_closes() {
        let answer = whole(
            b"HTTP/1.1 429 Too Many Requests\r\nretry-after: 3\r\nCONNECTION: close\r\ncontent-length:0\r\n\r\n",
        );
        assert_eq!((answer.status, answer.retry_after, answer.close), (429, true, true));
        assert_eq!(whole(b"HTTP/1.1 204 No Content\r\n\r\n").status, 204);
    }

    #[test]
    fn what_cannot_be_followed_is_said_so() {
        let broken = |bytes: &[u8]| matches!(read(bytes), ParsedResponse::Broken(_));
        assert!(broken(b"SSH-2.0-OpenSSH\r\n"));
        assert!(broken(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"));
        assert!(broken(b"HTTP/1.1 200 OK\r\n\r\n"));
        assert!(broken(b"HTTP/1.1 200 OK\r\ncontent-length: some\r\n\r\n"));
        assert!(broken(&[b'x'; HEAD_BYTES_MAX + 1]));
    }
}
