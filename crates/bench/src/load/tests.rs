//! The load generator against small servers: what it sends, and that it counts all of it.

use std::io::{Read, Write};
use std::net::TcpListener;

use super::*;
use crate::bare;

const WARM_UP: Duration = Duration::from_millis(50);
const MEASURED: Duration = Duration::from_millis(300);

fn load(pace: Pace) -> Load {
    Load {
        connections: 4,
        pace,
        batch: None,
        warm_up: WARM_UP,
        measured: MEASURED,
        interval: MEASURED / 3,
        late_answers: LATE_ANSWERS,
    }
}

fn target(address: SocketAddr) -> Target {
    Target {
        address,
        others: Vec::new(),
        path: "/".to_owned(),
        token: "t".to_owned(),
        answers: Answers::Whole,
    }
}

async fn on_bare_server(load: Load) -> Measured {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let target = target(listener.local_addr().unwrap());
    let server = tokio::spawn(bare::serve(listener));
    let measured = drive(&target, load, "test").await.unwrap();
    server.abort();
    measured
}

/// A server that gives these bytes, piece by piece, for whatever it reads; it goes with the test.
async fn on_answer(pieces: &'static [&'static [u8]], load: Load) -> Measured {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let target = target(listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            stream.set_nodelay(true).unwrap();
            std::thread::spawn(move || {
                let mut bytes = [0; 64 << 10];
                while stream.read(&mut bytes).is_ok_and(|count| count > 0) {
                    for piece in pieces {
                        if stream.write_all(piece).is_err() {
                            return;
                        }
                        std::thread::yield_now();
                    }
                }
            });
        }
    });
    drive(&target, load, "test").await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_closed_loop_counts_every_answer() {
    // On a busy machine a thread may not get to run before the warm-up is over.
    for attempt in 1.. {
        let measured = on_bare_server(load(Pace::Closed)).await;
        assert_eq!((measured.refused, measured.failed), (0, 0), "{measured:?}");
        assert_eq!(measured.offered, measured.accepted);
        assert_eq!(measured.latencies.len(), measured.accepted);
        if measured.throughput() > 0.0 && measured.accepted_ever > measured.accepted {
            return;
        }
        assert!(attempt < 50, "the warm-up is not measured: {measured:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_open_loop_offers_what_was_asked_for_and_not_more() {
    let measured = on_bare_server(load(Pace::steady(200.0, WARM_UP + MEASURED))).await;
    assert_eq!(measured.offered, 60, "200/s for 0.3 s");
    assert_eq!(measured.accepted + measured.failed, 60);
    assert_eq!(measured.failed, measured.unsent, "{:?}", measured.trouble);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_finds_no_connection_counts_as_failed() {
    // The server never answers: each connection takes one request, and the others stay where they are.
    let load = Load {
        warm_up: Duration::ZERO,
        measured: WARM_UP + MEASURED,
        late_answers: Duration::ZERO,
        ..load(Pace::steady(200.0, WARM_UP + MEASURED))
    };
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let measured = drive(&target(silent.local_addr().unwrap()), load, "test").await.unwrap();
    assert_eq!((measured.offered, measured.accepted, measured.unsent, measured.failed), (70, 0, 66, 70));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_in_pieces_is_one_answer() {
    let pieces: &[&[u8]] = &[b"HTTP/1.1 2", b"02 Accepted\r\ncontent-le", b"ngth: 4\r\n\r", b"\nab", b"cd"];
    let measured = on_answer(pieces, load(Pace::Closed)).await;
    assert!(measured.accepted > 0 && measured.failed == 0, "{:?}", measured.trouble);
}

#[tokio::test(flavor = "multi_thread")]
async fn refusals_are_counted_and_not_sent_again() {
    let pieces: &[&[u8]] = &[b"HTTP/1.1 429 Slow\r\nretry-after: 1\r\ncontent-length: 0\r\n\r\n"];
    let measured = on_answer(pieces, load(Pace::steady(100.0, WARM_UP + MEASURED))).await;
    assert_eq!((measured.offered, measured.accepted), (30, 0));
    assert_eq!(measured.refused + measured.unsent, 30);
    let refusals: u64 = measured.intervals.iter().map(|interval| interval.refusals.len()).sum();
    assert_eq!((measured.refused_without_time, refusals), (0, measured.refused));
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_that_cannot_be_read_are_failures_with_a_reason() {
    let pieces: &[&[u8]] = &[b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n"];
    let measured = on_answer(pieces, load(Pace::Closed)).await;
    assert!(measured.failed > 0 && measured.accepted == 0);
    assert!(measured.trouble.unwrap().contains("chunked"));
}

#[tokio::test(flavor = "multi_thread")]
async fn batches_count_their_requests() {
    let batches = |answers| {
        let load = Load { batch: Some(1000), ..load(Pace::Closed) };
        async move {
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
            let target = Target { answers, ..target(listener.local_addr().unwrap()) };
            let server = tokio::spawn(bare::serve(listener));
            let measured = drive(&target, load, "test").await.unwrap();
            server.abort();
            measured
        }
    };
    let whole = batches(Answers::Whole).await;
    assert!(whole.accepted >= 1000 && whole.accepted.is_multiple_of(1000), "{whole:?}");
    let by_line = batches(Answers::ByLine).await;
    assert_eq!((by_line.accepted, by_line.refused % 1000), (0, 0), "its answer has no lines");
}
