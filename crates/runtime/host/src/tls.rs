//! TLS of the connections that this process opens: which authorities it trusts and which certificate it presents.

mod files;
mod names;

use std::sync::Arc;

use rustls::client::ResolvesClientCert;
use rustls::client::danger::ServerCertVerifier;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, Error, RootCertStore};
use rustls_platform_verifier::Verifier;

pub use files::{CertificateFiles, FileError};

use self::names::NamesVerifier;

/// What all TLS connections of a client share: the authorities of the machine and those that were added.
#[derive(Debug, Clone)]
pub struct ClientTls {
    provider: Arc<CryptoProvider>,
    verifier: Arc<Verifier>,
}

impl ClientTls {
    /// Reads the authorities of the machine, or of `SSL_CERT_FILE`, which takes a while and may fail.
    pub fn new(extra_roots: Vec<CertificateDer<'static>>) -> Result<ClientTls, Error> {
        let provider = Arc::new(ring::default_provider());
        let verifier = Arc::new(Verifier::new_with_extra_roots(extra_roots, provider.clone())?);
        Ok(ClientTls { provider, verifier })
    }

    /// For connections without a client certificate.
    pub fn config(&self) -> ClientConfig {
        config(&self.provider, self.verifier.clone(), None)
    }

    /// For connections that present a client certificate to servers that ask for one.
    pub fn config_with_identity(&self, identity: Arc<dyn ResolvesClientCert>) -> ClientConfig {
        config(&self.provider, self.verifier.clone(), Some(identity))
    }

    /// For connections to servers whose certificate is for one of these names, whatever address was connected to.
    pub fn config_for_names(&self, names: Vec<ServerName<'static>>) -> ClientConfig {
        let verifier = NamesVerifier { names, verifier: self.verifier.clone() };
        config(&self.provider, Arc::new(verifier), None)
    }
}

/// A configuration that trusts no authority, for clients that make no TLS connection.
pub fn config_without_roots() -> ClientConfig {
    ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("ring has the cipher suites of TLS 1.2 and 1.3")
        .with_root_certificates(RootCertStore::empty())
        .with_no_client_auth()
}

fn config(
    provider: &Arc<CryptoProvider>,
    verifier: Arc<dyn ServerCertVerifier>,
    identity: Option<Arc<dyn ResolvesClientCert>>,
) -> ClientConfig {
    // rustls calls every verifier that it did not make itself dangerous; all of ours end in that of the platform.
    let builder = ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .expect("ring has the cipher suites of TLS 1.2 and 1.3")
        .dangerous()
        .with_custom_certificate_verifier(verifier);
    match identity {
        Some(identity) => builder.with_client_cert_resolver(identity),
        None => builder.with_no_client_auth(),
    }
}
