//! RabbitMQ of Debian, which speaks AMQP 0-9-1 and, by its plug-in, 1.0.

use std::process::Command;

use anyhow::{Context, ensure};

use crate::authority::Certificate;
use crate::installed;
use crate::process::{Folder, Process, free_port, local};

/// A running RabbitMQ with the user `guest`, whose secret is `guest`.
pub struct RabbitMq {
    server: Option<Process>,
    _names: Process,
    folder: Folder,
    ports: Ports,
}

struct Ports {
    client: u16,
    tls: u16,
    names: u16,
    nodes: u16,
}

impl RabbitMq {
    /// Starts one, and waits until it takes connections.
    pub fn start() -> anyhow::Result<RabbitMq> {
        RabbitMq::start_with(|_| String::new())
    }

    /// Starts one that takes connections with TLS too, and shows this certificate there.
    pub fn start_with_tls(shown: &Certificate) -> anyhow::Result<RabbitMq> {
        let Certificate { file, key_file } = shown;
        let mut rabbit = RabbitMq::start_with(|ports| {
            format!(
                "listeners.ssl.1 = 127.0.0.1:{}\nssl_options.certfile = {}\nssl_options.keyfile = {}\n\
                 ssl_options.verify = verify_none\n",
                ports.tls,
                file.display(),
                key_file.display()
            )
        })?;
        let port = rabbit.ports.tls;
        rabbit.server.as_mut().context("just started")?.listens(local(port))?;
        Ok(rabbit)
    }

    fn start_with(lines: impl FnOnce(&Ports) -> String) -> anyhow::Result<RabbitMq> {
        let folder = Folder::new()?;
        let ports =
            Ports { client: free_port()?, tls: free_port()?, names: free_port()?, nodes: free_port()? };
        // Its own name server: one that a node starts by itself stays when the node is gone.
        let mut epmd = Command::new(installed::program("epmd", &[])?);
        epmd.args(["-port", &ports.names.to_string(), "-address", "127.0.0.1"]);
        let mut names = Process::start("epmd", epmd, folder.path())?;
        names.listens(local(ports.names))?;
        folder.write("enabled_plugins", "[rabbitmq_amqp1_0].\n")?;
        // A low limit: the free space of this disk does not matter to a test.
        let settings = format!(
            "listeners.tcp.1 = 127.0.0.1:{}\ndisk_free_limit.absolute = 1MB\nlog.console = true\nlog.file = false\n{}",
            ports.client,
            lines(&ports)
        );
        folder.write("rabbitmq.conf", &settings)?;
        let mut rabbit = RabbitMq { server: None, _names: names, folder, ports };
        rabbit.start_again()?;
        Ok(rabbit)
    }

    /// `amqp://127.0.0.1:port`, for both protocols.
    pub fn url(&self) -> String {
        format!("amqp://127.0.0.1:{}", self.ports.client)
    }

    /// `amqps://127.0.0.1:port`, for both protocols; only with TLS.
    pub fn tls_url(&self) -> String {
        format!("amqps://127.0.0.1:{}", self.ports.tls)
    }

    pub fn port(&self) -> u16 {
        self.ports.client
    }

    /// Kills it. Its data stays.
    pub fn stop(&mut self) {
        self.server = None;
    }

    /// Starts it on the same ports with the same data.
    pub fn start_again(&mut self) -> anyhow::Result<()> {
        let mut server = Process::start("rabbitmq", self.command()?, self.folder.path())?;
        server.listens(local(self.ports.client))?;
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

    /// Makes a durable queue whose messages are synced before they are confirmed.
    pub fn make_quorum_queue(&self, name: &str) -> anyhow::Result<()> {
        let declare = format!(
            "{{new, _}} = rabbit_amqqueue:declare(rabbit_misc:r(<<\"/\">>, queue, <<\"{name}\">>), true, false, \
             [{{<<\"x-queue-type\">>, longstr, <<\"quorum\">>}}], none, <<\"guest\">>), ok."
        );
        let mut control = Command::new("/usr/lib/rabbitmq/bin/rabbitmqctl");
        control.args(["eval", &declare]);
        self.surround(&mut control);
        let output = control.output().context("running rabbitmqctl")?;
        let told = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "rabbitmqctl did not make the queue: {told}");
        Ok(())
    }

    fn command(&self) -> anyhow::Result<Command> {
        let folder = self.folder.path();
        let program = installed::program("rabbitmq-server", &[])?;
        // The program on the path switches to another user; the script that it calls does not.
        let script = std::path::Path::new("/usr/lib/rabbitmq/bin/rabbitmq-server");
        let mut command = Command::new(if script.is_file() { script } else { &program });
        let inside = |name: &str| folder.join(name);
        std::fs::create_dir_all(inside("log")).context("making a folder")?;
        self.surround(&mut command);
        Ok(command)
    }

    /// Where a node and what controls it find each other, away from all others of this machine.
    fn surround(&self, command: &mut Command) {
        let folder = self.folder.path();
        let inside = |name: &str| folder.join(name);
        command
            .env("HOME", folder)
            .env("RABBITMQ_NODENAME", format!("peer{}@localhost", self.ports.client))
            .env("RABBITMQ_DIST_PORT", self.ports.nodes.to_string())
            .env("RABBITMQ_CONFIG_FILE", inside("rabbitmq"))
            .env("RABBITMQ_ENABLED_PLUGINS_FILE", inside("enabled_plugins"))
            .env("RABBITMQ_MNESIA_BASE", inside("mnesia"))
            .env("RABBITMQ_LOG_BASE", inside("log"))
            .env("RABBITMQ_LOGS", "-")
            .env("RABBITMQ_PID_FILE", inside("pid"))
            .env("RABBITMQ_GENERATED_CONFIG_DIR", inside("generated"))
            .env("ERL_EPMD_PORT", self.ports.names.to_string())
            .env("ERL_EPMD_ADDRESS", "127.0.0.1")
            .env("RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS", "-kernel inet_dist_use_interface {127,0,0,1}")
            .env_remove("NOTIFY_SOCKET");
    }
}
