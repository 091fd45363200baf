//! What the tests share: a client over real HTTP, and one row per service.
#![allow(dead_code, reason = "each test file uses its own part")]

use std::net::SocketAddr;

use bytes::Bytes;
use drone_delivery::{Fleet, Service, Settings};
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::{HeaderMap, Request};
use hyper_util::rt::TokioIo;
use serde_json::Value;

/// An answer, read to its end.
#[derive(Debug)]
pub struct Reply {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl Reply {
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error} in {self:?}"))
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    /// The stable code of a problem, and the pointer if it has one.
    pub fn problem(&self) -> (u16, String, Option<String>) {
        assert_eq!(self.header("content-type"), Some("application/problem+json"), "{self:?}");
        let problem = self.json();
        let pointer = problem["pointer"].as_str().map(str::to_owned);
        (self.status, problem["code"].as_str().unwrap().to_owned(), pointer)
    }
}

/// One kept-alive connection.
pub struct Connection {
    sender: SendRequest<Full<Bytes>>,
}

impl Connection {
    pub async fn to(address: SocketAddr) -> Connection {
        let stream = tokio::net::TcpStream::connect(address).await.unwrap();
        let (sender, connection) = handshake(TokioIo::new(stream)).await.unwrap();
        tokio::spawn(connection);
        Connection { sender }
    }

    /// Sends a request; an error means that the connection closed without an answer.
    pub async fn try_send(
        &mut self,
        method: &str,
        path: &str,
        key: Option<&str>,
        body: &str,
    ) -> hyper::Result<Reply> {
        let mut request = Request::builder().method(method).uri(path).header("host", "localhost");
        if let Some(key) = key {
            request = request.header("idempotency-key", key);
        }
        let request = request.body(Full::new(Bytes::from(body.to_owned()))).unwrap();
        self.sender.ready().await?;
        let (parts, body) = self.sender.send_request(request).await?.into_parts();
        let body = body.collect().await?.to_bytes();
        Ok(Reply { status: parts.status.as_u16(), headers: parts.headers, body })
    }

    pub async fn send(&mut self, method: &str, path: &str, key: Option<&str>, body: &str) -> Reply {
        self.try_send(method, path, key, body).await.unwrap()
    }
}

pub async fn fleet() -> Fleet {
    Fleet::start(Settings::on_any_ports()).await.unwrap()
}

pub async fn connect(fleet: &Fleet, service: Service) -> Connection {
    Connection::to(fleet.addresses()[&service]).await
}

/// Sends one request on a connection of its own, without a key.
pub async fn ask(fleet: &Fleet, service: Service, method: &str, path: &str, body: &str) -> Reply {
    connect(fleet, service).await.send(method, path, None, body).await
}

/// How to use one service in tests that hold for all of them.
pub struct Row {
    pub service: Service,
    pub folder: &'static str,
    /// The same folder as the reference system spells it.
    pub reference_folder: &'static str,
    /// The status of a PUT that repeats another.
    pub repeat: u16,
    /// A body without its id field.
    pub body: &'static str,
    pub other_body: &'static str,
    /// A body and the pointer to what is wrong with it.
    pub wrong: &'static [(&'static str, &'static str)],
}

impl Row {
    pub fn path(&self, id: &str) -> String {
        format!("{}/{id}", self.folder)
    }

    /// The body with an id in it.
    pub fn body_with_id(&self, id: &str) -> String {
        self.body.replacen('{', &format!("{{\"id\":\"{id}\","), 1)
    }
}

pub const ROWS: [Row; 5] = [
    Row {
        service: Service::Account,
        folder: "/api/accounts",
        reference_folder: "/api/Account",
        repeat: 204,
        body: r#"{"active":false}"#,
        other_body: r#"{"active":true}"#,
        wrong: &[
            ("{}", "/active"),
            (r#"{"active":"no"}"#, "/active"),
            (r#"{"active":true,"a/b":1}"#, "/a~1b"),
        ],
    },
    Row {
        service: Service::Package,
        folder: "/api/packages",
        reference_folder: "/api/Packages",
        repeat: 204,
        body: r#"{"size":"Small","weight":10,"tag":"t"}"#,
        other_body: r#"{"size":"Large","weight":10,"tag":"t"}"#,
        wrong: &[
            ("{}", "/size"),
            (r#"{"size":null}"#, "/size"),
            (r#"{"size":"Huge"}"#, "/size"),
            (r#"{"size":"small","weight":"10"}"#, "/weight"),
            (r#"{"size":"small","weight":-1}"#, "/weight"),
            (r#"{"size":"small","tag":1}"#, "/tag"),
            (r#"{"size":"small","size":"large"}"#, "/size"),
            (r#"{"size":"small","colour":"red"}"#, "/colour"),
        ],
    },
    Row {
        service: Service::Transport,
        folder: "/api/thirdpartydeliveries",
        reference_folder: "/api/ThirdPartyDeliveries",
        repeat: 200,
        body: r#"{"pickup":"a","dropoff":{"altitude":0,"latitude":37.4,"longitude":-78.6}}"#,
        other_body: r#"{"pickup":"a","dropoff":"c"}"#,
        wrong: &[
            (r#"{"pickup":"a"}"#, "/dropoff"),
            (r#"{"pickup":7,"dropoff":"b"}"#, "/pickup"),
            (r#"{"pickup":"a","dropoff":{"altitude":0,"latitude":"x","longitude":1}}"#, "/dropoff/latitude"),
        ],
    },
    Row {
        service: Service::Drone,
        folder: "/api/dronedeliveries",
        reference_folder: "/api/DroneDeliveries",
        repeat: 200,
        body: r#"{"pickup":"a","dropoff":"b","packageDetail":{"id":"p","size":"Small"},"expedited":true}"#,
        other_body: r#"{"pickup":"a","dropoff":"c"}"#,
        wrong: &[
            (r#"{"dropoff":"b"}"#, "/pickup"),
            (r#"{"pickup":"a","dropoff":"b","expedited":1}"#, "/expedited"),
            (r#"{"pickup":"a","dropoff":"b","packageDetail":{"id":"p"}}"#, "/packageDetail/size"),
            (
                r#"{"pickup":"a","dropoff":"b","packageDetails":[{"id":"p","size":"small"},{"id":""}]}"#,
                "/packageDetails/1/id",
            ),
        ],
    },
    Row {
        service: Service::Delivery,
        folder: "/api/deliveries",
        reference_folder: "/api/Deliveries",
        repeat: 204,
        body: DELIVERY,
        other_body: r#"{"owner":{"userId":"u"},"pickup":"a","dropoff":"z","droneId":"drone-1"}"#,
        wrong: &[
            (r#"{"pickup":"a","dropoff":"b","droneId":"d"}"#, "/owner"),
            (r#"{"owner":{"accountId":"x"},"pickup":"a","dropoff":"b","droneId":"d"}"#, "/owner/userId"),
            (r#"{"owner":{"userId":"u"},"pickup":"a","dropoff":"b"}"#, "/droneId"),
            (
                r#"{"owner":{"userId":"u"},"pickup":"a","dropoff":"b","droneId":"d","confirmationRequired":9}"#,
                "/confirmationRequired",
            ),
            (
                r#"{"owner":{"userId":"u"},"pickup":"a","dropoff":"b","droneId":"d","deadline":1}"#,
                "/deadline",
            ),
        ],
    },
];

pub const DELIVERY: &str = r#"{"owner":{"userId":"u","accountId":"o"},"pickup":"a","dropoff":"b","deadline":"","expedited":true,"confirmationRequired":"None","droneId":"drone-1"}"#;
