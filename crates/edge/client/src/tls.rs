//! Connections to what stands in front of a server and speaks https: it must prove its name.

use std::sync::Arc;

use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::BuilderVerifierExt;

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
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    Ok(match scheme {
        // Reading the system's authorities takes longer than most calls; who needs none trusts nobody.
        Scheme::Http => builder.with_root_certificates(RootCertStore::empty()).with_no_client_auth(),
        Scheme::Https => builder.with_platform_verifier()?.with_no_client_auth(),
    })
}
