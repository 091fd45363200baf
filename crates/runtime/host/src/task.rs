//! Named tasks, and blocking work. A task that panics aborts the process: a server with dead tasks would break promises silently.

use std::cell::Cell;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use pin_project_lite::pin_project;
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::task::JoinHandle;

/// Starts a task. If it panics, the process logs the name and aborts, and recovers at its next start.
pub fn spawn<F>(name: &'static str, future: F) -> JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    tokio::spawn(Guarded { name, future })
}

pin_project! {
    // Not an async block: one that awaits a future stores it twice, and a process has a task for every call.
    struct Guarded<F> {
        name: &'static str,
        #[pin]
        future: F,
    }
}

impl<F: Future> Future for Guarded<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let guarded = self.project();
        let guard = AbortOnPanic { name: guarded.name };
        let polled = guarded.future.poll(cx);
        std::mem::forget(guard);
        polled
    }
}

/// Runs blocking work on another thread. A runtime of one thread has no other: there it runs in place.
pub async fn run_blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    if Handle::current().runtime_flavor() == RuntimeFlavor::CurrentThread {
        return work();
    }
    match tokio::task::spawn_blocking(work).await {
        Ok(value) => value,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            // The runtime ends, and this future with it.
            Err(_) => std::future::pending().await,
        },
    }
}

thread_local! {
    static SURVIVES: Cell<bool> = const { Cell::new(false) };
}

/// Lets the process survive tasks that panic on this thread: for a simulator, which looks for panics itself.
pub fn survive_panics() {
    SURVIVES.set(true);
}

struct AbortOnPanic {
    name: &'static str,
}

impl Drop for AbortOnPanic {
    fn drop(&mut self) {
        // A task that is dropped because the runtime shuts down is not a panic.
        if std::thread::panicking() && !SURVIVES.get() {
            tracing::error!(
                task = self.name,
                "task panicked; the process stops and recovers at its next start"
            );
            std::process::abort();
        }
    }
}
