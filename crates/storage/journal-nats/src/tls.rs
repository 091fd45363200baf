//! TLS with the servers of NATS: whom this process trusts, what it shows, and what to change when the two disagree.

use std::error::Error as StdError;
use std::fmt::Display;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_nats::{ConnectError, ConnectErrorKind};
use rustls::client::ResolvesClientCert;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{self, CryptoProvider};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::sign::CertifiedKey;
use rustls::{
    AlertDescription, CertificateError, ClientConfig, DigitallySignedStruct, Error, SignatureScheme,
};
use rustls_platform_verifier::Verifier;

use crate::open::OpenError;
use crate::settings::{Servers, Tls};

/// How handshakes are made. Files that cannot be used are told here: a connection would only fail.
pub(crate) fn config(tls: &Tls) -> Result<ClientConfig, OpenError> {
    let provider = Arc::new(crypto::ring::default_provider());
    let trust = Trust { ca_file: tls.ca_file.clone(), provider: provider.clone() };
    // Without a file nothing is looked at yet: servers without TLS need no authorities.
    if let Some(file) = &trust.ca_file {
        trust.verifier().map_err(|why| OpenError::File { path: file.display().to_string(), why })?;
    }
    // `dangerous` is the only door for a verifier of one's own; behind this one is the system's.
    let builder = ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .expect("ring has all that TLS 1.2 and 1.3 ask for")
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(trust));
    let Some((certificate, key)) = tls.certificate.clone() else { return Ok(builder.with_no_client_auth()) };
    let shown = Shown { certificate, key, provider };
    shown.read()?;
    Ok(builder.with_client_cert_resolver(Arc::new(shown)))
}

/// The authorities of the machine and those of a file. Read for every connection: they may be replaced while this runs.
#[derive(Debug)]
struct Trust {
    ca_file: Option<PathBuf>,
    provider: Arc<CryptoProvider>,
}

impl Trust {
    fn verifier(&self) -> Result<Verifier, String> {
        let roots = self.ca_file.as_deref().map(certificates).transpose()?.unwrap_or_default();
        Verifier::new_with_extra_roots(roots, self.provider.clone()).map_err(|error| error.to_string())
    }
}

impl ServerCertVerifier for Trust {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let verifier = self.verifier().map_err(Error::General)?;
        verifier.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        crypto::verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        crypto::verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

/// What this process shows to servers that ask. Read for every connection, since certificates are renewed.
#[derive(Debug)]
struct Shown {
    certificate: PathBuf,
    key: PathBuf,
    provider: Arc<CryptoProvider>,
}

impl Shown {
    fn read(&self) -> Result<CertifiedKey, OpenError> {
        let chain = certificates(&self.certificate).map_err(|why| unusable(&self.certificate, why))?;
        let text = fs::read(&self.key).map_err(|error| unusable(&self.key, error))?;
        let key = PrivateKeyDer::from_pem_slice(&text);
        let key = key.map_err(|_| unusable(&self.key, "there is no private key in PEM in it"))?;
        CertifiedKey::from_der(chain, key, &self.provider).map_err(|error| match error {
            Error::InconsistentKeys(_) => {
                let certificate = self.certificate.display();
                unusable(&self.key, format!("it is not the key of the certificate in {certificate}"))
            }
            error => unusable(&self.key, error),
        })
    }
}

impl ResolvesClientCert for Shown {
    fn resolve(&self, _authorities: &[&[u8]], _schemes: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        let read =
            self.read().inspect_err(|error| tracing::error!(%error, "no certificate is shown to NATS"));
        read.ok().map(Arc::new)
    }

    fn has_certs(&self) -> bool {
        true
    }
}

fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let text = fs::read(file).map_err(|error| error.to_string())?;
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
    match found {
        Ok(found) if found.is_empty() => Err("there is no certificate in PEM in it".to_owned()),
        Ok(found) => Ok(found),
        Err(error) => Err(format!("what is in it is not PEM: {error}")),
    }
}

fn unusable(path: &Path, why: impl Display) -> OpenError {
    OpenError::File { path: path.display().to_string(), why: why.to_string() }
}

/// What to change when a connection failed because of TLS; none when it may do without a change.
pub(crate) fn disagreement(servers: &Servers, tls: &Tls, error: &ConnectError) -> Option<OpenError> {
    let (why, fix) = match cause(error) {
        Some(cause) => (cause.to_string(), fix(cause, tls)?),
        None if error.kind() == ConnectErrorKind::Tls => (error.to_string(), AUTHORITY.to_owned()),
        None => return None,
    };
    Some(OpenError::Tls { servers: servers.to_string(), why, fix })
}

/// What TLS had to say.
fn cause(error: &ConnectError) -> Option<&Error> {
    let mut next = error.source();
    while let Some(error) = next {
        if let Some(found) = error.downcast_ref() {
            return Some(found);
        }
        // What an error of I/O was made of is not its source.
        next = match error.downcast_ref::<io::Error>() {
            Some(error) => error.get_ref().map(|inner| inner as &(dyn StdError + 'static)),
            None => error.source(),
        };
    }
    None
}

const AUTHORITY: &str = "give the certificate of the servers' authority in tls_ca_file";

fn fix(error: &Error, tls: &Tls) -> Option<String> {
    let fix = match error {
        // A clock that is set a moment later mends it.
        Error::InvalidCertificate(CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. }) => {
            return None;
        }
        Error::InvalidCertificate(CertificateError::Expired | CertificateError::ExpiredContext { .. }) => {
            "renew the certificate of the server, or set the clock of this machine".to_owned()
        }
        Error::InvalidCertificate(
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
        ) => "use a name that the certificate is for as the address, or have one made for this name".to_owned(),
        Error::InvalidCertificate(_) | Error::General(_) => AUTHORITY.to_owned(),
        Error::InvalidMessage(_) => {
            "this is no TLS: put `tls { … }` into the configuration of the server; tls:// and the settings tls_… ask \
             for it"
                .to_owned()
        }
        Error::PeerIncompatible(_) => "let the server speak TLS 1.2 or newer".to_owned(),
        Error::AlertReceived(alert) if is_of_certificate(*alert) => match &tls.certificate {
            Some((file, _)) => {
                format!("the server does not take the certificate in {}: have one made that it does", file.display())
            }
            None => "the server asks for a certificate: give tls_certificate_file and tls_key_file".to_owned(),
        },
        _ => return None,
    };
    Some(fix)
}

/// Whether a server says this of what it was shown, or of being shown nothing.
fn is_of_certificate(alert: AlertDescription) -> bool {
    matches!(
        alert,
        AlertDescription::BadCertificate
            | AlertDescription::UnsupportedCertificate
            | AlertDescription::CertificateRevoked
            | AlertDescription::CertificateExpired
            | AlertDescription::CertificateUnknown
            | AlertDescription::UnknownCA
            | AlertDescription::AccessDenied
            | AlertDescription::CertificateRequired
    )
}
