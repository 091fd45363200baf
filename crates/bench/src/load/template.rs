//! The bytes of a request, prepared once: from one request to the next only the digits of its ids change.

use super::Target;
use crate::request;

/// Digits at the end of an id.
const DIGITS: usize = 10;

/// The bytes of a POST with one request, or with a batch of them.
#[derive(Debug, Clone)]
pub struct Template {
    bytes: Vec<u8>,
    /// Where the digits of the first id are, and how far it is to those of the next.
    first: usize,
    stride: usize,
    requests: u32,
}

impl Template {
    /// `name` begins the ids. With a batch, the body is that many lines of NDJSON.
    pub fn new(target: &Target, name: &str, batch: Option<u32>) -> Template {
        let one = request::delivery(&id(name, 0));
        let (media, requests, line_end) = match batch {
            None => ("application/json", 1, &b""[..]),
            Some(requests) => ("application/x-ndjson", requests, &b"\n"[..]),
        };
        let stride = one.len() + line_end.len();
        let length = stride * requests as usize;
        let (path, token) = (&target.path, &target.token);
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: {media}\r\nauthorization: Bearer {token}\r\ncontent-length: {length}\r\n\r\n"
        );
        let mut bytes = head.into_bytes();
        let first = bytes.len() + request::ID_AT + name.len() + 1;
        for _ in 0..requests {
            bytes.extend_from_slice(&one);
            bytes.extend_from_slice(line_end);
        }
        Template { bytes, first, stride, requests }
    }

    /// Requests in one POST.
    pub fn requests(&self) -> u32 {
        self.requests
    }

    /// The bytes of the POST of this number, counted from 0.
    pub fn numbered(&mut self, number: u64) -> &[u8] {
        let mut at = self.first;
        let from = number * u64::from(self.requests);
        for request in from..from + u64::from(self.requests) {
            write_digits(&mut self.bytes[at..at + DIGITS], request);
            at += self.stride;
        }
        &self.bytes
    }
}

/// The id of a request, as it stands in its bytes.
fn id(name: &str, request: u64) -> String {
    format!("{name}-{request:0DIGITS$}")
}

fn write_digits(place: &mut [u8], mut number: u64) {
    for digit in place.iter_mut().rev() {
        *digit = b'0' + (number % 10) as u8;
        number /= 10;
    }
}

#[cfg(test)]
mod tests {
    use super::super::Answers;
    use super::*;

    fn target() -> Target {
        Target {
            address: ([127, 0, 0, 1], 1).into(),
            others: Vec::new(),
            path: "/p".to_owned(),
            token: "t".to_owned(),
            answers: Answers::Whole,
        }
    }

    fn body(bytes: &[u8]) -> &str {
        std::str::from_utf8(bytes).unwrap().split_once("\r\n\r\n").unwrap().1
    }

    #[test]
    fn only_the_id_changes() {
        let mut template = Template::new(&target(), "bench", None);
        for number in [0, 7, 1_234_567_890] {
            let wanted = request::delivery(&id("bench", number));
            assert_eq!(body(template.numbered(number)).as_bytes(), &wanted[..]);
        }
        assert!(template.numbered(0).starts_with(b"POST /p HTTP/1.1\r\n"));
    }

    #[test]
    fn a_batch_is_a_line_for_each_request() {
        let mut template = Template::new(&target(), "b", Some(3));
        let text = String::from_utf8(template.numbered(2).to_vec()).unwrap();
        assert!(text.contains("content-length: 903\r\n"), "{text}");
        let ids: Vec<String> = body(text.as_bytes())
            .lines()
            .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()["deliveryId"].to_string())
            .collect();
        assert_eq!(ids, [6, 7, 8].map(|number| format!("\"{}\"", id("b", number))));
    }
}
