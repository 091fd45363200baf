//! Headers of calls: keys and traces cannot inject other headers.

use http::header::{CONTENT_LENGTH, HOST, TRANSFER_ENCODING};
use http::{HeaderMap, HeaderName, HeaderValue};
use outbound::headers::{IDEMPOTENCY_KEY, TRACEPARENT};
use outbound::{TraceParent, call_headers};

use crate::Target;
use crate::input::{first_line, text};

pub const TARGET: Target = Target {
    name: "headers",
    run,
    seeds,
    words: &[
        "00-",
        "ff-",
        "-01",
        "host: ",
        "content-length: ",
        "transfer-encoding: chunked",
        "traceparent: ",
        "\r\n",
        "keep-alive",
    ],
    inputs: 4000,
};

fn run(bytes: &[u8]) {
    let Some(text) = text(bytes) else { return };
    let (trace, rest) = first_line(text);
    let (key, own) = first_line(rest);
    let parent = TraceParent::parse(trace);
    if let Some(parent) = parent {
        let again = TraceParent::parse(&parent.to_string()).expect("what is written is read");
        assert_eq!(again.to_string(), parent.to_string());
        assert!(trace.contains(&parent.to_string()[3..35]), "a trace keeps its id");
    }
    let parent = parent.unwrap_or_else(|| TraceParent::root(key));
    let mut headers = HeaderMap::new();
    for (name, value) in own.lines().take(100).filter_map(|line| line.split_once(": ")) {
        if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) {
            headers.append(name, value);
        }
    }
    match call_headers(headers, key, parent, key) {
        Ok(headers) => {
            assert_eq!(headers[IDEMPOTENCY_KEY], key);
            assert_eq!(headers.get_all(IDEMPOTENCY_KEY).iter().count(), 1);
            let trace = headers[TRACEPARENT].to_str().expect("a trace is ASCII");
            assert!(TraceParent::parse(trace).is_some(), "{trace}");
            for name in [HOST, CONTENT_LENGTH, TRANSFER_ENCODING] {
                assert!(!headers.contains_key(&name), "{name} frames the message");
            }
        }
        Err(problem) => assert!(problem.to_string().len() < 1000),
    }
}

fn seeds() -> Vec<Vec<u8>> {
    [
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01\nrun-1/step/do\nx-a: b\nhost: evil\ncontent-length: 3",
        "cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00-more\nk\nTransfer-Encoding: chunked\nTraceparent: x",
        "nothing\nschl\u{fc}ssel\n",
    ]
    .map(|text| text.as_bytes().to_vec())
    .into()
}
