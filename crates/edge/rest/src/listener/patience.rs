//! How long a connection may keep the server waiting: for the rest of a head that has begun, or for anything at all.
//!
//! One slow look per connection instead of a timer per request; and a request that waits unread in the socket of a busy
//! server is not taken for silence.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::Instant;

use crate::limits::{HEAD_TIMEOUT, IDLE_TIMEOUT};

/// How often a connection is looked at.
const LOOK: Duration = Duration::from_secs(2);

/// What is known of a connection; shared by its stream, its requests and the one who looks.
#[derive(Clone)]
pub(crate) struct Patience(Arc<Known>);

struct Known {
    opened: Instant,
    /// When it last said something, or had an answer; in milliseconds since it was opened.
    heard: AtomicU64,
    /// When the head that is being read began, plus one; zero when none is.
    head: AtomicU64,
    /// Requests that are being answered.
    answering: AtomicU64,
}

/// A stream that notes when something is read.
pub(crate) struct Watched {
    stream: TcpStream,
    patience: Patience,
}

/// A request that is being answered, until this is dropped.
pub(crate) struct Answering(Patience);

impl Patience {
    pub(crate) fn new() -> Patience {
        Patience(Arc::new(Known {
            opened: Instant::now(),
            heard: AtomicU64::new(0),
            head: AtomicU64::new(0),
            answering: AtomicU64::new(0),
        }))
    }

    pub(crate) fn watch(&self, stream: TcpStream) -> Watched {
        Watched { stream, patience: self.clone() }
    }

    /// A head is complete.
    pub(crate) fn answer(&self) -> Answering {
        self.0.answering.fetch_add(1, Ordering::Relaxed);
        self.0.head.store(0, Ordering::Relaxed);
        Answering(self.clone())
    }

    /// Returns when the connection has kept the server waiting for too long.
    pub(crate) async fn lost(&self) {
        loop {
            tokio::time::sleep(LOOK).await;
            if self.is_lost() {
                return;
            }
        }
    }

    fn is_lost(&self) -> bool {
        if self.0.answering.load(Ordering::Relaxed) > 0 {
            return false;
        }
        let now = self.now();
        let waited = |since: u64| Duration::from_millis(now.saturating_sub(since));
        match self.0.head.load(Ordering::Relaxed) {
            0 => waited(self.0.heard.load(Ordering::Relaxed)) >= IDLE_TIMEOUT,
            began => waited(began - 1) >= HEAD_TIMEOUT,
        }
    }

    fn note_read(&self) {
        let now = self.now();
        self.0.heard.store(now, Ordering::Relaxed);
        // What comes while a request is answered is its body, or the start of a next one that has time.
        if self.0.answering.load(Ordering::Relaxed) == 0 && self.0.head.load(Ordering::Relaxed) == 0 {
            self.0.head.store(now + 1, Ordering::Relaxed);
        }
    }

    fn note_write(&self) {
        self.0.heard.store(self.now(), Ordering::Relaxed);
    }

    fn now(&self) -> u64 {
        u64::try_from(self.0.opened.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        self.0.0.heard.store(self.0.now(), Ordering::Relaxed);
        self.0.0.answering.fetch_sub(1, Ordering::Relaxed);
    }
}

impl AsyncRead for Watched {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(cx, buffer);
        if buffer.filled().len() > before {
            self.patience.note_read();
        }
        read
    }
}

impl AsyncWrite for Watched {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<std::io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, bytes);
        // An answer that takes long, like the stream of a live page, does not count as idle while its client reads.
        if matches!(written, Poll::Ready(Ok(bytes)) if bytes > 0) {
            self.patience.note_write();
        }
        written
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn pass(duration: Duration) {
        tokio::time::advance(duration).await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_head_that_has_begun_must_end_in_time() {
        let patience = Patience::new();
        patience.note_read();
        pass(HEAD_TIMEOUT - Duration::from_millis(10)).await;
        patience.note_read();
        assert!(!patience.is_lost());
        pass(Duration::from_millis(20)).await;
        assert!(patience.is_lost(), "dripping bytes buy no time");
    }

    #[tokio::test(start_paused = true)]
    async fn a_quiet_connection_is_kept_for_longer_than_a_head_may_take() {
        let patience = Patience::new();
        pass(HEAD_TIMEOUT * 2).await;
        assert!(!patience.is_lost());
        pass(IDLE_TIMEOUT).await;
        assert!(patience.is_lost());
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_that_goes_on_keeps_its_connection() {
        let patience = Patience::new();
        for _ in 0..5 {
            pass(IDLE_TIMEOUT / 2).await;
            patience.note_write();
            assert!(!patience.is_lost());
        }
        pass(IDLE_TIMEOUT).await;
        assert!(patience.is_lost(), "a client that reads nothing is written to in vain");
    }

    #[tokio::test(start_paused = true)]
    async fn while_a_request_is_answered_nobody_is_lost() {
        let patience = Patience::new();
        patience.note_read();
        let answering = patience.answer();
        patience.note_read();
        pass(IDLE_TIMEOUT * 2).await;
        assert!(!patience.is_lost());
        drop(answering);
        assert!(!patience.is_lost(), "its answer counts as heard");
        pass(IDLE_TIMEOUT).await;
        assert!(patience.is_lost());
    }
}
