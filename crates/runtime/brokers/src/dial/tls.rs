//! TLS with the system's certificates and those that were added.

use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, Error, SignatureScheme};
use rustls_platform_verifier::Verifier;

/// What all connections share.
pub(super) struct Tls {
    provider: Arc<CryptoProvider>,
    verifier: Arc<Verifier>,
    config: Arc<ClientConfig>,
}

impl Tls {
    pub(super) fn new(roots: Vec<CertificateDer<'static>>) -> Result<Tls, Error> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let verifier = Arc::new(Verifier::new_with_extra_roots(roots, provider.clone())?);
        let config = Arc::new(config(&provider, verifier.clone())?);
        Ok(Tls { provider, verifier, config })
    }

    pub(super) fn config(&self) -> Arc<ClientConfig> {
        self.config.clone()
    }

    /// One that takes a certificate for any of these names, and for no other.
    pub(super) fn config_for(&self, names: Vec<ServerName<'static>>) -> Result<ClientConfig, Error> {
        config(&self.provider, Arc::new(ForNames { names, verifier: self.verifier.clone() }))
    }
}

fn config(
    provider: &Arc<CryptoProvider>,
    verifier: Arc<dyn ServerCertVerifier>,
) -> Result<ClientConfig, Error> {
    // `dangerous` is the only door for a verifier of one's own; behind both of ours is the system's.
    let builder = ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()?
        .dangerous()
        .with_custom_certificate_verifier(verifier);
    Ok(builder.with_no_client_auth())
}

/// Checks a certificate against the names that were asked for, not against the address that was connected to.
#[derive(Debug)]
struct ForNames {
    names: Vec<ServerName<'static>>,
    verifier: Arc<Verifier>,
}

impl ServerCertVerifier for ForNames {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        _connected_to: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let mut verdict = Err(Error::General("no name to check the certificate against".to_owned()));
        for name in &self.names {
            verdict = self.verifier.verify_server_cert(end_entity, intermediates, name, ocsp_response, now);
            if verdict.is_ok() {
                break;
            }
        }
        verdict
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.verifier.verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.verifier.verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.verifier.supported_verify_schemes()
    }
}
