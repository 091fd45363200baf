//! The five drone services as a process of their own, with their ledgers in memory.

use std::net::SocketAddr;

use anyhow::Context;
use clap::Args;
use drone_delivery::{Addresses, Fleet, Service, Settings};
use terminal::screen;

use super::child::Child;

/// Run the five drone services on any free ports, in memory
#[derive(Debug, Args)]
pub struct DroneServices {}

impl DroneServices {
    pub async fn run(self) -> anyhow::Result<()> {
        let fleet = Fleet::start(Settings::on_any_ports()).await?;
        screen::print(&format!("{}\n", write(&fleet.addresses())))?;
        std::future::pending().await
    }
}

/// Starts them and learns where they listen.
pub async fn start() -> anyhow::Result<(Child, Addresses)> {
    let (child, line) = Child::start("the drone services", &["bench", "drone-services"]).await?;
    let addresses = read(&line).with_context(|| format!("the first line of the services is {line:?}"))?;
    Ok((child, addresses))
}

fn write(addresses: &Addresses) -> String {
    let words: Vec<_> = addresses.values().map(SocketAddr::to_string).collect();
    words.join(" ")
}

fn read(line: &str) -> Option<Addresses> {
    let addresses: Vec<SocketAddr> = line.split(' ').map(str::parse).collect::<Result<_, _>>().ok()?;
    (addresses.len() == Service::ALL.len()).then(|| Service::ALL.into_iter().zip(addresses).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_as_they_are_written() {
        let line = "127.0.0.1:1 127.0.0.1:2 127.0.0.1:3 127.0.0.1:4 127.0.0.1:5";
        assert_eq!(write(&read(line).unwrap()), line);
        assert!(read("127.0.0.1:1").is_none());
    }
}
