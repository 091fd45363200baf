//! `sortie dev`: everything in one process, with drone delivery preloaded.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, ensure};
use clap::Args;
use drone_delivery::{Durability, Fleet, Service, Settings, workflows};
use serde_json::json;
use server::Config;

use crate::json::one_line;
use crate::screen;
use crate::serve::{self, LogFormat};
use crate::signals::Signals;

/// Start everything on this machine: the server and the drone delivery example
///
/// Five example services and a server without tokens on 127.0.0.1, with the drone workflows deployed. It runs
/// until Ctrl-C or SIGTERM.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  sortie dev --data ./sortie-data")]
pub struct Dev {
    /// Keep the data in this directory; by default it is temporary and deleted at the end
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// The port of the server; 0 picks a free one
    #[arg(long, default_value_t = 7070)]
    port: u16,
    /// The first of five ports for the drone services; 0 picks free ones
    #[arg(long, value_name = "PORT", default_value_t = 7101)]
    drone_port_base: u16,
}

impl Dev {
    pub async fn run(self, json: bool) -> anyhow::Result<ExitCode> {
        serve::start_logs(LogFormat::Text, "warn");
        let mut signals = Signals::listen()?;
        let temporary = match self.data {
            Some(_) => None,
            None => Some(tempfile::Builder::new().prefix("sortie-dev-").tempdir()?),
        };
        let data = match (&self.data, &temporary) {
            (Some(data), _) => data.clone(),
            (None, Some(directory)) => directory.path().to_owned(),
            (None, None) => unreachable!("without --data there is a temporary directory"),
        };
        let fleet = Fleet::start(fleet_settings(&data, self.drone_port_base)?).await?;
        let running = serve::start(Config::dev(data.join("server"), self.port)).await?;
        for source in workflows::ready(&fleet.addresses()) {
            running.apply(&source).await.context("applying a drone workflow")?;
        }
        let url = format!("http://{}", running.address());
        screen::print(&if json {
            ready(&url, &fleet, &data)?
        } else {
            welcome(&url, &fleet, &data, temporary.is_some())
        })?;

        signals.next().await;
        screen::print(if json {
            "{\"event\":\"stopping\"}\n"
        } else {
            "\nShutting down; press Ctrl-C again to stop at once.\n"
        })?;
        serve::stop(running, &mut signals).await;
        fleet.stop().await;
        Ok(ExitCode::SUCCESS)
    }
}

fn fleet_settings(data: &Path, port_base: u16) -> anyhow::Result<Settings> {
    ensure!(port_base <= u16::MAX - 4, "--drone-port-base leaves no room for five ports");
    let ports = [0, 1, 2, 3, 4].map(|offset| if port_base == 0 { 0 } else { port_base + offset });
    let data = Some(data.join("drone-services"));
    Ok(Settings { ports, data, durability: Durability::Flushed, ..Settings::default() })
}

/// The startup message as a line of JSON.
fn ready(url: &str, fleet: &Fleet, data: &Path) -> anyhow::Result<String> {
    let services = Service::ALL.map(|service| (service.to_string(), fleet.url(service)));
    let services: BTreeMap<String, String> = services.into_iter().collect();
    let line = json!({ "event": "ready", "url": url, "services": services, "data": data });
    Ok(serde_json::to_string(&line)? + "\n")
}

fn welcome(url: &str, fleet: &Fleet, data: &Path, temporary: bool) -> String {
    let services = Service::ALL.map(|service| format!("{service:9} {}", fleet.url(service)));
    let kept = if temporary { " (temporary; keep it with --data DIR)" } else { "" };
    let program = program();
    let at = if url == "http://127.0.0.1:7070" { String::new() } else { format!(" --url {url}") };
    format!(
        "Sortie is ready.

  dashboard  {url}/
  API        {url}/v1
  metrics    {url}/metrics
  workflows  drone-delivery, drone-reschedule
  services   {}
  data       {}{kept}

Try, in another terminal:
  curl -s {url}/api/deliveryrequests -H 'content-type: application/json' -d '{}'
  {program}{at} run list
  {program}{at} run show delivery-1
  {program}{at} job create ops/account --create-collection --every 1m --uri {}/api/accounts/myowner

Press Ctrl-C to stop.
",
        services.join("\n             "),
        data.display(),
        one_line(workflows::SAMPLE_REQUEST),
        fleet.url(Service::Account),
    )
}

/// How to call this program from this directory: by its name if the shell finds it, otherwise by its path.
pub fn program() -> String {
    let Ok(path) = std::env::current_exe() else { return "sortie".to_owned() };
    let search = std::env::var_os("PATH").unwrap_or_default();
    let same = |directory: PathBuf| directory.join("sortie").canonicalize().is_ok_and(|found| found == path);
    if std::env::split_paths(&search).any(same) {
        return "sortie".to_owned();
    }
    let here = std::env::current_dir().unwrap_or_default();
    path.strip_prefix(&here).unwrap_or(&path).display().to_string()
}

#[cfg(test)]
mod tests {
    use drone_delivery::Addresses;
    use workflow::Definition;

    use super::*;

    #[test]
    fn the_workflows_are_well_wherever_the_services_listen() {
        let addresses = Service::ALL.map(|service| (service, ([127, 0, 0, 1], 9000 + service as u16).into()));
        for source in workflows::ready(&Addresses::from(addresses)) {
            Definition::parse(&source).unwrap_or_else(|problems| panic!("{problems}"));
            assert!(source.contains("http://127.0.0.1:9004") && !source.contains(":710"), "{source}");
        }
    }
}
