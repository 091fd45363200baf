//! `--watch`: refreshes the output of a command in place.

#[cfg(test)]
mod tests;

use std::time::Duration;

use clap::Args;

use crate::failure;
use crate::screen::{self, OutputState, Size, cut_painted};
use crate::session::Session;
use crate::signals::Signals;
use crate::when;

/// The option of every command that shows how something stands.
#[derive(Debug, Clone, Copy, Args)]
pub struct WatchArgs {
    /// Refresh every 2 seconds, or at the given interval, until Ctrl-C
    #[arg(long, value_name = "SECONDS", num_args = 0..=1, default_missing_value = "2", value_parser = seconds, help_heading = "Output")]
    watch: Option<Duration>,
}

/// What is on the terminal of the last picture.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Frame {
    lines: usize,
}

impl WatchArgs {
    /// Shows it once, or until Ctrl-C. A terminal has the newest picture in place of the one before; elsewhere each
    /// picture that differs from the one before is printed.
    pub async fn each(
        self,
        mut session: Session,
        mut show: impl AsyncFnMut(&mut Session) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let Some(pause) = self.watch else { return show(&mut session).await };
        let mut signals = Signals::listen()?;
        let watching = async {
            let mut picture = Frame::default();
            let mut before = None;
            loop {
                let (shown, mut text) = session.gather(&mut show).await;
                match shown {
                    Ok(()) => {}
                    // What does not work at first does not work at all; later it may be a restart.
                    Err(error) if before.is_none() => return Err(error),
                    Err(error) => text = failure::describe(&error),
                }
                let changed = before.as_ref() != Some(&text);
                let out = match screen::size() {
                    Some(size) => picture.draw(&text, &heading(pause), size),
                    None if !changed => String::new(),
                    None if session.is_json() => text.clone(),
                    None => format!("{}{}\n{text}", if before.is_some() { "\n" } else { "" }, heading(pause)),
                };
                if screen::print_to_reader(&out)? == OutputState::Closed {
                    return Ok(());
                }
                before = Some(text);
                tokio::time::sleep(pause).await;
            }
        };
        tokio::select! {
            biased; // The signal first: it is how this ends.
            () = signals.next() => Ok(()),
            ended = watching => ended,
        }
    }
}

impl Frame {
    /// The characters that put a text where the one before was, without a moment of emptiness between them.
    pub fn draw(&mut self, text: &str, heading: &str, size: Size) -> String {
        let mut lines: Vec<&str> = std::iter::once(heading).chain(text.lines()).collect();
        // The cursor stands in the line below the last one.
        let room = size.rows.saturating_sub(1).max(1);
        let omitted = lines.len().saturating_sub(room);
        let more = format!("… and {} more lines", omitted + 1);
        if omitted > 0 {
            lines.truncate(room - 1);
            lines.push(&more);
        }
        // All of it is shown at once by terminals that know the first and the last sequence.
        let mut out = String::from("\u{1b}[?2026h");
        if self.lines > 0 {
            out += &format!("\u{1b}[{}A", self.lines.min(room));
        }
        for line in &lines {
            out += &format!("\r{}\u{1b}[K\n", cut_painted(line, size.columns));
        }
        self.lines = lines.len();
        out + "\u{1b}[J\u{1b}[?2026l"
    }
}

fn heading(pause: Duration) -> String {
    let at = when::second(api_types::Time(when::now()));
    format!("At {at} UTC, every {}s; press Ctrl-C to stop", pause.as_secs_f64())
}

/// A pace that makes sense.
pub fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse::<f64>().ok().filter(|seconds| (0.1..=86_400.0).contains(seconds));
    let hint = "not a number of seconds from 0.1 to 86400; put a name before --watch, or use --watch=2";
    seconds.map(Duration::from_secs_f64).ok_or_else(|| hint.to_owned())
}
