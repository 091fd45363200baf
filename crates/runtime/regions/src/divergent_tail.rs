//! The divergent tail: messages that an overtaken region has and its pair never received. They are kept in files and in
//! the region's NATS, with a list of their contents.

use std::fmt::Display;
use std::io;
use std::path::Path;
use std::pin::Pin;
use std::task::{self, Poll};
use std::time::Duration;

use api_types::{StreamTailView, TailView, Time};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use kernel::Request;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::io::{AsyncRead, ReadBuf};
use types::{PartitionId, Timestamp};

use journal_nats::batch;
use journal_nats::frame::{Kind, Message};
use journal_nats::jetstream::{JetStream, JetStreamError, StoredMessage};
use snapshots::bucket::Bucket;
use snapshots::store::StoreError;

const LIST: &str = "tail.json";

/// Lines in the list of a stream; the file has the rest.
const LISTED_MAX: usize = 200;
/// Lines in all lists together: a line takes about 45 bytes, and the lists must fit into one message.
const LISTED_ALL_MAX: usize = 13_000;
/// How long storing the list, and each piece of a file, may take.
const STORE_PATIENCE: Duration = Duration::from_secs(30);

/// The divergent tail of a region, as it is stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tail {
    pub kept_ms: u64,
    /// The epoch under which the messages were written, and the epoch that overtook it.
    pub epoch: u64,
    pub overtaken_by: u64,
    /// The instance whose disk has the files.
    pub instance: String,
    pub folder: String,
    /// The bucket in the region's NATS that has the files as well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bucket: Option<String>,
    pub streams: Vec<StreamTailView>,
}

impl Tail {
    /// The tail as the API shows it.
    pub fn view(self) -> TailView {
        let Tail { kept_ms, epoch, overtaken_by, instance, folder, bucket, streams } = self;
        let kept_at = Time(Timestamp(i64::try_from(kept_ms).unwrap_or(i64::MAX)));
        TailView { kept_at, epoch, overtaken_by, instance, folder, bucket, streams }
    }

    /// Adds what an earlier, interrupted attempt has kept, whose streams may be deleted by now, and shortens the lists to what
    /// fits.
    pub(super) fn with_earlier(mut self, earlier: Option<Tail>) -> Tail {
        let earlier = earlier.filter(|earlier| earlier.epoch == self.epoch);
        for stream in earlier.into_iter().flat_map(|earlier| earlier.streams) {
            if self.streams.iter().all(|kept| kept.stream != stream.stream) {
                self.streams.push(stream);
            }
        }
        let each = LISTED_ALL_MAX / self.streams.len().max(1);
        self.streams.iter_mut().for_each(|stream| stream.contents.truncate(each));
        self
    }
}

/// Writes a part of a stream to a file, one message per line, and syncs it.
pub(super) async fn keep(
    domain: &JetStream,
    folder: &Path,
    stream: &str,
    from: u64,
    through: u64,
) -> io::Result<Result<StreamTailView, JetStreamError>> {
    std::fs::create_dir_all(folder)?;
    let mut file = File::create(folder, &file_of(stream))?;
    let mut tail = StreamTailView { stream: stream.to_owned(), from, through, ..StreamTailView::default() };
    let mut next = from;
    while next <= through {
        let message = match domain.message_from(stream, next).await {
            Ok(Some(message)) if message.sequence <= through => message,
            Ok(_) => break,
            Err(error) => return Ok(Err(error)),
        };
        next = message.sequence + 1;
        file.line(&line_of(&message))?;
        tail.messages += 1;
        tail.bytes += message.data.len() as u64;
        if tail.contents.len() < LISTED_MAX {
            tail.contents.extend(contents_of(stream, &message));
        }
    }
    tail.contents.truncate(LISTED_MAX);
    file.finish()?;
    Ok(Ok(tail))
}

/// The name of the file that has a stream.
pub(super) fn file_of(stream: &str) -> String {
    format!("{stream}.jsonl")
}

/// Writes the list beside the files, and syncs the folder.
pub(super) async fn finish(folder: &Path, tail: &Tail) -> io::Result<()> {
    let mut file = File::create(folder, LIST)?;
    file.line(&serde_json::to_string_pretty(tail)?)?;
    file.finish()?;
    let mut folder = Some(folder);
    // The folder, its parent and the data directory: each has the entry of the next.
    for _ in 0..3 {
        let Some(path) = folder else { break };
        std::fs::File::open(path)?.sync_all()?;
        folder = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    }
    Ok(())
}

/// Stores the files and the list of a folder in a bucket, under the folder's name. They are durable when this returns.
pub(super) async fn store(
    jetstream: &JetStream,
    bucket: &str,
    replicas: usize,
    folder: &Path,
    files: &[String],
) -> Result<(), StoreError> {
    let failed = |error: &dyn Display| StoreError::new("opening the bucket", bucket, error);
    // Created like the bucket of snapshots; but files may be larger than what that stores at once.
    Bucket::open(jetstream, bucket, replicas).await.map_err(|error| failed(&error))?;
    let objects = jetstream.objects(bucket).await.map_err(|error| failed(&error))?;
    let under = folder.file_name().unwrap_or_default().to_string_lossy();
    for file in files.iter().map(String::as_str).chain([LIST]) {
        let name = format!("{under}/{file}");
        let failed = |error: &dyn Display| StoreError::new("putting", &name, error);
        let opened = std::fs::File::open(folder.join(file)).map_err(|error| failed(&error))?;
        let pieces = opened.metadata().map_err(|error| failed(&error))?.len() / PIECE_BYTES + 1;
        let patience = STORE_PATIENCE * u32::try_from(pieces).unwrap_or(u32::MAX);
        let mut reader = Pieces(io::BufReader::new(opened));
        objects.put(&name, &mut reader, patience).await.map_err(|error| failed(&error))?;
    }
    Ok(())
}

/// The size of the chunks of an object.
const PIECE_BYTES: u64 = 128 * 1024;

/// A file that is read synchronously, in small pieces: the region does nothing else meanwhile.
struct Pieces(io::BufReader<std::fs::File>);

impl AsyncRead for Pieces {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut task::Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        use io::Read;
        let count = self.0.read(buffer.initialize_unfilled())?;
        buffer.advance(count);
        Poll::Ready(Ok(()))
    }
}

fn line_of(message: &StoredMessage) -> String {
    let line = json!({
        "sequence": message.sequence,
        "subject": message.subject,
        "time": message.time,
        "headers": STANDARD.encode(&message.headers),
        "data": STANDARD.encode(&message.data),
    });
    line.to_string()
}

/// The contents of a message for people: the runs that an inbox requests, the frames of events.
fn contents_of(stream: &str, message: &StoredMessage) -> Vec<String> {
    let unclear = || vec![format!("message {}: {} bytes", message.sequence, message.data.len())];
    if stream.contains("_ING_") {
        return runs_in(stream, message).unwrap_or_else(unclear);
    }
    match Message::decode(&message.data) {
        Ok((Message { kind: Kind::Frame(bytes), number, epoch, .. }, _)) => {
            vec![format!("frame {} of epoch {}: {} bytes", number.0, epoch.0, bytes.len())]
        }
        Ok((Message { kind: Kind::Claim, epoch, .. }, _)) => vec![format!("claim of epoch {}", epoch.0)],
        Err(_) => unclear(),
    }
}

fn runs_in(stream: &str, message: &StoredMessage) -> Option<Vec<String>> {
    let partition = match stream.rsplit('_').next()? {
        "ctl" => PartitionId::CONTROL,
        number => PartitionId(number.parse().ok()?),
    };
    let records = batch::decode(&message.data, partition, message.sequence).ok()?;
    let requests = records.iter().map(|record| journal::codec::decode::<Request>(&record.bytes));
    requests.map(|request| Some(format!("run {}", request.ok()?.id))).collect()
}

/// A file that is written line by line, synchronously: the region does nothing else meanwhile.
struct File {
    file: io::BufWriter<std::fs::File>,
}

impl File {
    fn create(folder: &Path, name: &str) -> io::Result<File> {
        Ok(File { file: io::BufWriter::new(std::fs::File::create(folder.join(name))?) })
    }

    fn line(&mut self, text: &str) -> io::Result<()> {
        use io::Write;
        self.file.write_all(text.as_bytes())?;
        self.file.write_all(b"\n")
    }

    fn finish(self) -> io::Result<()> {
        let file = self.file.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.sync_all()
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use types::{BodyHash, Key, RunId, WorkflowName};

    use super::*;
    use journal_nats::frame::Position;
    use journal_nats::nonce::Nonce;

    fn stored(data: Bytes) -> StoredMessage {
        StoredMessage {
            sequence: 7,
            subject: String::new(),
            headers: Bytes::new(),
            data,
            time: String::new(),
        }
    }

    #[test]
    fn a_tail_that_was_kept_in_two_goes_lists_both_and_stays_small() {
        let stream = |name: &str, lines: usize| StreamTailView {
            stream: name.to_owned(),
            contents: vec![String::new(); lines],
            ..StreamTailView::default()
        };
        let tail = |epoch, streams| Tail {
            kept_ms: 1,
            epoch,
            overtaken_by: 9,
            instance: String::new(),
            folder: String::new(),
            bucket: None,
            streams,
        };
        let names = |tail: &Tail| tail.streams.iter().map(|stream| stream.stream.clone()).collect::<Vec<_>>();
        let earlier = tail(3, vec![stream("a", 1), stream("b", 1)]);
        let both = tail(3, vec![stream("b", 2)]).with_earlier(Some(earlier.clone()));
        assert_eq!(names(&both), ["b", "a"]);
        assert_eq!(both.streams[0].contents.len(), 2, "what was kept last counts");
        assert_eq!(names(&tail(5, vec![stream("c", 1)]).with_earlier(Some(earlier))), ["c"]);

        let many = (0..2_000).map(|number| stream(&number.to_string(), LISTED_MAX)).collect();
        let lines: usize =
            tail(3, many).with_earlier(None).streams.iter().map(|stream| stream.contents.len()).sum();
        assert!(lines <= LISTED_ALL_MAX, "{lines}");
    }

    #[test]
    fn the_list_names_runs_and_frames() {
        let nonce = Nonce::new(1, 1);
        let request = |id: &str| Request {
            accepted_at: Timestamp(1),
            id: RunId::new(id).unwrap(),
            workflow: WorkflowName::new("w").unwrap(),
            version: 1,
            key: Key::from(RunId::new(id).unwrap()),
            body: Bytes::from_static(b"{}"),
            body_hash: BodyHash([0; 16]),
            trace: None,
        };
        let records = ["a-1", "a-2"].map(|id| journal::codec::encode(&request(id)));
        let inbox = batch::encode(PartitionId(3), nonce, &records);
        assert_eq!(contents_of("i_ING_00003", &stored(inbox.clone())), ["run a-1", "run a-2"]);
        assert_eq!(contents_of("i_ING_00004", &stored(inbox)).len(), 1);

        let claim = Message::claim(PartitionId(3), &Position::START, nonce);
        assert_eq!(contents_of("i_JRN_00003", &stored(claim.encode())), ["claim of epoch 1"]);
        let frame = Message::frame(PartitionId(3), &Position::START, nonce, 0, Bytes::from_static(b"abc"));
        assert_eq!(contents_of("i_JRN_00003", &stored(frame.encode())), ["frame 1 of epoch 0: 3 bytes"]);
        assert_eq!(contents_of("i_JRN_00003", &stored(Bytes::new())), ["message 7: 0 bytes"]);
    }
}
