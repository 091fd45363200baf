//! Named tasks, and work that blocks. A task that panics takes the process down: a half-dead server would lose promises quietly.

use std::cell::Cell;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use pin_project_lite::pin_project;
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::task::JoinHandle;

/// Starts a task. If it panics, the process logs the name and aborts; recovery is the way back.
pub fn spawn<F>(name: &'static str, future: F) -> JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    tokio::spawn(Guarded { name, future })
}

pin_project! {
    // By hand: an async block that awaits a future holds it twice, and a process has a task for every call.
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

/// Does work that blocks away from the tasks. On a runtime of one thread there is no other place: it is done here.
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

/// From now on a task that panics on this thread does not take the process down: for a simulator, which looks for
/// panics itself.
pub fn survive_panics() {
    SURVIVES.set(true);
}

struct AbortOnPanic {
    name: &'static str,
}

impl Drop for AbortOnPanic {
    fn drop(&mut self) {
        // A task that is dropped because the runtime shuts down is no panic.
        if std::thread::panicking() && !SURVIVES.get() {
            tracing::error!(
                task = self.name,
                "task panicked; the process stops and recovers at its next start"
            );
            std::process::abort();
        }
    }
}
