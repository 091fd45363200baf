//! Panics of the simulated process: recorded, so that a panic is a violation and does not end the simulator.

use std::cell::RefCell;

thread_local! {
    static LAST: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Notes the panics of every thread from now on.
pub fn note_them() {
    std::panic::set_hook(Box::new(|panic| {
        LAST.with_borrow_mut(|last| {
            last.get_or_insert_with(|| panic.to_string().replace('\n', ": "));
        });
    }));
}

/// The first panic of this thread since the last call.
pub fn take() -> Option<String> {
    LAST.take()
}
