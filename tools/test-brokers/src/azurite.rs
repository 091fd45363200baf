//! Azurite, Microsoft's stand-in for Azure Storage: its queue service.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::hmac;

use crate::installed;
use crate::process::{Folder, Process, free_port, local};

/// A running queue service of Azurite.
pub struct Azurite {
    _server: Process,
    _folder: Folder,
    port: u16,
}

impl Azurite {
    /// The account that every Azurite has.
    pub const ACCOUNT: &str = "devstoreaccount1";
    /// The key of that account, which is known to everybody.
    pub const KEY: &str =
        "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";

    /// Starts one, and waits until it takes connections.
    pub fn start() -> anyhow::Result<Azurite> {
        let folder = Folder::new()?;
        let port = free_port()?;
        let mut command = installed::node()?;
        command.arg(installed::azurite()?);
        command.args(["--queueHost", "127.0.0.1", "--queuePort", &port.to_string(), "--location"]);
        command.arg(folder.path()).args(["--silent", "--skipApiVersionCheck", "--disableTelemetry"]);
        let mut server = Process::start("azurite", command, folder.path())?;
        server.listens(local(port))?;
        Ok(Azurite { _server: server, _folder: folder, port })
    }

    /// A token for everything in the account's queues, to be appended to a URL.
    pub fn sas(&self) -> String {
        let (permissions, expiry, version) = ("rwdlacup", "2099-01-01T00:00:00Z", "2020-10-02");
        let text = format!("{}\n{permissions}\nq\nsco\n\n{expiry}\n\n\n{version}\n", Azurite::ACCOUNT);
        let key = hmac::Key::new(hmac::HMAC_SHA256, &STANDARD.decode(Azurite::KEY).expect("base64"));
        let signature = STANDARD.encode(hmac::sign(&key, text.as_bytes()));
        let signature = signature.replace('+', "%2B").replace('/', "%2F").replace('=', "%3D");
        format!("?sv={version}&ss=q&srt=sco&sp={permissions}&se={expiry}&sig={signature}")
    }

    /// `http://127.0.0.1:port/devstoreaccount1`: the names of queues follow.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}/{}", self.port, Azurite::ACCOUNT)
    }
}
