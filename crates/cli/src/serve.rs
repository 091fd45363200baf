//! `sortie serve`: the server in production.

use std::io::IsTerminal;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use server::{Config, Running, StartError};
use tracing_subscriber::EnvFilter;

use crate::failure::Failure;
use crate::signals::Signals;
use crate::{machine, screen};

/// The value for an ordinal that is taken from the host name.
const OF_HOST: &str = "of-host";

/// The default log filter for libraries: RabbitMQ's client logs the bodies of returned messages.
const OTHERS: &str = "lapin=error";

/// Start the server
///
/// Settings come from a TOML file and SORTIE_… variables; options take precedence. It runs until Ctrl-C
/// or SIGTERM, then shuts down gracefully; a second signal stops it at once.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  sortie serve --config /etc/sortie.toml")]
pub struct Serve {
    /// The settings, in TOML
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The data directory, with the journal and the views
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// The listen address, for example 127.0.0.1:7070; port 0 picks a free one
    #[arg(long, value_name = "ADDR")]
    listen: Option<SocketAddr>,
    /// The ordinal of this instance among cluster.ordinals; without a number, the one at the end of the host name, as
    /// in a StatefulSet
    #[arg(long, value_name = "N", num_args = 0..=1, default_missing_value = OF_HOST)]
    ordinal: Option<String>,
    /// The log format; default: text on a terminal, JSON elsewhere
    #[arg(long, value_name = "FORMAT", env = "SORTIE_LOG_FORMAT")]
    log_format: Option<LogFormat>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    Text,
    Json,
}

impl Serve {
    pub async fn run(self) -> anyhow::Result<ExitCode> {
        let by_default = if std::io::stderr().is_terminal() { LogFormat::Text } else { LogFormat::Json };
        start_logs(self.log_format.unwrap_or(by_default), "info");
        let mut config =
            Config::load(self.config.as_deref()).map_err(|error| Failure::Config(error.to_string()))?;
        config.data = self.data.unwrap_or(config.data);
        config.listen = self.listen.unwrap_or(config.listen);
        if let Some(ordinal) = self.ordinal {
            config.cluster.ordinal = Some(read_ordinal(&ordinal)?);
        }
        let mut signals = Signals::listen()?;
        let running = start(config).await?;
        screen::print(&format!("listening on http://{}\n", running.address()))?;
        signals.next().await;
        stop(running, &mut signals).await;
        Ok(ExitCode::SUCCESS)
    }
}

fn read_ordinal(text: &str) -> Result<u32, Failure> {
    if text != OF_HOST {
        let wrong = |_| Failure::Config(format!("--ordinal: {text:?} is not a number"));
        return text.parse().map_err(wrong);
    }
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    ordinal_of(&host).ok_or_else(|| {
        Failure::Config(format!(
            "--ordinal: the host name {host:?} does not end in - and a number; pass a number"
        ))
    })
}

/// The number of a pod: `sortie-2` is the third.
fn ordinal_of(host: &str) -> Option<u32> {
    host.split('.').next()?.rsplit_once('-')?.1.parse().ok()
}

/// Starts a server; an error has the exit code of its reason.
pub async fn start(config: Config) -> Result<Running, Failure> {
    machine::raise_files_limit();
    server::start(config).await.map_err(|error: StartError| {
        let (code, error) = (error.exit_code(), anyhow::Error::new(error));
        Failure::Start { message: format!("{error:#}"), code }
    })
}

/// Shuts down gracefully; a signal meanwhile ends the process at once, and recovery does the rest.
pub async fn stop(running: Running, signals: &mut Signals) {
    tokio::select! {
        biased; // A finished drain counts, even if a signal arrived at the same time.
        _ = running.stop() => {}
        () = signals.next() => {}
    }
}

/// Logs to stderr; SORTIE_LOG is the filter, for example `warn` or `engine=debug`.
pub fn start_logs(format: LogFormat, level: &str) {
    let filter =
        EnvFilter::try_from_env("SORTIE_LOG").unwrap_or_else(|_| EnvFilter::new(format!("{level},{OTHERS}")));
    let logs = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    match format {
        LogFormat::Text => logs.with_ansi(std::io::stderr().is_terminal()).init(),
        LogFormat::Json => logs.json().flatten_event(true).init(),
    }
}

#[cfg(test)]
mod tests {
    use super::ordinal_of;

    #[test]
    fn the_ordinal_is_at_the_end_of_the_hosts_name() {
        assert_eq!(ordinal_of("sortie-2"), Some(2));
        assert_eq!(ordinal_of("sortie-eu-12.sortie.default.svc"), Some(12));
        assert_eq!(ordinal_of("laptop"), None);
        assert_eq!(ordinal_of("node-b"), None);
    }
}
