//! A closed loop of HTTP requests: threads with a connection each, that wait for every answer.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};

use super::RAMP_SECONDS;
use super::figures::Round;

/// An answer that takes longer does not come.
const ANSWER_MAX: Duration = Duration::from_secs(60);
const REQUEST_BYTES: usize = 300;

/// Posts what `request` returns for a connection and a number, and expects success. Counts the responses in the
/// measured seconds, which follow the ramp.
pub fn closed_loop(
    address: SocketAddr,
    connections: u32,
    seconds: u32,
    request: &(dyn Fn(u32, u64) -> Post + Sync),
) -> anyhow::Result<Round> {
    let numbers = &AtomicU64::new(0);
    let from = Instant::now() + Duration::from_secs(RAMP_SECONDS.into());
    let until = from + Duration::from_secs(seconds.into());
    let work = |connection: u32| -> anyhow::Result<Vec<f64>> {
        let mut open = Connection::open(address)?;
        let mut latencies_ms = Vec::new();
        let mut begun = Instant::now();
        while begun < until {
            open.post(&request(connection, numbers.fetch_add(1, Ordering::Relaxed)))?;
            let ended = Instant::now();
            if (from..until).contains(&ended) {
                latencies_ms.push((ended - begun).as_secs_f64() * 1000.0);
            }
            begun = ended;
        }
        Ok(latencies_ms)
    };
    let latencies_ms: anyhow::Result<Vec<Vec<f64>>> = thread::scope(|scope| {
        let threads: Vec<_> =
            (0..connections).map(|connection| scope.spawn(move || work(connection))).collect();
        threads.into_iter().map(|thread| thread.join().expect("no thread of the load panics")).collect()
    });
    Ok(Round { seconds: f64::from(seconds), latencies_ms: latencies_ms?.concat() })
}

/// A request with a JSON body.
pub struct Post {
    pub path: String,
    pub body: String,
}

/// A delivery request of 300 bytes, as `sortie bench ingest` sends it.
pub fn delivery_request(id: &str) -> String {
    let head = format!(
        r#"{{"deliveryId":"{id}","ownerId":"myowner","pickupLocation":"0,37.4316,-78.6569","dropOffLocation":"0,37.5407,-77.4360","deadline":"","expedited":true,"confirmationRequired":"None","packageInfo":{{"packageId":"mypackage","size":"Small","weight":10,"tag":""#
    );
    let tail = "\"}}";
    let padding = REQUEST_BYTES.saturating_sub(head.len() + tail.len());
    format!("{head}{}{tail}", "x".repeat(padding))
}

/// A connection that stays open.
pub struct Connection {
    stream: BufReader<TcpStream>,
    address: SocketAddr,
}

impl Connection {
    pub fn open(address: SocketAddr) -> anyhow::Result<Connection> {
        let stream = TcpStream::connect(address).with_context(|| format!("connecting to {address}"))?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(ANSWER_MAX))?;
        Ok(Connection { stream: BufReader::new(stream), address })
    }

    /// Gives the body of the answer.
    pub fn post(&mut self, post: &Post) -> anyhow::Result<String> {
        let Post { path, body } = post;
        let request = format!(
            "POST {path} HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            self.address,
            body.len()
        );
        self.stream.get_mut().write_all(request.as_bytes())?;
        let status = self.line()?;
        let mut length = 0;
        loop {
            let line = self.line()?.to_ascii_lowercase();
            if line.is_empty() {
                break;
            }
            if let Some(value) = line.strip_prefix("content-length:") {
                length = value.trim().parse().context("reading the length of an answer")?;
            }
        }
        let mut answer = vec![0; length];
        self.stream.read_exact(&mut answer)?;
        let answer = String::from_utf8_lossy(&answer).into_owned();
        let code = status.split(' ').nth(1).unwrap_or_default();
        ensure!(code.starts_with('2'), "POST {path} was answered {status:?}: {answer}");
        Ok(answer)
    }

    fn line(&mut self) -> anyhow::Result<String> {
        let mut line = String::new();
        let bytes = self.stream.read_line(&mut line).context("reading an answer")?;
        ensure!(bytes > 0, "{} closed the connection", self.address);
        Ok(line.trim_end().to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_weighs_what_it_should_and_is_json() {
        let request = delivery_request("round-1-123456");
        assert_eq!(request.len(), REQUEST_BYTES);
        serde_json::from_str::<serde_json::Value>(&request).unwrap();
    }
}
