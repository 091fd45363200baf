//! Connecting to the servers of one region.

use std::time::Duration;

use async_nats::{ConnectError, ConnectErrorKind, ConnectOptions, ServerAddr};

use super::JetStream;
use crate::limits::{CONNECT_MAX, PING_EVERY, RECONNECT_PAUSE_MAX};
use crate::open::OpenError;
use crate::settings::{Login, Servers, Settings, Tls};

impl JetStream {
    /// Connects to one of the servers; reconnects to any of them when the connection is lost.
    pub async fn connect(settings: &Settings) -> Result<JetStream, OpenError> {
        Ok(JetStream::new(connect(&settings.servers, &settings.login, &settings.tls).await?))
    }

    /// Connects to one of the servers, now or as soon as one can be reached. Until then requests time out.
    pub async fn connect_whenever(settings: &Settings) -> Result<JetStream, OpenError> {
        match JetStream::connect(settings).await {
            Err(OpenError::Unreachable { servers, why }) => {
                tracing::warn!(servers, why, "NATS servers unreachable; connecting in the background");
                let Settings { servers, login, tls, .. } = settings;
                let options = options(servers, login, tls).await?.retry_on_initial_connect();
                let nats = options.connect(servers.addresses()?).await;
                Ok(JetStream::new(nats.map_err(|error| connect_error(servers, login, tls, &error))?))
            }
            connected => connected,
        }
    }
}

pub(crate) async fn connect(
    servers: &Servers,
    login: &Login,
    tls: &Tls,
) -> Result<async_nats::Client, OpenError> {
    let options = options(servers, login, tls).await?;
    let connected = options.connect(servers.addresses()?).await;
    connected.map_err(|error| connect_error(servers, login, tls, &error))
}

async fn options(servers: &Servers, login: &Login, tls: &Tls) -> Result<ConnectOptions, OpenError> {
    let addresses = servers.addresses()?;
    // Servers that the client discovers later have no scheme: if one address requires TLS, all servers must have it.
    let required = tls.required || addresses.iter().any(ServerAddr::tls_required);
    let options = ConnectOptions::new()
        .name("sortie")
        .ping_interval(PING_EVERY)
        .connection_timeout(CONNECT_MAX)
        .require_tls(required)
        .tls_client_config(crate::tls::config(tls)?)
        .reconnect_delay_callback(|attempts| {
            let attempts = u32::try_from(attempts).unwrap_or(u32::MAX).min(20);
            RECONNECT_PAUSE_MAX.min(Duration::from_millis(50) * attempts)
        });
    match login {
        Login::Anonymous => Ok(options),
        Login::Password { user, password } => Ok(options.user_and_password(user.clone(), password.clone())),
        Login::Credentials(file) => {
            let read = options.credentials_file(file).await;
            read.map_err(|error| OpenError::File { path: file.display().to_string(), why: error.to_string() })
        }
    }
}

fn connect_error(servers: &Servers, login: &Login, tls: &Tls, error: &ConnectError) -> OpenError {
    match error.kind() {
        ConnectErrorKind::AuthorizationViolation | ConnectErrorKind::Authentication => {
            OpenError::Login { servers: servers.to_string(), who: login.to_string() }
        }
        _ => crate::tls::disagreement(servers, tls, error).unwrap_or_else(|| OpenError::Unreachable {
            servers: servers.to_string(),
            why: error.to_string(),
        }),
    }
}
