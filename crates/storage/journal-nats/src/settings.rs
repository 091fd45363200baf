//! How the NATS servers are reached, and what is expected of them.

use std::path::PathBuf;
use std::{fmt, io};

use async_nats::ServerAddr;

use crate::nats_journal::Installation;
use crate::open::OpenError;

/// The settings of a journal on NATS.
#[derive(Debug, Clone)]
pub struct Settings {
    pub servers: Servers,
    pub login: Login,
    pub tls: Tls,
    pub installation: Installation,
    /// The replicas of each stream; the journal is designed for 3.
    pub replicas: usize,
    /// The JetStream domain of the paired region, which holds mirrors.
    pub pair_domain: Option<String>,
    pub proof: Proof,
}

/// `nats://host:port` or `tls://host:port` of one or several servers; the client discovers the others from these.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Servers(pub Vec<String>);

impl Servers {
    pub(crate) fn addresses(&self) -> Result<Vec<ServerAddr>, OpenError> {
        let parse = |server: &String| {
            let parsed = server.parse();
            // Shown without user and password.
            let address = || Servers(vec![server.clone()]).to_string();
            parsed
                .map_err(|error: io::Error| OpenError::Address { address: address(), why: error.to_string() })
        };
        self.0.iter().map(parse).collect()
    }
}

impl fmt::Display for Servers {
    /// Without user and password.
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

/// How this process authenticates to the servers.
#[derive(Clone, Default)]
pub enum Login {
    #[default]
    Anonymous,
    Password {
        user: String,
        password: String,
    },
    /// A credentials file, as NATS tools create it.
    Credentials(PathBuf),
}

impl fmt::Display for Login {
    /// The user, for error messages.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Login::Anonymous => f.write_str("an anonymous client"),
            Login::Password { user, .. } => write!(f, "the user {user:?}"),
            Login::Credentials(file) => write!(f, "the user of {}", file.display()),
        }
    }
}

impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Login::Anonymous => f.write_str("Anonymous"),
            Login::Password { user, .. } => write!(f, "Password {{ user: {user:?} }}"),
            Login::Credentials(file) => write!(f, "Credentials({})", file.display()),
        }
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tls {
    /// Nothing is sent to a server without TLS. One address with `tls://` has the same effect.
    pub required: bool,
    /// Certificates of authorities in addition to those of the system.
    pub ca_file: Option<PathBuf>,
    /// The client certificate of this process and its key.
    pub certificate: Option<(PathBuf, PathBuf)>,
}

/// How to find out whether every server syncs what it acknowledges.
#[derive(Debug, Clone)]
pub enum Proof {
    /// A user of the system account, who may ask all servers.
    SystemAccount(Login),
    /// The monitoring address of each server, `http://host:port`.
    Monitoring(Vec<String>),
    /// An operator has checked that every server has `sync_interval: always` and `max_payload: 8MB`: otherwise a power loss
    /// loses acknowledged requests.
    Trusted,
    /// Not configured: the journal is not opened, and the error says what to configure.
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
