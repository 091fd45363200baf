//! Requests of a divergent tail, in the types of the API.

use api_types::{TailRequestView, Time};
use kernel::Request;
use regions::TailRequests;
use serde_json::value::RawValue;
use tokio::sync::mpsc;

/// Each request as it is read. One that cannot be read is reported as a problem in its place.
pub(super) fn shown(stream: String, mut requests: TailRequests) -> mpsc::Receiver<TailRequestView> {
    let (tx, rx) = mpsc::channel(1);
    host::spawn("tail requests", async move {
        while let Some(read) = requests.recv().await {
            let view = match read {
                Ok(read) => match read.request {
                    Ok(request) => request_view(&stream, read.sequence, request),
                    Err(problem) => problem_view(&stream, read.sequence, problem),
                },
                Err(error) => {
                    problem_view(&stream, 0, format!("the remaining requests could not be read: {error}"))
                }
            };
            if tx.send(view).await.is_err() {
                return;
            }
        }
    });
    rx
}

fn request_view(stream: &str, sequence: u64, request: Request) -> TailRequestView {
    let Ok(text) = String::from_utf8(request.body.to_vec()) else {
        return problem_view(stream, sequence, format!("the body of run {} is not UTF-8", request.id));
    };
    let (body, text) = match in_a_line(&text) {
        Some(body) => (Some(body), None),
        None => (None, Some(text)),
    };
    TailRequestView {
        stream: stream.to_owned(),
        sequence,
        workflow: Some(request.workflow.to_string()),
        id: Some(request.id.to_string()),
        accepted_at: Some(Time(request.accepted_at)),
        body,
        text,
        problem: None,
    }
}

/// A body that stays the same bytes when it is a member of a JSON line.
fn in_a_line(text: &str) -> Option<Box<RawValue>> {
    let body: Box<RawValue> = serde_json::from_str(text).ok()?;
    // A member that is null would be read as absent.
    let same = body.get() == text && text != "null" && !text.contains(['\n', '\r']);
    same.then_some(body)
}

fn problem_view(stream: &str, sequence: u64, problem: String) -> TailRequestView {
    TailRequestView {
        stream: stream.to_owned(),
        sequence,
        workflow: None,
        id: None,
        accepted_at: None,
        body: None,
        text: None,
        problem: Some(problem),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_stands_in_a_line_only_if_it_comes_back_as_it_was() {
        for text in [r#"{"a": 1.50,  "b":[]}"#, "7", r#""a\nb""#] {
            assert_eq!(in_a_line(text).unwrap().get(), text);
        }
        for text in ["null", " {}", "{}\n", "{\n}", "{", ""] {
            assert!(in_a_line(text).is_none(), "{text:?}");
        }
    }
}
