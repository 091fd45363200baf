//! TLS against servers with certificates good and bad: nothing is sent in clear or to an unproven name.

use std::sync::Arc;
use std::time::Duration;

use outbound::{Client, Fault, OutboundRequest, ServiceResponse, Settings, Stage, Url};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair, date_time_ymd};
use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::mpsc;
use tokio_rustls::TlsAcceptor;

use crate::support::{Server, get, read_request, settings};

const OK: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";

/// A certificate authority of the test's own.
struct Authority {
    certificate: CertificateDer<'static>,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    fn new() -> Authority {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let certificate = params.self_signed(&key).unwrap().der().clone();
        Authority { certificate, issuer: Issuer::new(params, key) }
    }

    fn acceptor(&self, names: &[&str], change: impl FnOnce(&mut CertificateParams)) -> TlsAcceptor {
        let key = KeyPair::generate().unwrap();
        let mut params =
            CertificateParams::new(names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>()).unwrap();
        change(&mut params);
        let certificate = params.signed_by(&key, &self.issuer).unwrap().der().clone();
        let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate], key)
            .unwrap();
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        TlsAcceptor::from(Arc::new(config))
    }
}

/// A server with TLS that reports every request it could read.
async fn server(acceptor: TlsAcceptor) -> (Server, mpsc::UnboundedReceiver<String>) {
    let (tx, rx) = mpsc::unbounded_channel();
    let server = Server::start(move |stream| {
        let (acceptor, tx) = (acceptor.clone(), tx.clone());
        async move {
            let Ok(mut stream) = acceptor.accept(stream).await else { return };
            assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"http/1.1"[..]));
            while let Some(request) = read_request(&mut stream).await {
                tx.send(request).unwrap();
                stream.write_all(OK).await.unwrap();
            }
        }
    })
    .await;
    (server, rx)
}

fn client(authority: &Authority) -> Client {
    let loopback = vec!["127.0.0.1".parse().unwrap()];
    let hosts = [("good.test".to_owned(), loopback.clone()), ("other.test".to_owned(), loopback)];
    let extra_roots = vec![authority.certificate.clone()];
    Client::new(Settings {
        extra_roots,
        hosts: hosts.into(),
        connect_timeout: Duration::from_secs(20),
        ..settings()
    })
}

async fn call(client: &Client, server: &Server, host: &str) -> Result<ServiceResponse, Fault> {
    let url = Url::parse(&format!("https://{host}:{}/secret", server.address.port())).unwrap();
    client.send(get(url)).await
}

fn is_tls_fault(result: &Result<ServiceResponse, Fault>) -> bool {
    matches!(result, Err(Fault::Connect { stage: Stage::Tls, .. }))
}

#[tokio::test]
async fn a_certificate_of_a_trusted_authority_is_accepted_and_its_connection_reused() {
    let authority = Authority::new();
    let (server, mut requests) = server(authority.acceptor(&["good.test", "127.0.0.1"], |_| {})).await;
    let client = client(&authority);
    for host in ["good.test", "GOOD.test", "127.0.0.1"] {
        assert_eq!(call(&client, &server, host).await.unwrap().body, "ok", "{host}");
        assert!(requests.recv().await.unwrap().starts_with("GET /secret HTTP/1.1\r\n"));
    }
    assert_eq!(server.connections(), 2, "one per origin");
}

#[tokio::test]
async fn a_name_that_is_not_proven_gets_nothing() {
    let authority = Authority::new();
    let stranger = Authority::new();
    let expired = |params: &mut CertificateParams| {
        params.not_before = date_time_ymd(2019, 1, 1);
        params.not_after = date_time_ymd(2020, 1, 1);
    };
    let early = |params: &mut CertificateParams| params.not_before = date_time_ymd(4000, 1, 1);
    let table = [
        ("wrong name", authority.acceptor(&["other.test"], |_| {})),
        ("sub name", authority.acceptor(&["www.good.test"], |_| {})),
        ("expired", authority.acceptor(&["good.test"], expired)),
        ("not yet valid", authority.acceptor(&["good.test"], early)),
        ("unknown authority", stranger.acceptor(&["good.test"], |_| {})),
    ];
    for (case, acceptor) in table {
        let (server, mut requests) = server(acceptor).await;
        let result = call(&client(&authority), &server, "good.test").await;
        assert!(is_tls_fault(&result), "{case}: {result:?}");
        println!("{case}: {}", result.unwrap_err());
        drop(server);
        assert!(requests.try_recv().is_err(), "{case}: a request got through");
    }
}

#[tokio::test]
async fn plain_text_on_a_tls_port_is_a_tls_fault() {
    let (tx, mut received) = mpsc::unbounded_channel();
    let server = Server::start(move |mut stream| {
        let tx = tx.clone();
        async move {
            let mut bytes = vec![0; 4096];
            let count = stream.read(&mut bytes).await.unwrap();
            stream.write_all(OK).await.unwrap();
            bytes.truncate(count);
            tx.send(bytes).unwrap();
        }
    })
    .await;
    let result = call(&client(&Authority::new()), &server, "good.test").await;
    assert!(is_tls_fault(&result), "{result:?}");
    let hello = received.recv().await.unwrap();
    assert!(!hello.windows(6).any(|window| window == b"secret"));
}

#[tokio::test]
async fn a_handshake_that_stalls_is_given_up_with_nothing_sent() {
    let server = Server::start(|mut stream| async move { while stream.read_u8().await.is_ok() {} }).await;
    let url = Url::parse(&format!("https://127.0.0.1:{}/", server.address.port())).unwrap();
    let extra_roots = vec![Authority::new().certificate];
    let client =
        Client::new(Settings { connect_timeout: Duration::from_millis(100), extra_roots, ..settings() });
    let result = client.send(get(url.clone())).await;
    assert!(is_tls_fault(&result), "{result:?}");
    let request = OutboundRequest { deadline: Duration::from_millis(50), ..get(url) };
    assert_eq!(client.send(request).await, Err(Fault::Timeout { sent: false }));
    assert_eq!(client.connections(), 0);
}

#[tokio::test]
async fn a_tls_connection_cut_in_the_middle_of_an_answer_is_lost() {
    let authority = Authority::new();
    let acceptor = authority.acceptor(&["good.test"], |_| {});
    let server = Server::start(move |stream| {
        let acceptor = acceptor.clone();
        async move {
            let mut stream = acceptor.accept(stream).await.unwrap();
            read_request(&mut stream).await;
            // An attacker who cuts the connection must not pass for the end of the body.
            stream.write_all(b"HTTP/1.1 200 OK\r\n\r\nhalf").await.unwrap();
            stream.flush().await.unwrap();
        }
    })
    .await;
    let result = call(&client(&authority), &server, "good.test").await;
    assert!(matches!(result, Err(Fault::Lost { .. })), "{result:?}");
}
