//! Follows a bulk operation to its end: a progress bar on a terminal, lines elsewhere.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use api_types::{BulkState, BulkView};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::show;
use crate::client::{self, Call};
use crate::failure::Failure;
use crate::session::Session;
use crate::signals::Signals;

/// How often the server is polled.
const LOOK: Duration = Duration::from_millis(500);

/// How long a server may be unreachable before this command gives up: a restart or a failover takes less.
const PATIENCE: Duration = Duration::from_secs(60);

/// Polls between two lines at least, without a terminal.
const LINE_LOOKS: u32 = 4;

/// Waits until the bulk operation has ended. An interrupt ends the waiting but not the operation; a failed poll ends neither.
pub async fn to_the_end(mut session: Session, begun: BulkView) -> anyhow::Result<()> {
    let id = begun.id.clone();
    let mut progress = Progress::new(&session, &begun);
    let mut signals = Signals::listen()?;
    let path = client::path("/v1/bulk/{}", &[&id]);
    let goes_on = goes_on(&session, &id);
    let mut heard = Instant::now();
    let answer = loop {
        tokio::select! {
            biased; // The signal first: it must not wait for a poll.
            () = signals.next() => {
                progress.finish();
                return Err(Failure::No(goes_on).into());
            }
            () = tokio::time::sleep(LOOK) => {}
        }
        let answer = match session.client.send(Call::get(path.clone())).await {
            Ok(answer) => answer,
            Err(error) if is_passing(&error) && heard.elapsed() < PATIENCE => {
                progress.show_silence();
                continue;
            }
            Err(error) => {
                progress.finish();
                return Err(error.context(goes_on));
            }
        };
        heard = Instant::now();
        let bulk: BulkView = answer.value()?;
        progress.show(&bulk);
        if bulk.state != BulkState::Running {
            break answer;
        }
    };
    progress.finish();
    let bulk: BulkView = answer.value()?;
    session.show(&answer, || Ok(show::detail(&bulk, &session.screen)))?;
    match bulk.state {
        BulkState::Stopped => Err(Failure::No(format!("bulk operation {id} was stopped")).into()),
        _ if bulk.failed.count > 0 => {
            Err(Failure::No(format!("it failed for {} runs", bulk.failed.count)).into())
        }
        _ => Ok(()),
    }
}

fn goes_on(session: &Session, id: &str) -> String {
    let program = session.program();
    format!(
        "bulk operation {id} continues; stop it with '{program} bulk stop {id}', see it with '{program} bulk show {id}'"
    )
}

/// Whether a later poll may succeed: the server is unreachable or overloaded.
fn is_passing(error: &anyhow::Error) -> bool {
    match error.downcast_ref::<Failure>() {
        Some(Failure::Unreachable { .. }) => true,
        Some(Failure::Refused(problem)) => problem.status == 429 || problem.status >= 500,
        _ => false,
    }
}

/// How progress is reported.
enum Progress {
    Bar(ProgressBar),
    Lines { looks: u32, last: String },
    Nothing,
}

impl Progress {
    fn new(session: &Session, bulk: &BulkView) -> Progress {
        if session.is_json() {
            return Progress::Nothing;
        }
        if !std::io::stderr().is_terminal() {
            return Progress::Lines { looks: 0, last: String::new() };
        }
        let style = ProgressStyle::with_template("{msg:40} {bar:30} {pos:>6} of {len}  {elapsed}")
            .expect("the template is valid");
        let length = bulk.matched.map(|matched| matched.count);
        let bar = ProgressBar::with_draw_target(length, ProgressDrawTarget::stderr()).with_style(style);
        bar.enable_steady_tick(Duration::from_millis(200));
        Progress::Bar(bar)
    }

    fn show(&mut self, bulk: &BulkView) {
        let dealt_with = bulk.done + bulk.skipped.count + bulk.failed.count;
        match self {
            Progress::Nothing => {}
            Progress::Bar(bar) => {
                bar.set_length(bulk.matched.map_or(dealt_with, |matched| matched.count.max(dealt_with)));
                bar.set_position(dealt_with);
                bar.set_message(show::counts(bulk));
            }
            Progress::Lines { looks, last } => {
                let line = match bulk.matched {
                    Some(matched) => {
                        format!("{dealt_with} of {}: {}", show::runs(matched), show::counts(bulk))
                    }
                    None => show::counts(bulk),
                };
                if *last != line && looks.is_multiple_of(LINE_LOOKS) {
                    eprintln!("{line}");
                    *last = line;
                }
                *looks += 1;
            }
        }
    }

    fn show_silence(&mut self) {
        let silence = "the server does not respond; the bulk operation continues, polling again";
        match self {
            Progress::Nothing => {}
            Progress::Bar(bar) => bar.set_message("no response, polling again"),
            Progress::Lines { last, .. } => {
                if last != silence {
                    eprintln!("{silence}");
                    silence.clone_into(last);
                }
            }
        }
    }

    fn finish(&self) {
        if let Progress::Bar(bar) = self {
            bar.finish_and_clear();
        }
    }
}
