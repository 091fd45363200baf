//! What servers say on their monitoring ports: one plain request of HTTP each.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::Varz;
use crate::open::OpenError;

const ANSWER_MAX: Duration = Duration::from_secs(5);
/// What a server says about itself has some kilobytes.
const ANSWER_BYTES_MAX: u64 = 1 << 20;

pub(super) async fn ask_all(urls: &[String]) -> Result<BTreeMap<String, Varz>, OpenError> {
    let mut servers = BTreeMap::new();
    for url in urls {
        let unreachable = |why: String| OpenError::Unreachable { servers: url.clone(), why };
        let asked = timeout(ANSWER_MAX, ask(url)).await;
        let varz = asked.unwrap_or_else(|_| Err("no answer".to_owned())).map_err(unreachable)?;
        servers.insert(varz.server_name.clone(), varz);
    }
    Ok(servers)
}

async fn ask(url: &str) -> Result<Varz, String> {
    let address = url.strip_prefix("http://").ok_or("a monitoring address begins with http://")?;
    let address = address.trim_end_matches('/');
    let mut stream = TcpStream::connect(address).await.map_err(|error| error.to_string())?;
    let question = format!("GET /varz HTTP/1.0\r\nHost: {address}\r\n\r\n");
    stream.write_all(question.as_bytes()).await.map_err(|error| error.to_string())?;
    let mut answer = Vec::new();
    let read = stream.take(ANSWER_BYTES_MAX).read_to_end(&mut answer).await;
    read.map_err(|error| error.to_string())?;
    let end = answer.windows(4).position(|bytes| bytes == b"\r\n\r\n").ok_or("no answer of HTTP")?;
    serde_json::from_slice(&answer[end + 4..]).map_err(|error| format!("the answer makes no sense: {error}"))
}
