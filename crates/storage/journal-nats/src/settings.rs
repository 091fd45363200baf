//! How the servers of NATS are reached, and what is expected of them.

use std::path::PathBuf;
use std::{fmt, io};

use async_nats::ServerAddr;

use crate::nats_journal::Installation;
use crate::open::OpenError;

/// What a journal on NATS is opened with.
#[derive(Debug, Clone)]
pub struct Settings {
    pub servers: Servers,
    pub login: Login,
    pub tls: Tls,
    pub installation: Installation,
    /// How many servers keep each stream; the journal is made for 3.
    pub replicas: usize,
    /// The JetStream domain of the paired region, which holds mirrors.
    pub pair_domain: Option<String>,
    pub proof: Proof,
}

/// `nats://host:port` or `tls://host:port` of one server or several; the others are learnt from these.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Servers(pub Vec<String>);

impl Servers {
    pub(crate) fn addresses(&self) -> Result<Vec<ServerAddr>, OpenError> {
        let parse = |server: &String| {
            let parsed = server.parse();
            // Shown without who logs in.
            let address = || Servers(vec![server.clone()]).to_string();
            parsed
                .map_err(|error: io::Error| OpenError::Address { address: address(), why: error.to_string() })
        };
        self.0.iter().map(parse).collect()
    }
}

impl fmt::Display for Servers {
    /// Without who logs in: an address may hold a password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, server) in self.0.iter().enumerate() {
            let (scheme, rest) = server.split_once("://").unwrap_or(("nats", server));
            let host = rest.rsplit('@').next().unwrap_or(rest);
            write!(f, "{}{scheme}://{host}", if index == 0 { "" } else { ", " })?;
        }
        Ok(())
    }
}

impl fmt::Debug for Servers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Who this process is to the servers.
#[derive(Clone, Default)]
pub enum Login {
    #[default]
    Nobody,
    Password {
        user: String,
        password: String,
    },
    /// A file of credentials, as NATS makes them.
    Credentials(PathBuf),
}

impl fmt::Display for Login {
    /// Whom the servers see.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Login::Nobody => f.write_str("this client"),
            Login::Password { user, .. } => write!(f, "the user {user:?}"),
            Login::Credentials(file) => write!(f, "the user of {}", file.display()),
        }
    }
}

impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Login::Nobody => f.write_str("Nobody"),
            Login::Password { user, .. } => write!(f, "Password {{ user: {user:?} }}"),
            Login::Credentials(file) => write!(f, "Credentials({})", file.display()),
        }
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tls {
    /// Nothing is sent to a server without TLS. One address with `tls://` among the servers asks for the same.
    pub required: bool,
    /// Certificates of authorities beside those of the system.
    pub ca_file: Option<PathBuf>,
    /// The certificate and the key that this process shows.
    pub certificate: Option<(PathBuf, PathBuf)>,
}

/// How it is proven that every server keeps what it acknowledges.
#[derive(Debug, Clone)]
pub enum Proof {
    /// A user of the system account may ask all servers.
    SystemAccount(Login),
    /// The monitoring of each server, `http://host:port`.
    Monitoring(Vec<String>),
    /// You have checked that every server has `sync_interval: always` and `max_payload: 8MB`: without it, a power cut
    /// loses acknowledged work.
    Trusted,
    /// Nothing was given: opening is refused with what to give.
    Missing,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_not_shown() {
        let servers = ["nats://me:hidden@one:4222", "two:4222", "tls://three"].map(str::to_owned).to_vec();
        let login = Login::Password { user: "me".to_owned(), password: "hidden".to_owned() };
        let shown = format!("{:?} {login:?}", Servers(servers));
        assert_eq!(shown, r#"nats://one:4222, nats://two:4222, tls://three Password { user: "me" }"#);
    }
}
