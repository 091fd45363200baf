//! A flag that can be awaited.

use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

/// A flag that is raised once and can be awaited, on any runtime. Cheap to clone: clones share the flag.
#[derive(Clone, Default)]
pub struct Stop(Arc<StopFlag>);

#[derive(Default)]
struct StopFlag {
    is_raised: AtomicBool,
    // One for each task that waits; held to add one and to wake them all. A call is one task, so there is one.
    waiting: Mutex<Vec<Waker>>,
}

/// Ready once the flag is raised.
pub struct Raised<'a>(&'a StopFlag);

impl Stop {
    pub fn raise(&self) {
        self.0.is_raised.store(true, Ordering::Release);
        let waiting = std::mem::take(&mut *self.0.waiting());
        waiting.into_iter().for_each(Waker::wake);
    }

    /// Returns once the flag is raised.
    pub fn raised(&self) -> Raised<'_> {
        Raised(&self.0)
    }
}

impl StopFlag {
    fn waiting(&self) -> std::sync::MutexGuard<'_, Vec<Waker>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Future for Raised<'_> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, ctx: &mut Context<'_>) -> Poll<()> {
        if self.0.is_raised.load(Ordering::Acquire) {
            return Poll::Ready(());
        }
        let mut waiting = self.0.waiting();
        // Again under the lock: a flag raised since the first look has woken its waiters already.
        if self.0.is_raised.load(Ordering::Acquire) {
            return Poll::Ready(());
        }
        if !waiting.iter().any(|waker| waker.will_wake(ctx.waker())) {
            waiting.push(ctx.waker().clone());
        }
        Poll::Pending
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;
    use std::task::Wake;

    use super::*;

    #[derive(Default)]
    struct Counted(AtomicUsize);

    impl Wake for Counted {
        fn wake(self: Arc<Counted>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn poll(stop: &Stop, waker: &Waker) -> Poll<()> {
        Pin::new(&mut stop.raised()).poll(&mut Context::from_waker(waker))
    }

    #[test]
    fn a_raised_flag_wakes_each_waiting_task_once() {
        let (stop, one, other) = (Stop::default(), Arc::<Counted>::default(), Arc::<Counted>::default());
        let (first, second) = (Waker::from(one.clone()), Waker::from(other.clone()));
        for waker in [&first, &second, &first] {
            assert_eq!(poll(&stop, waker), Poll::Pending);
        }
        stop.clone().raise();
        assert_eq!((one.0.load(Ordering::Relaxed), other.0.load(Ordering::Relaxed)), (1, 1));
        assert_eq!(poll(&stop, &first), Poll::Ready(()));
    }
}
