//! TLS for servers at `https://` addresses, usually behind a proxy that terminates it.

use host::tls::ClientTls;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use rustls::ClientConfig;

use crate::error::Error;

/// What the address of a server begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scheme {
    Http,
    Https,
}

/// The same connector, for addresses of this scheme. Authorities are those of the system, or of `SSL_CERT_FILE`.
pub(crate) fn over(mut tcp: HttpConnector, scheme: Scheme) -> Result<HttpsConnector<HttpConnector>, Error> {
    let config = config(scheme)
        .map_err(|error| Error::Input(format!("the certificates of this system cannot be used: {error}")))?;
    // It is asked for https addresses, too, and TLS is put over what it connects.
    tcp.enforce_http(false);
    Ok(HttpsConnectorBuilder::new()
        .with_tls_config(config)
        .https_or_http()
        .enable_http1()
        .wrap_connector(tcp))
}

fn config(scheme: Scheme) -> Result<ClientConfig, rustls::Error> {
    match scheme {
        // Reading the authorities of the system takes longer than most calls.
        Scheme::Http => Ok(host::tls::config_without_roots()),
        Scheme::Https => Ok(ClientTls::new(Vec::new())?.config()),
    }
}
