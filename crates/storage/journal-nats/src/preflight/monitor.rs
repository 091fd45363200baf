//! The reports of servers from their monitoring ports: one plain HTTP request each.

use std::collections::BTreeMap;
use std::time::Duration;

use futures_util::future::join_all;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::Varz;
use crate::open::OpenError;

const SCHEME: &str = "http://";
const ANSWER_MAX: Duration = Duration::from_secs(5);
/// The report of a server has a few kilobytes.
const ANSWER_BYTES_MAX: u64 = 1 << 20;

/// The reports of the servers that respond; an invalid address is an error.
pub(super) async fn ask_all(urls: &[String]) -> Result<BTreeMap<String, Varz>, OpenError> {
    if let Some(url) = urls.iter().find(|url| !url.starts_with(SCHEME)) {
        let why = format!("a monitoring address begins with {SCHEME}");
        return Err(OpenError::Address { address: url.clone(), why });
    }
    let asked = urls.iter().map(|url| async move {
        let answer = timeout(ANSWER_MAX, ask(url)).await.unwrap_or_else(|_| Err("timed out".to_owned()));
        answer
            .inspect_err(|why| {
                tracing::debug!(url, why, "the monitoring port of a NATS server does not respond")
            })
            .ok()
    });
    let answers = join_all(asked).await.into_iter().flatten();
    Ok(answers.map(|varz| (varz.server_name.clone(), varz)).collect())
}

async fn ask(url: &str) -> Result<Varz, String> {
    let address = url.trim_start_matches(SCHEME).trim_end_matches('/');
    let mut stream = TcpStream::connect(address).await.map_err(|error| error.to_string())?;
    let question = format!("GET /varz HTTP/1.0\r\nHost: {address}\r\n\r\n");
    stream.write_all(question.as_bytes()).await.map_err(|error| error.to_string())?;
    let mut answer = Vec::new();
    let read = stream.take(ANSWER_BYTES_MAX).read_to_end(&mut answer).await;
    read.map_err(|error| error.to_string())?;
    let end = answer.windows(4).position(|bytes| bytes == b"\r\n\r\n").ok_or("not an HTTP response")?;
    serde_json::from_slice(&answer[end + 4..]).map_err(|error| format!("invalid response: {error}"))
}
