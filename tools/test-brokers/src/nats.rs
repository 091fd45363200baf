//! The server of NATS from Debian, with JetStream.

use std::process::Command;

use crate::installed;
use crate::process::{Folder, Process, free_port, local};

/// A running nats-server.
pub struct NatsServer {
    server: Option<Process>,
    folder: Folder,
    port: u16,
}

impl NatsServer {
    /// Starts one that everybody may use, and waits until it takes connections.
    pub fn start() -> anyhow::Result<NatsServer> {
        NatsServer::start_with("")
    }

    /// Starts one with these settings beside its address and its data.
    pub fn start_with(settings: &str) -> anyhow::Result<NatsServer> {
        let folder = Folder::new()?;
        folder.write("nats.conf", settings)?;
        let mut nats = NatsServer { server: None, folder, port: free_port()? };
        nats.start_again()?;
        Ok(nats)
    }

    /// `nats://127.0.0.1:port`.
    pub fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    /// Kills it. Its data stays.
    pub fn stop(&mut self) {
        self.server = None;
    }

    /// Starts it on the same port with the same data.
    pub fn start_again(&mut self) -> anyhow::Result<()> {
        let folder = self.folder.path();
        let mut command = Command::new(installed::program("nats-server", &["/usr/sbin"])?);
        command
            .args(["-a", "127.0.0.1", "-p", &self.port.to_string(), "-js", "-sd"])
            .arg(folder.join("data"));
        command.arg("-c").arg(folder.join("nats.conf"));
        let mut server = Process::start("nats-server", command, folder)?;
        server.listens(local(self.port))?;
        self.server = Some(server);
        Ok(())
    }

    /// Stops it where it is: connections stay open, and nothing answers.
    pub fn freeze(&self) {
        self.server.as_ref().inspect(|server| server.freeze());
    }

    pub fn thaw(&self) {
        self.server.as_ref().inspect(|server| server.thaw());
    }
}
