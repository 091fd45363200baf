//! Calls per second beside a bare hyper client loop, against a bare hyper server in the same process.
//!
//! `cargo test -p effects --release --test it speed -- --ignored --nocapture`

use std::convert::Infallible;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use outbound::{AttemptKind, CallVerdict, Client, ServicePool, ServiceSettings, Settings, sort};
use tokio::net::TcpStream;
use types::Timestamp;

use crate::support::{Server, get, settings};

const LENGTH: Duration = Duration::from_secs(4);

#[ignore = "a measurement, to be run in release by hand"]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_per_second() {
    let server = bare_server().await;
    // Client and server together need two files per call in flight; many machines allow 20,000 per process.
    for in_flight in [256, 2_000, 9_500] {
        for round in 1..=2 {
            println!("{in_flight} in flight, round {round}");
            let bare = bare_loop(&server, in_flight).await;
            let pooled = client_loop(&server, in_flight).await;
            let flowing = flow_loop(&server, in_flight).await;
            for (name, figure) in [("bare hyper", &bare), ("client", &pooled), ("client and flow", &flowing)]
            {
                let Figure { per_sec, cpu_micros } = figure;
                let ratio = bare.cpu_micros / cpu_micros;
                println!(
                    "  {name:<16} {per_sec:>7.0} calls/s   {cpu_micros:>5.1} µs CPU per call, server included ({ratio:.2})"
                );
            }
        }
    }
}

/// What a measurement came to. On a busy machine the CPU time is the one to compare.
struct Figure {
    per_sec: f64,
    cpu_micros: f64,
}

/// User and system time of this process, in ticks of 10 ms.
fn cpu_micros() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let after_name = stat.rsplit_once(')').unwrap().1;
    let ticks: f64 =
        after_name.split_whitespace().skip(11).take(2).map(|field| field.parse::<f64>().unwrap()).sum();
    ticks * 10_000.0
}

async fn bare_server() -> Server {
    Server::start(|stream| async move {
        let service = service_fn(|_: http::Request<Incoming>| async {
            Ok::<_, Infallible>(http::Response::new(Full::new(Bytes::from_static(b"{\"ok\":true}"))))
        });
        // The end of a measurement cuts connections.
        let _ = http1_server().serve_connection(TokioIo::new(stream), service).await;
    })
    .await
}

fn http1_server() -> hyper::server::conn::http1::Builder {
    hyper::server::conn::http1::Builder::new()
}

/// Runs `in_flight` loops for a while; each loop counts its calls.
async fn measure<F, Fut>(in_flight: usize, start: F) -> Figure
where
    F: Fn(Instant) -> Fut,
    Fut: Future<Output = u64> + Send + 'static,
{
    let (begin, cpu_begin) = (Instant::now(), cpu_micros());
    let end = begin + LENGTH;
    let loops: Vec<_> = (0..in_flight).map(|_| tokio::spawn(start(end))).collect();
    let mut calls: u64 = 0;
    for counted in loops {
        calls += counted.await.unwrap();
    }
    let calls = calls as f64;
    let per_sec = calls / begin.elapsed().as_secs_f64();
    Figure { per_sec, cpu_micros: (cpu_micros() - cpu_begin) / calls }
}

async fn bare_loop(server: &Server, in_flight: usize) -> Figure {
    let address = server.address;
    measure(in_flight, |end| async move {
        let stream = TcpStream::connect(address).await.unwrap();
        stream.set_nodelay(true).unwrap();
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.unwrap();
        let connection = tokio::spawn(connection);
        let mut calls = 0;
        while Instant::now() < end {
            let request = http::Request::get("/").header("host", "x").body(Full::new(Bytes::new())).unwrap();
            sender.ready().await.unwrap();
            let response = sender.send_request(request).await.unwrap();
            response.into_body().collect().await.unwrap();
            calls += 1;
        }
        connection.abort();
        calls
    })
    .await
}

fn pooling_client() -> Client {
    // The server shares our two threads: while thousands of connections open, its backlog overflows now and then.
    let connect_timeout = Duration::from_secs(30);
    Client::new(Settings { connections_per_origin: 16_384, connect_timeout, ..settings() })
}

async fn client_loop(server: &Server, in_flight: usize) -> Figure {
    let (client, url) = (pooling_client(), server.url("/"));
    measure(in_flight, |end| {
        let (client, url) = (client.clone(), url.clone());
        async move {
            let mut calls = 0;
            while Instant::now() < end {
                client.send(get(url.clone())).await.unwrap();
                calls += 1;
            }
            calls
        }
    })
    .await
}

async fn flow_loop(server: &Server, in_flight: usize) -> Figure {
    let (client, url) = (pooling_client(), server.url("/"));
    let pool = ServicePool::new(ServiceSettings { concurrency_max: in_flight as u32 });
    measure(in_flight, |end| {
        let (client, url, pool) = (client.clone(), url.clone(), pool.clone());
        async move {
            let mut calls = 0;
            while Instant::now() < end {
                let permit = pool.acquire("drone", AttemptKind::First).await;
                let result = client.send(get(url.clone())).await;
                permit.finish(CallVerdict::of(&result, &sort(&result, Timestamp(0))));
                calls += 1;
            }
            calls
        }
    })
    .await
}
