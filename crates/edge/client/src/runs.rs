//! Runs: start them, see them, wait for them, decide on them.

use std::collections::VecDeque;
use std::time::Duration;

use api_types::{DecisionRequest, RunDetail, RunPage, RunSummary, Time};
use bytes::Bytes;
use http::HeaderValue;
use http::header::HeaderName;
use serde::Serialize;
use tokio::time::Instant;
use types::RunStatus;
use uuid::Uuid;

use crate::call::{Call, path, query};
use crate::error::Error;
use crate::sortie::{JSON, Sortie, body};

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
const POLL_FIRST: Duration = Duration::from_millis(20);
const POLL_MAX: Duration = Duration::from_secs(1);

/// Which runs a list shows; what is not said does not matter.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunQuery {
    pub status: Option<RunStatus>,
    pub workflow: Option<String>,
    pub key: Option<String>,
    /// Accepted at this time or later, and before that one.
    pub from: Option<Time>,
    pub to: Option<Time>,
}

/// A request, still to be handed in.
#[must_use = "nothing is handed in before send()"]
#[derive(Debug)]
pub struct Start<'a> {
    sortie: &'a Sortie,
    workflow: String,
    request: Result<Bytes, Error>,
    id: Option<String>,
}

/// The runs of a list, fetched page by page as they are asked for.
#[derive(Debug)]
pub struct Runs<'a> {
    sortie: &'a Sortie,
    path: String,
    page: VecDeque<RunSummary>,
    next: Next,
}

#[derive(Debug)]
enum Next {
    First,
    Cursor(String),
    End,
}

impl Sortie {
    /// A request for a workflow: say [`Start::id`] if you have one, and [`Start::send`].
    pub fn start(&self, workflow: &str, request: &(impl Serialize + ?Sized)) -> Start<'_> {
        Start { sortie: self, workflow: workflow.to_owned(), request: body(request), id: None }
    }

    /// A run with its steps and its timeline.
    pub async fn run(&self, id: &str) -> Result<RunDetail, Error> {
        self.get(&path("/v1/runs/{}", &[id])).await
    }

    /// Waits until a run has ended, or is parked and needs a person. After `timeout` it is [`Error::NotEnded`].
    pub async fn wait(&self, id: &str, timeout: Duration) -> Result<RunDetail, Error> {
        let begun = Instant::now();
        let mut pause = POLL_FIRST;
        loop {
            let run = self.run(id).await?;
            let status = run.summary.status;
            if status.is_final() || status == RunStatus::Parked {
                return Ok(run);
            }
            if begun.elapsed() + pause > timeout {
                return Err(Error::NotEnded { id: id.to_owned(), status });
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(POLL_MAX);
        }
    }

    /// Runs, those that have not ended first, then the newest.
    ///
    /// ```no_run
    /// # async fn list(sortie: client::Sortie) -> Result<(), client::Error> {
    /// use client::{RunQuery, RunStatus};
    ///
    /// let mut runs = sortie.runs(&RunQuery { status: Some(RunStatus::Undone), ..RunQuery::default() });
    /// while let Some(run) = runs.next().await? {
    ///     println!("{} {:?}", run.id, run.reason);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn runs(&self, asked: &RunQuery) -> Runs<'_> {
        let parameters = [
            ("status", asked.status.map(|status| status.to_string())),
            ("workflow", asked.workflow.clone()),
            ("key", asked.key.clone()),
            ("from", asked.from.map(|time| time.to_string())),
            ("to", asked.to.map(|time| time.to_string())),
            ("limit", Some("200".to_owned())),
        ];
        let path = query("/v1/runs", &parameters);
        Runs { sortie: self, path, page: VecDeque::new(), next: Next::First }
    }

    /// Decides on a parked run.
    pub async fn decide(&self, id: &str, decision: &DecisionRequest) -> Result<RunDetail, Error> {
        let call = Call::post(path("/v1/runs/{}/decide", &[id]), JSON, body(decision)?);
        self.send(call).await?.value()
    }

    /// Takes a run back, as long as its pivot has not begun.
    pub async fn cancel(&self, id: &str) -> Result<RunDetail, Error> {
        let call = Call::post_nothing(path("/v1/runs/{}/cancel", &[id]));
        self.send(call).await?.value()
    }
}

impl Start<'_> {
    /// The id of the run. The same id with the same request is the same run, however often it is handed in.
    pub fn id(mut self, id: impl Into<String>) -> Self {
        self.id = Some(id.into());
        self
    }

    /// Hands it in. Once this is `Ok` the request is durable and will be carried out.
    pub async fn send(self) -> Result<RunSummary, Error> {
        let request = self.request?;
        let call = match self.id {
            Some(id) => Call::put(path("/v1/workflows/{}/runs/{}", &[&self.workflow, &id]), JSON, request),
            None => {
                // An id that the workflow finds in the request goes first; either way every attempt has the same.
                let key = HeaderValue::from_str(&Uuid::now_v7().simple().to_string());
                let key = key.expect("the digits of an id are a header value");
                Call::post(path("/v1/workflows/{}/runs", &[&self.workflow]), JSON, request)
                    .header(IDEMPOTENCY_KEY, key)
            }
        };
        self.sortie.send(call.repeatable()).await?.value()
    }
}

impl Runs<'_> {
    /// The next run; none after the last.
    pub async fn next(&mut self) -> Result<Option<RunSummary>, Error> {
        loop {
            if let Some(run) = self.page.pop_front() {
                return Ok(Some(run));
            }
            let cursor = match &self.next {
                Next::First => None,
                Next::Cursor(cursor) => Some(cursor.clone()),
                Next::End => return Ok(None),
            };
            let page: RunPage = self.sortie.get(&query(&self.path, &[("cursor", cursor)])).await?;
            self.page = page.items.into();
            self.next = page.next.map_or(Next::End, Next::Cursor);
        }
    }
}
