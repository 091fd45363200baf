//! `sortie region tail --requests`: acknowledged but lost requests, as lines that can be submitted again.

use std::process::ExitCode;
use std::time::Duration;

use api_types::{RegionView, TailRequestView};

use crate::client::{self, Call};
use crate::screen;
use crate::session::Session;
use crate::table::clean;

/// How long the requests of one inbox may take beyond an ordinary call.
const INBOX: Duration = Duration::from_secs(600);

/// Prints the requests of all inboxes of the newest tail. Unreadable ones are reported on stderr and by the exit code.
pub async fn print(session: &mut Session) -> anyhow::Result<ExitCode> {
    let region: RegionView = session.client.get("/v1/region").await?;
    let (mut read, mut lost) = (0, 0);
    for kept in region.tail.iter().flat_map(|tail| &tail.streams) {
        if !kept.stream.contains("_ING_") {
            continue;
        }
        let path = client::query("/v1/region:requests", &[("stream", Some(kept.stream.clone()))]);
        let answer = session.client.send(Call::get(path).waiting(INBOX)).await?;
        for line in answer.text().lines() {
            let request: TailRequestView = serde_json::from_str(line)?;
            match &request.problem {
                None => {
                    read += 1;
                    screen::print(&format!("{line}\n"))?;
                }
                Some(problem) => {
                    lost += 1;
                    let (stream, problem) = (clean(&request.stream), clean(problem));
                    eprintln!("message {} of {stream} cannot be read: {problem}", request.sequence);
                }
            }
        }
    }
    eprintln!("{read} requests of the newest divergent tail; {lost} could not be read");
    Ok(if lost == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
