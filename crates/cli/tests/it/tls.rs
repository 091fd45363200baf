//! The binary against a server with https, as a proxy in front of one would provide it.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use crate::process::{Process, command};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rcgen::{Certificate, CertifiedKey, generate_simple_self_signed};
use rustls::ServerConfig;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;
use tokio_rustls::TlsAcceptor;

/// Takes https on a port of its own and passes everything on to `server`.
fn proxy(runtime: &Runtime, server: SocketAddr, certificate: &CertifiedKey<rcgen::KeyPair>) -> SocketAddr {
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(certificate.signing_key.serialize_der()));
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.cert.der().clone()], key)
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
    let address = listener.local_addr().unwrap();
    runtime.spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                let Ok(mut outside) = acceptor.accept(stream).await else { return };
                let mut inside = TcpStream::connect(server).await.unwrap();
                // Either side may hang up.
                let _ = tokio::io::copy_bidirectional(&mut outside, &mut inside).await;
            });
        }
    });
    address
}

fn pem(certificate: &Certificate) -> String {
    let text = STANDARD.encode(certificate.der());
    format!("-----BEGIN CERTIFICATE-----\n{text}\n-----END CERTIFICATE-----\n")
}

/// What `sortie workflow list` comes to, with these authorities.
fn list(url: &str, authorities: &Path) -> (Option<i32>, String) {
    let output = command(&["workflow", "list", "--url", url])
        .env("SSL_CERT_FILE", authorities)
        .env_remove("SSL_CERT_DIR")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    (output.status.code(), text.into_owned())
}

#[test]
fn a_server_behind_https_is_used_when_it_proves_its_name_and_not_otherwise() {
    let dev = Process::dev();
    let runtime = Runtime::new().unwrap();
    let server = dev.url.strip_prefix("http://").unwrap().parse().unwrap();
    let [own, strange] = [(); 2].map(|()| generate_simple_self_signed(vec!["127.0.0.1".to_owned()]).unwrap());
    let url = format!("https://{}", proxy(&runtime, server, &own));

    let directory = tempfile::tempdir().unwrap();
    let authorities = directory.path().join("authorities.pem");
    std::fs::write(&authorities, pem(&own.cert)).unwrap();
    let (code, text) = list(&url, &authorities);
    assert!(code == Some(0) && text.contains("drone-delivery"), "{text}");

    std::fs::write(&authorities, pem(&strange.cert)).unwrap();
    let (code, text) = list(&url, &authorities);
    assert!(code == Some(69) && text.contains("certificate"), "{code:?} {text}");
    assert!(!text.contains("drone-delivery"), "{text}");
}
