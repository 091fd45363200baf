//! Progress on stderr, for a person who waits.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// A bar of `length` steps; hidden where nobody looks.
pub fn bar(message: &'static str, length: u64, json: bool) -> ProgressBar {
    let target = if json { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
    let style = ProgressStyle::with_template("{msg:28} {bar:40} {percent:>3} %  {elapsed}")
        .expect("the template is well formed");
    let bar = ProgressBar::with_draw_target(Some(length), target).with_style(style).with_message(message);
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}

/// Shows a bar that moves with the time of something whose duration is known.
pub async fn during<T>(name: &'static str, time: Duration, json: bool, what: impl Future<Output = T>) -> T {
    let bar = bar(name, u64::try_from(time.as_millis()).unwrap_or(u64::MAX), json);
    let outcome = tokio::select! {
        outcome = what => outcome,
        () = follow_time(&bar) => unreachable!("time goes on"),
    };
    bar.finish_and_clear();
    outcome
}

/// Moves a bar of milliseconds along with the time, until dropped or at its end.
async fn follow_time(bar: &ProgressBar) {
    let begun = tokio::time::Instant::now();
    let mut tick = tokio::time::interval(Duration::from_millis(200));
    loop {
        tick.tick().await;
        let passed = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        bar.set_position(passed.min(bar.length().unwrap_or(passed)));
    }
}
