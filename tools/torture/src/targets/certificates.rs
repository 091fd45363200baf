//! Certificates good and bad, of an authority that the server under torture trusts.

use std::path::Path;
use std::sync::Arc;

use anyhow::Context;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair, date_time_ymd};
use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio_rustls::TlsAcceptor;

/// What is wrong with the certificate of a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flaw {
    None,
    SelfSigned,
    Expired,
    NotYetValid,
    OtherName,
}

/// An authority that lives as long as this program.
pub struct Authority {
    pem: String,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    pub fn new() -> anyhow::Result<Authority> {
        let key = KeyPair::generate()?;
        let mut params = CertificateParams::new(Vec::new())?;
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let pem = pem(params.self_signed(&key)?.der());
        Ok(Authority { pem, issuer: Issuer::new(params, key) })
    }

    /// Writes the authority's certificate where `SSL_CERT_FILE` can point to.
    pub fn write(&self, path: &Path) -> anyhow::Result<()> {
        std::fs::write(path, &self.pem).with_context(|| format!("writing {}", path.display()))
    }

    /// What takes TLS connections to 127.0.0.1 with such a certificate.
    pub fn acceptor(&self, flaw: Flaw) -> anyhow::Result<TlsAcceptor> {
        let name = if flaw == Flaw::OtherName { "other.example" } else { "127.0.0.1" };
        let key = KeyPair::generate()?;
        let mut params = CertificateParams::new(vec![name.to_owned()])?;
        match flaw {
            Flaw::Expired => params.not_after = date_time_ymd(2020, 1, 1),
            Flaw::NotYetValid => params.not_before = date_time_ymd(2090, 1, 1),
            Flaw::None | Flaw::SelfSigned | Flaw::OtherName => {}
        }
        let certificate = match flaw {
            Flaw::SelfSigned => params.self_signed(&key)?,
            _ => params.signed_by(&key, &self.issuer)?,
        };
        let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], key)?;
        Ok(TlsAcceptor::from(Arc::new(config)))
    }
}

/// A certificate as text.
fn pem(certificate: &CertificateDer<'_>) -> String {
    format!("-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n", STANDARD.encode(certificate))
}
