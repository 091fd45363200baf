//! `drone-services`: the five services as one process.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context, ensure};
use clap::Parser;
use drone_delivery::{Durability, Fleet, Service, Settings, Switches};
use tokio::signal::unix::{SignalKind, signal};

/// Runs the account, package, transport, drone and delivery services on 127.0.0.1 until interrupted.
#[derive(Parser)]
#[command(name = "drone-services", version)]
struct Arguments {
    /// Keep the ledgers in this directory; in memory if it is not given.
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Five ports, in the order account, package, transport, drone, delivery; 0 takes any free one.
    #[arg(long, value_name = "PORT,…", value_delimiter = ',', num_args = 1.., conflicts_with = "port_base")]
    ports: Option<Vec<u16>>,
    /// The first of five ports that follow each other; 0 takes any free ones.
    #[arg(long, value_name = "PORT", default_value_t = 7101)]
    port_base: u16,
    /// Answer when the effect is with the operating system, not when it is on disk.
    #[arg(long)]
    no_sync: bool,
    /// Switches from the start, for example '{"drone":{"error_rate":0.1}}'.
    #[arg(long, value_name = "JSON")]
    switches: Option<String>,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let mut interrupt = signal(SignalKind::interrupt()).context("waiting for an interrupt")?;
    let mut terminate = signal(SignalKind::terminate()).context("waiting for a termination")?;
    let fleet = Fleet::start(settings(arguments)?).await?;
    announce(&fleet)?;
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
    fleet.stop().await;
    Ok(())
}

fn settings(arguments: Arguments) -> anyhow::Result<Settings> {
    let ports = match (arguments.ports, arguments.port_base) {
        (Some(ports), _) => {
            let given = ports.len();
            ports.try_into().map_err(|_| anyhow::anyhow!("--ports takes five ports, not {given}"))?
        }
        (None, 0) => [0; 5],
        (None, base) => {
            ensure!(base <= u16::MAX - 4, "--port-base leaves no room for five ports");
            [0, 1, 2, 3, 4].map(|offset| base + offset)
        }
    };
    let switches: BTreeMap<Service, Switches> = match arguments.switches {
        Some(text) => serde_json::from_str(&text).context("reading --switches")?,
        None => BTreeMap::new(),
    };
    let durability = if arguments.no_sync { Durability::Flushed } else { Durability::Synced };
    Ok(Settings { ports, data: arguments.data, durability, switches })
}

/// Says on stdout that all listen, and on stderr which seeds the dice have.
fn announce(fleet: &Fleet) -> anyhow::Result<()> {
    let words = Service::ALL.map(|service| format!("{service}={}", fleet.url(service)));
    let seeds = Service::ALL.map(|service| format!("{service}={}", fleet.switches(service).seed));
    eprintln!("seeds {}", seeds.join(" "));
    let mut out = std::io::stdout();
    writeln!(out, "ready {}", words.join(" ")).and_then(|()| out.flush()).context("writing to stdout")
}
