//! Many requests at once: each line is accepted by the owner of its partition, and answered in its place.

use std::collections::BTreeMap;

use api_types::{BatchAnswer, Problem};
use axum::body::Body;
use bytes::Bytes;
use cluster::{InstanceId, Member, PartitionLocation};
use engine::CatalogEntry;
use futures_util::future::join_all;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Method, Request, Response, StatusCode};
use ingest::limits::{BATCH_BYTES_MAX, BATCH_REQUESTS_MAX};
use ingest::{Admitted, DurableRequest, RemoteLine, Sender, SubmitError, WorkflowVersion};
use types::PartitionId;

use super::accept::{VERSION, workflow_version};
use super::{Submissions, check_media_type};
use crate::body::Payload;
use crate::error::ApiError;
use crate::forward::buffered_request::BufferedRequest;

const NDJSON: HeaderValue = HeaderValue::from_static("application/x-ndjson");

/// Lines by their places in the batch, each with the partition that it belongs to.
type Lines = Vec<(usize, PartitionId)>;

/// A batch of which some lines have their answers.
struct Batch {
    /// Each with its number.
    lines: Vec<(usize, Bytes)>,
    answers: Vec<Option<BatchAnswer>>,
}

/// Lines whose partitions other instances own.
#[derive(Default)]
struct RemoteLines {
    /// With an id of their own: only the owner can say whether it is in use.
    given_id: Lines,
    /// With an id that was generated here, which no other request has.
    generated_id: Lines,
}

impl Submissions {
    pub(crate) async fn submit_batch(
        &self,
        entry: &CatalogEntry,
        request: Request<Payload>,
    ) -> Result<Response<Body>, ApiError> {
        check_media_type(request.headers(), &["application/x-ndjson", "application/jsonl"])?;
        let (uri, headers) = (request.uri().clone(), request.headers().clone());
        let (admitted, text) = self.read_body(request, BATCH_BYTES_MAX).await?;
        let mut batch = Batch::new(split_lines(&text)?);
        let workflow = workflow_version(entry);
        let all = (0..batch.lines.len()).collect();
        let remote = self.submit_lines(admitted, workflow, &mut batch, all, Sender::Client).await;
        self.submit_lines(admitted, workflow, &mut batch, places(&remote.generated_id), Sender::Internal)
            .await;
        if self.cluster.is_part(&headers) {
            batch.leave(remote.given_id);
        } else if !remote.given_id.is_empty() {
            let mut buffered = BufferedRequest::new(Method::POST, uri, headers, Bytes::new());
            buffered.headers.insert(VERSION, HeaderValue::from(entry.version));
            buffered.headers.insert(CONTENT_TYPE, NDJSON);
            self.forward_lines(admitted, workflow, &mut batch, buffered, remote.given_id).await;
        }
        Ok(batch.response())
    }

    /// Forwards lines to the owners of their partitions until all are answered or the time is over.
    async fn forward_lines(
        &self,
        admitted: Admitted,
        workflow: WorkflowVersion<'_>,
        batch: &mut Batch,
        mut buffered: BufferedRequest,
        mut open: Lines,
    ) {
        while !open.is_empty() && buffered.look(&self.cluster.directory).await {
            let (there, here) = self.sort(std::mem::take(&mut open));
            let passing: Vec<_> = there
                .into_values()
                .map(|(member, lines)| {
                    let bodies = batch.bodies(&places(&lines));
                    let buffered = buffered.with_body(bodies.join(&b'\n').into());
                    async move { (self.cluster.send_to(&member, &buffered).await, lines) }
                })
                .collect();
            for (answer, lines) in join_all(passing).await {
                match answer {
                    Ok(answer) => open.extend(batch.put_back(&answer, lines)),
                    // Every line has an id: accepting it twice is accepting it once.
                    Err(error) => {
                        tracing::debug!(%error, "forwarding a part of a batch again");
                        open.extend(lines);
                    }
                }
            }
            let remote = self.submit_lines(admitted, workflow, batch, places(&here), Sender::Client).await;
            open.extend(remote.given_id);
        }
        batch.leave(open);
    }

    /// Accepts the lines at these places here. Those that only another instance can accept come back.
    async fn submit_lines(
        &self,
        admitted: Admitted,
        workflow: WorkflowVersion<'_>,
        batch: &mut Batch,
        places: Vec<usize>,
        sender: Sender,
    ) -> RemoteLines {
        if places.is_empty() {
            return RemoteLines::default();
        }
        let mut located = self.ingest.locate_batch(admitted, workflow, batch.bodies(&places), sender);
        let there = std::mem::take(&mut located.there);
        for (number, answer) in self.ingest.submit_batch(located).await {
            batch.note(places[number], answer);
        }
        RemoteLines::new(there.into_iter().map(|(number, line)| (places[number], line)))
    }

    /// Which lines go to which instance, and which are tried here, where their partition may have come meanwhile.
    fn sort(&self, lines: Lines) -> (BTreeMap<InstanceId, (Member, Lines)>, Lines) {
        let mut there: BTreeMap<InstanceId, (Member, Lines)> = BTreeMap::new();
        let mut here = Lines::new();
        for (at, partition) in lines {
            match self.cluster.directory.location_of(partition) {
                PartitionLocation::Remote(member) => {
                    let group = there.entry(member.id.clone()).or_insert_with(|| (member, Lines::new()));
                    group.1.push((at, partition));
                }
                PartitionLocation::Local | PartitionLocation::Unowned => here.push((at, partition)),
            }
        }
        (there, here)
    }
}

fn places(lines: &Lines) -> Vec<usize> {
    lines.iter().map(|(at, _)| *at).collect()
}

impl RemoteLines {
    fn new(lines: impl Iterator<Item = (usize, RemoteLine)>) -> RemoteLines {
        let mut remote = RemoteLines::default();
        for (at, RemoteLine { partition, generated_id }) in lines {
            let lines = if generated_id { &mut remote.generated_id } else { &mut remote.given_id };
            lines.push((at, partition));
        }
        remote
    }
}

impl Batch {
    fn new(lines: Vec<(usize, Bytes)>) -> Batch {
        let answers = lines.iter().map(|_| None).collect();
        Batch { lines, answers }
    }

    fn bodies(&self, places: &[usize]) -> Vec<Bytes> {
        places.iter().map(|at| self.lines[*at].1.clone()).collect()
    }

    /// Notes what became of a line here.
    fn note(&mut self, at: usize, answer: Result<DurableRequest, SubmitError>) {
        match answer {
            Ok(durable) => {
                let status = if durable.new { 202 } else { 200 };
                let (line, id) = (self.lines[at].0, Some(durable.id.to_string()));
                self.answers[at] = Some(BatchAnswer { line, status, id, problem: None });
            }
            Err(error) => self.refuse(at, ApiError::from(error).problem()),
        }
    }

    /// Notes what another instance has answered to some lines; those that it does not hold come back.
    fn put_back(&mut self, answer: &Response<Bytes>, lines: Lines) -> Lines {
        if answer.status() != StatusCode::OK {
            let problem = serde_json::from_slice::<Problem>(answer.body()).ok();
            match problem.filter(|problem| !is_not_held(problem)) {
                Some(problem) => lines.iter().for_each(|(at, _)| self.refuse(*at, problem.clone())),
                None => return lines,
            }
            return Lines::new();
        }
        let answers = answer.body().split(|byte| *byte == b'\n');
        let answers = answers.filter_map(|line| serde_json::from_slice::<BatchAnswer>(line).ok());
        let mut by_line: BTreeMap<usize, BatchAnswer> = answers.map(|answer| (answer.line, answer)).collect();
        let mut open = Lines::new();
        for (number, (at, partition)) in lines.into_iter().enumerate() {
            match by_line.remove(&(number + 1)) {
                Some(answer) if !answer.problem.as_ref().is_some_and(is_not_held) => {
                    self.answers[at] = Some(BatchAnswer { line: self.lines[at].0, ..answer });
                }
                _ => open.push((at, partition)),
            }
        }
        open
    }

    fn refuse(&mut self, at: usize, problem: Problem) {
        let line = self.lines[at].0;
        self.answers[at] =
            Some(BatchAnswer { line, status: problem.status, id: None, problem: Some(problem) });
    }

    /// No owner was found in time.
    fn leave(&mut self, lines: Lines) {
        for (at, partition) in lines {
            self.refuse(at, ApiError::NotHeld { partition }.problem());
        }
    }

    fn response(self) -> Response<Body> {
        let mut body = Vec::with_capacity(self.answers.len() * 80);
        for answer in self.answers {
            let answer = answer.expect("every line was taken, refused or left");
            serde_json::to_writer(&mut body, &answer).expect("an answer in memory can always be encoded");
            body.push(b'\n');
        }
        let mut response = Response::new(Body::from(body));
        response.headers_mut().insert(CONTENT_TYPE, NDJSON);
        response
    }
}

fn is_not_held(problem: &Problem) -> bool {
    problem.code == "not_held"
}

/// The lines of a batch that hold something, with their numbers from 1.
fn split_lines(text: &Bytes) -> Result<Vec<(usize, Bytes)>, ApiError> {
    let mut lines = Vec::new();
    let mut start = 0;
    for (number, line) in text.split(|byte| *byte == b'\n').enumerate() {
        let end = start + line.len();
        if !line.trim_ascii().is_empty() {
            lines.push((number + 1, text.slice(start..end)));
        }
        start = end + 1;
    }
    if lines.len() > BATCH_REQUESTS_MAX {
        let text =
            format!("a batch of {} requests is more than {BATCH_REQUESTS_MAX}; send several", lines.len());
        return Err(ApiError::BadRequest(text));
    }
    Ok(lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_keeps_the_numbers_of_its_lines() {
        let lines = split_lines(&Bytes::from_static(b"{}\n\n  \n{\"a\":1}\r\n")).unwrap();
        let numbers: Vec<_> = lines.iter().map(|(number, _)| *number).collect();
        assert_eq!(numbers, [1, 4]);
    }

    #[test]
    fn answers_of_another_instance_find_their_lines_and_what_it_does_not_hold_stays_open() {
        let text = Bytes::from_static(b"{}\n\n{}\n{}\n");
        let mut batch = Batch::new(split_lines(&text).unwrap());
        let held = PartitionId(3);
        let not_held = serde_json::to_string(&ApiError::NotHeld { partition: held }.problem()).unwrap();
        let answer = format!(
            "{{\"line\":2,\"status\":202,\"id\":\"b\"}}\n{{\"line\":1,\"status\":503,\"problem\":{not_held}}}\n"
        );
        let open = batch.put_back(&Response::new(answer.into()), vec![(0, held), (2, held)]);
        assert_eq!(open, [(0, held)]);
        let noted = batch.answers[2].as_ref().unwrap();
        assert_eq!((noted.line, noted.id.as_deref()), (4, Some("b")));
        assert!(batch.answers[0].is_none() && batch.answers[1].is_none());
    }
}
