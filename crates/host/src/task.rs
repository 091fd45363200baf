//! Named tasks. A task that panics takes the process down: a half-dead server would lose promises quietly.

use std::future::Future;

use tokio::task::JoinHandle;

/// Starts a task. If it panics, the process logs the name and aborts; recovery is the way back.
pub fn spawn<F>(name: &'static str, future: F) -> JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    tokio::spawn(async move {
        let guard = AbortOnPanic { name };
        let output = future.await;
        std::mem::forget(guard);
        output
    })
}

struct AbortOnPanic {
    name: &'static str,
}

impl Drop for AbortOnPanic {
    fn drop(&mut self) {
        // A task that is dropped because the runtime shuts down is no panic.
        if std::thread::panicking() {
            tracing::error!(
                task = self.name,
                "task panicked; the process stops and recovers at its next start"
            );
            std::process::abort();
        }
    }
}
