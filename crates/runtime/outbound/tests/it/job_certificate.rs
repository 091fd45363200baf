//! Client certificates: each call shows its own, whatever connections and sessions are kept.

use std::sync::Arc;

use crate::support::job::{Jobs, answer, http_action, recording_server, status_and_text};
use crate::support::{Server, read_request, settings};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use outbound::{JobSettings, Settings};
use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustls::crypto::{CryptoProvider, WebPkiSupportedAlgorithms};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{
    DigitallySignedStruct, DistinguishedName, Error, ServerConfig, SignatureScheme, SupportedProtocolVersion,
};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tokio::io::AsyncWriteExt;
use tokio_rustls::TlsAcceptor;
use types::Outcome;
use vault::Pfx;

const PASSWORD: &str = "correct horse";

/// A certificate file of the vault's own tests, as base64.
fn file(name: &str) -> String {
    let path = format!("{}/../../storage/vault/tests/data/{name}.pfx", env!("CARGO_MANIFEST_DIR"));
    STANDARD.encode(std::fs::read(path).unwrap())
}

fn hash(bytes: &[u8]) -> String {
    format!("{:x}", Sha256::digest(bytes))
}

/// Takes any certificate or none, but checks that its owner has the key.
#[derive(Debug)]
struct Anyone(WebPkiSupportedAlgorithms);

impl ClientCertVerifier for Anyone {
    fn client_auth_mandatory(&self) -> bool {
        false
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<rustls::client::danger::HandshakeSignatureValid, Error> {
        rustls::crypto::verify_tls12_signature(message, certificate, signature, &self.0)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<rustls::client::danger::HandshakeSignatureValid, Error> {
        rustls::crypto::verify_tls13_signature(message, certificate, signature, &self.0)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_schemes()
    }
}

/// A server that answers with the hash of the certificate that was shown, and the settings to reach it.
async fn server(version: &'static SupportedProtocolVersion, closing: bool) -> (Server, Settings) {
    let CertifiedKey { cert, signing_key } = generate_simple_self_signed(["target.test".to_owned()]).unwrap();
    let provider: CryptoProvider = rustls::crypto::ring::default_provider();
    let anyone = Arc::new(Anyone(provider.signature_verification_algorithms));
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(signing_key.serialize_der()));
    let mut config = ServerConfig::builder_with_provider(Arc::new(provider))
        .with_protocol_versions(&[version])
        .unwrap()
        .with_client_cert_verifier(anyone)
        .with_single_cert(vec![cert.der().clone()], key)
        .unwrap();
    // Tickets, so that sessions are resumed in either version.
    config.ticketer = rustls::crypto::ring::Ticketer::new().unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let server = Server::start(move |stream| {
        let acceptor = acceptor.clone();
        async move {
            let Ok(mut stream) = acceptor.accept(stream).await else { return };
            while read_request(&mut stream).await.is_some() {
                let shown = stream.get_ref().1.peer_certificates().map_or(&[][..], |chain| chain);
                let body = format!("shown {}", shown.first().map_or("none".to_owned(), |leaf| hash(leaf)));
                let close = if closing { "connection: close\r\n" } else { "" };
                // The client may have gone.
                let _ = stream.write_all(answer("200 OK", close, &body).as_bytes()).await;
                if closing {
                    let _ = stream.shutdown().await;
                    return;
                }
            }
        }
    })
    .await;
    let hosts = [("target.test".to_owned(), vec!["127.0.0.1".parse().unwrap()])].into();
    (server, Settings { hosts, extra_roots: vec![cert.der().clone()], ..settings() })
}

fn action(jobs: &Jobs, uri: &str, certificate: Option<(&str, &str)>) -> Value {
    let mut action = http_action(uri);
    if let Some((name, password)) = certificate {
        action["request"]["authentication"] = json!({ "type": "ClientCertificate",
            "pfx": jobs.vault.seal(&file(name)), "password": jobs.vault.seal(password) });
    }
    action
}

async fn each_call_shows_its_own(version: &'static SupportedProtocolVersion, closing: bool) {
    let (server, settings) = server(version, closing).await;
    let jobs = Jobs::with(settings, JobSettings::default());
    let uri = format!("https://target.test:{}/", server.address.port());
    let certificates = [None, Some(("modern", PASSWORD)), Some(("ecdsa", "")), Some(("ed25519", PASSWORD))];
    for round in 0..4 {
        for certificate in certificates {
            let leaf = certificate
                .map(|(name, password)| hash(&Pfx::open(&file(name), password).unwrap().chain_der()[0]));
            let (status, text) = status_and_text(&jobs.call(&action(&jobs, &uri, certificate)).await);
            assert_eq!(status, Some(200), "{text}");
            let shown = format!(" Body: shown {}", leaf.unwrap_or("none".to_owned()));
            assert!(text.ends_with(&shown), "round {round}, {certificate:?}: {text}");
        }
    }
    let connections = if closing { 16 } else { 4 };
    assert_eq!(server.connections(), connections, "a kept connection serves its own certificate again");
}

#[tokio::test]
async fn connections_of_different_certificates_are_never_shared() {
    each_call_shows_its_own(&rustls::version::TLS13, false).await;
    each_call_shows_its_own(&rustls::version::TLS12, false).await;
}

#[tokio::test]
async fn sessions_of_different_certificates_are_never_resumed_for_one_another() {
    each_call_shows_its_own(&rustls::version::TLS13, true).await;
    each_call_shows_its_own(&rustls::version::TLS12, true).await;
}

#[tokio::test]
async fn a_certificate_that_cannot_be_shown_fails_the_attempt_before_it_leaves() {
    let (server, settings) = server(&rustls::version::TLS13, false).await;
    let jobs = Jobs::with(settings, JobSettings::default());
    let uri = format!("https://target.test:{}/", server.address.port());
    for (name, password, reason) in [
        ("modern", "hush", "the password of the certificate file is wrong, or the file is damaged"),
        ("expired", PASSWORD, "the certificate expired at 2021-01-01T07:00:00Z"),
        ("future", PASSWORD, "the certificate is not valid before 2090-01-01T00:00:00Z"),
        ("no-key", PASSWORD, "the certificate file has no private key in it"),
        ("no-certificate", PASSWORD, "the certificate file has no certificate for its private key"),
    ] {
        let outcome = jobs.call(&action(&jobs, &uri, Some((name, password)))).await;
        let reason = format!("Http Action - Request to host 'target.test' failed: {reason}");
        assert_eq!(outcome, Outcome::Transient { status: None, reason, retry_after: None });
    }
    let mut unsealed = action(&jobs, &uri, Some(("modern", PASSWORD)));
    unsealed["request"]["authentication"]["pfx"] = json!(file("modern"));
    let (_, text) = status_and_text(&jobs.call(&unsealed).await);
    assert!(
        text.ends_with("the client certificate cannot be unsealed: the text is not a sealed secret"),
        "{text}"
    );
    assert_eq!(server.connections(), 0);
}

#[tokio::test]
async fn a_certificate_is_not_for_plain_http() {
    let (server, _requests) = recording_server(&[&answer("200 OK", "", "")]).await;
    let jobs = Jobs::new();
    let uri = format!("http://{}/", server.address);
    let (status, text) = status_and_text(&jobs.call(&action(&jobs, &uri, Some(("ecdsa", "")))).await);
    assert_eq!(status, None);
    assert!(text.ends_with("a client certificate needs an https url"), "{text}");
    assert_eq!(server.connections(), 0);
}
