//! Certificates in PEM files, read again for every connection: they are renewed while this process runs.

use std::fmt::Display;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::client::ResolvesClientCert;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{self, CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::sign::CertifiedKey;
use rustls::{ClientConfig, DigitallySignedStruct, Error, SignatureScheme};
use rustls_platform_verifier::Verifier;

/// The PEM files of a client.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CertificateFiles {
    /// Certificate authorities to trust in addition to those of the machine.
    pub ca_file: Option<PathBuf>,
    /// The client certificate and its private key.
    pub identity: Option<(PathBuf, PathBuf)>,
}

/// A file of certificates or a key that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileError {
    pub path: PathBuf,
    pub reason: String,
}

impl FileError {
    fn new(path: &Path, reason: impl Display) -> FileError {
        FileError { path: path.to_owned(), reason: reason.to_string() }
    }
}

impl Display for FileError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} cannot be used: {}", self.path.display(), self.reason)
    }
}

impl CertificateFiles {
    /// Connections by these files. A file that cannot be used is an error at once, not at the first connection.
    pub fn config(&self) -> Result<ClientConfig, FileError> {
        let provider = Arc::new(ring::default_provider());
        let verifier = FileVerifier { ca_file: self.ca_file.clone(), provider: provider.clone() };
        // Without a file nothing is read yet: connections without TLS need no authorities.
        if let Some(file) = &verifier.ca_file {
            verifier.read().map_err(|reason| FileError::new(file, reason))?;
        }
        let identity = self.identity.clone().map(|(certificate, key)| FileIdentity {
            certificate,
            key,
            provider: provider.clone(),
        });
        if let Some(identity) = &identity {
            identity.read()?;
        }
        let identity = identity.map(|identity| Arc::new(identity) as Arc<dyn ResolvesClientCert>);
        Ok(super::config(&provider, Arc::new(verifier), identity))
    }
}

/// Trusts the authorities of the machine and those of a file.
#[derive(Debug)]
struct FileVerifier {
    ca_file: Option<PathBuf>,
    provider: Arc<CryptoProvider>,
}

impl FileVerifier {
    fn read(&self) -> Result<Verifier, String> {
        let roots = self.ca_file.as_deref().map(certificates).transpose()?.unwrap_or_default();
        Verifier::new_with_extra_roots(roots, self.provider.clone()).map_err(|error| error.to_string())
    }
}

impl ServerCertVerifier for FileVerifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let verifier = self.read().map_err(Error::General)?;
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

/// The client certificate in two files.
#[derive(Debug)]
struct FileIdentity {
    certificate: PathBuf,
    key: PathBuf,
    provider: Arc<CryptoProvider>,
}

impl FileIdentity {
    fn read(&self) -> Result<CertifiedKey, FileError> {
        let chain =
            certificates(&self.certificate).map_err(|reason| FileError::new(&self.certificate, reason))?;
        let text = fs::read(&self.key).map_err(|error| FileError::new(&self.key, error))?;
        let key = PrivateKeyDer::from_pem_slice(&text);
        let key = key.map_err(|_| FileError::new(&self.key, "it contains no private key in PEM"))?;
        CertifiedKey::from_der(chain, key, &self.provider).map_err(|error| match error {
            Error::InconsistentKeys(_) => {
                let certificate = self.certificate.display();
                FileError::new(&self.key, format!("it is not the key of the certificate in {certificate}"))
            }
            error => FileError::new(&self.key, error),
        })
    }
}

impl ResolvesClientCert for FileIdentity {
    fn resolve(&self, _authorities: &[&[u8]], _schemes: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        let read = self.read();
        let read =
            read.inspect_err(|error| tracing::error!(%error, "connecting without a client certificate"));
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
        Ok(found) if found.is_empty() => Err("it contains no certificate in PEM".to_owned()),
        Ok(found) => Ok(found),
        Err(error) => Err(format!("it is not PEM: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;

    use super::*;

    /// The PEM of a new certificate and of its key.
    fn certificate() -> (String, String) {
        let made = rcgen::generate_simple_self_signed(["nats.test".to_owned()]).unwrap();
        (pem("CERTIFICATE", made.cert.der()), pem("PRIVATE KEY", &made.signing_key.serialize_der()))
    }

    fn pem(label: &str, der: &[u8]) -> String {
        format!("-----BEGIN {label}-----\n{}\n-----END {label}-----\n", STANDARD.encode(der))
    }

    /// Why files with these texts are refused.
    #[track_caller]
    fn refused(ca: Option<&str>, identity: Option<(&str, &str)>) -> String {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            let path = folder.path().join(name);
            fs::write(&path, text).unwrap();
            path
        };
        let ca_file = ca.map(|text| file("ca.pem", text));
        let identity = identity.map(|(chain, key)| (file("certificate.pem", chain), file("key.pem", key)));
        let error = CertificateFiles { ca_file, identity }.config().unwrap_err();
        error.to_string().replace(&format!("{}/", folder.path().display()), "")
    }

    #[test]
    fn files_that_cannot_be_used_are_refused_by_name() {
        let ((certificate, _), (_, key)) = (certificate(), certificate());
        assert_eq!(refused(Some("no"), None), "ca.pem cannot be used: it contains no certificate in PEM");
        let broken = refused(Some("-----BEGIN CERTIFICATE-----\n%\n"), None);
        assert!(broken.starts_with("ca.pem cannot be used: it is not PEM"), "{broken}");
        assert_eq!(
            refused(None, Some((&certificate, ""))),
            "key.pem cannot be used: it contains no private key in PEM"
        );
        assert_eq!(
            refused(None, Some((&certificate, &key))),
            "key.pem cannot be used: it is not the key of the certificate in certificate.pem"
        );
        let missing = CertificateFiles { ca_file: Some(PathBuf::from("/no/such/file")), identity: None };
        assert_eq!(missing.config().unwrap_err().path, Path::new("/no/such/file"));
    }

    #[test]
    fn a_certificate_is_read_again_for_each_connection() {
        let folder = tempfile::tempdir().unwrap();
        let files = (folder.path().join("certificate.pem"), folder.path().join("key.pem"));
        let write = || {
            let (certificate, key) = certificate();
            fs::write(&files.0, certificate).unwrap();
            fs::write(&files.1, key).unwrap();
        };
        write();
        let tls = CertificateFiles { ca_file: None, identity: Some(files.clone()) }.config().unwrap();
        let presented = || tls.client_auth_cert_resolver.resolve(&[], &[]).map(|key| key.cert.clone());
        let first = presented();
        assert!(first.is_some());
        write();
        assert_ne!(presented(), first);
        fs::remove_file(&files.1).unwrap();
        assert_eq!(presented(), None);
    }
}
