//! Reads the requests of a divergent tail, so that they can be submitted again.

use std::fmt::Display;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use kernel::Request;
use serde::Deserialize;
use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};
use tokio::sync::mpsc;

use crate::divergent_tail::{Tail, file_of};
use crate::sites::RegionSite;
use crate::{RegionError, Regions};
use journal_nats::names;
use snapshots::store::StoreError;

/// Lines that are read ahead of the caller; one may have megabytes.
const AHEAD: usize = 4;
/// How long the next line may take: a replica that has lost a chunk never sends it.
const LINE_PATIENCE: Duration = Duration::from_secs(30);

/// A request of a divergent tail, or why it cannot be read.
#[derive(Debug)]
pub struct TailRequest {
    /// The sequence of its message in the inbox.
    pub sequence: u64,
    pub request: Result<Request, String>,
}

/// The requests in order. An error is the last item: the remaining requests could not be read.
pub type TailRequests = mpsc::Receiver<Result<TailRequest, StoreError>>;

/// A line of a kept stream, as far as it is needed here.
#[derive(Deserialize)]
struct TailLine {
    sequence: u64,
    data: String,
}

impl Regions {
    /// The requests of one inbox in the newest divergent tail; none if the tail does not have this inbox.
    pub async fn tail_requests(&self, stream: &str) -> Result<Option<TailRequests>, RegionError> {
        let sites = &self.agent.sites;
        let installation = &sites.settings.installation;
        let tail: Option<Tail> = sites.here.records.tail().await.map_err(RegionError::Here)?;
        let tail = tail.filter(|tail| tail.streams.iter().any(|kept| kept.stream == stream));
        let tail = tail.filter(|_| names::inbox_of(installation, stream).is_some());
        let Some(tail) = tail else { return Ok(None) };
        let object = kept_stream(&sites.here, &tail, stream).await?;
        let (tx, rx) = mpsc::channel(AHEAD);
        let (installation, stream) = (installation.clone(), stream.to_owned());
        host::spawn("requests of a tail", TailReader { installation, stream, tx }.read(object));
        Ok(Some(rx))
    }
}

/// A stream as it was kept in the region's NATS.
async fn kept_stream(
    site: &RegionSite,
    tail: &Tail,
    stream: &str,
) -> Result<impl AsyncRead + Unpin + use<>, RegionError> {
    let name = format!("epoch-{}/{}", tail.epoch, file_of(stream));
    let failed = |error: &dyn Display| StoreError::new("reading", &name, error);
    let Some(bucket) = &tail.bucket else {
        let only_there = format!("it is only in {} of instance {}", tail.folder, tail.instance);
        return Err(failed(&only_there).into());
    };
    let objects = site.domain.objects(bucket).await.map_err(|error| failed(&error))?;
    objects.get(&name).await.map_err(|error| failed(&error).into())
}

/// Reads one kept stream.
struct TailReader {
    installation: String,
    stream: String,
    tx: mpsc::Sender<Result<TailRequest, StoreError>>,
}

impl TailReader {
    async fn read(self, object: impl AsyncRead + Unpin) {
        let mut object = BufReader::new(object);
        loop {
            let mut line = Vec::new();
            let read = tokio::time::timeout(LINE_PATIENCE, object.read_until(b'\n', &mut line)).await;
            let failed = |error: &dyn Display| StoreError::new("reading", &self.stream, error);
            let read = match read {
                Ok(read) => read.map_err(|error| failed(&error)),
                Err(late) => Err(failed(&late)),
            };
            let requests = match read {
                Ok(0) => return,
                Ok(_) => requests_in(&self.installation, &self.stream, &line).into_iter().map(Ok).collect(),
                Err(error) => vec![Err(error)],
            };
            for request in requests {
                let last = request.is_err();
                // The caller may have stopped reading.
                if self.tx.send(request).await.is_err() || last {
                    return;
                }
            }
        }
    }
}

/// The requests of one line, in order; a line that cannot be read counts as one request.
fn requests_in(installation: &str, stream: &str, line: &[u8]) -> Vec<TailRequest> {
    let line: TailLine = match serde_json::from_slice(line) {
        Ok(line) => line,
        Err(error) => return vec![TailRequest { sequence: 0, request: Err(error.to_string()) }],
    };
    let sequence = line.sequence;
    let records = || {
        let partition =
            names::inbox_of(installation, stream).ok_or_else(|| "it is not an inbox".to_owned())?;
        let data = STANDARD.decode(&line.data).map_err(|error| error.to_string())?;
        let records = journal_nats::batch::decode(&Bytes::from(data), partition, sequence);
        records.map_err(|error| error.to_string())
    };
    match records() {
        Ok(records) => {
            let requests = records.iter().map(|record| {
                journal::codec::decode::<Request>(&record.bytes).map_err(|error| error.to_string())
            });
            requests.map(|request| TailRequest { sequence, request }).collect()
        }
        Err(problem) => vec![TailRequest { sequence, request: Err(problem) }],
    }
}
