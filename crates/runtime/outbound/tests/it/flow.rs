//! Many calls through one service's limit: never too many at once, and nothing left behind.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use outbound::{
    AttemptKind, BreakerState, CallVerdict, Client, Counts, Override, ServicePool, ServiceSettings, Settings,
    sort,
};
use types::Timestamp;

use crate::support::{Server, draw, get, settings};

const CALLS: usize = 1000;
const LIMIT: usize = 64;

#[derive(Default)]
struct Gauge {
    current: AtomicUsize,
    most: AtomicUsize,
    arrived: AtomicUsize,
}

async fn gauged_server(gauge: Arc<Gauge>) -> Server {
    Server::start(move |stream| {
        let gauge = gauge.clone();
        async move {
            let service = service_fn(move |_: http::Request<Incoming>| {
                let gauge = gauge.clone();
                async move {
                    gauge.arrived.fetch_add(1, Ordering::SeqCst);
                    let _inside = Inside::enter(&gauge);
                    for _ in 0..100 {
                        tokio::task::yield_now().await;
                    }
                    Ok::<_, std::convert::Infallible>(http::Response::new(Full::new(Bytes::from_static(
                        b"ok",
                    ))))
                }
            });
            // A client that goes away ends the connection with an error.
            let _ = hyper::server::conn::http1::Builder::new()
                .serve_connection(TokioIo::new(stream), service)
                .await;
        }
    })
    .await
}

/// Counts a request while it is handled, also when its client goes away.
struct Inside<'a>(&'a Gauge);

impl Inside<'_> {
    fn enter(gauge: &Gauge) -> Inside<'_> {
        gauge.most.fetch_max(gauge.current.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        Inside(gauge)
    }
}

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        self.0.current.fetch_sub(1, Ordering::SeqCst);
    }
}

fn pool(concurrency_max: usize) -> ServicePool {
    ServicePool::new(ServiceSettings { concurrency_max: concurrency_max as u32 })
}

fn start_calls(pool: &ServicePool, client: &Client, server: &Server) -> Vec<tokio::task::JoinHandle<()>> {
    let start = |_| {
        let (pool, client, request) = (pool.clone(), client.clone(), get(server.url("/")));
        tokio::spawn(async move {
            let permit = pool.acquire("drone", AttemptKind::First).await;
            let result = client.send(request).await;
            permit.finish(CallVerdict::of(&result, &sort(&result, Timestamp(0))));
            assert_eq!(result.unwrap().status, 200);
        })
    };
    (0..CALLS).map(start).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn in_flight_never_passes_the_limit() {
    let gauge = Arc::<Gauge>::default();
    let server = gauged_server(gauge.clone()).await;
    let pool = pool(LIMIT);
    for call in start_calls(&pool, &Client::new(settings()), &server) {
        call.await.unwrap();
    }
    let most = gauge.most.load(Ordering::SeqCst);
    assert!((17..=LIMIT).contains(&most), "the limit grows and is kept: {most}");
    let snapshot = pool.snapshot("drone").unwrap();
    assert_eq!((snapshot.in_flight, snapshot.waiting), (0, 0));
    assert_eq!(snapshot.counts, Counts { done: CALLS as u64, ..Counts::default() });
    assert!(snapshot.latency_p50.unwrap() <= snapshot.latency_p99.unwrap());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_that_are_dropped_leave_no_trace() {
    for seed in 0..10 {
        println!("SEED={seed}");
        let gauge = Arc::<Gauge>::default();
        let server = gauged_server(gauge.clone()).await;
        let pool = pool(LIMIT);
        let client = Client::new(Settings { connections_per_origin: LIMIT, ..settings() });
        let mut kept = Vec::new();
        let mut dropped = Vec::new();
        for (n, call) in start_calls(&pool, &client, &server).into_iter().enumerate() {
            if draw(seed << 32 | n as u64).is_multiple_of(2) { dropped.push(call) } else { kept.push(call) }
        }
        // Some are dropped while they wait, some while they are in flight, some after their end.
        while gauge.arrived.load(Ordering::SeqCst) < CALLS / 10 {
            tokio::task::yield_now().await;
        }
        dropped.iter().for_each(|call| call.abort());
        for call in kept {
            call.await.unwrap();
        }
        for call in dropped {
            let _ = call.await;
        }
        let snapshot = pool.snapshot("drone").unwrap();
        assert_eq!((snapshot.in_flight, snapshot.waiting), (0, 0), "{snapshot:?}");
        let most = gauge.most.load(Ordering::SeqCst);
        let counts = snapshot.counts;
        assert!(counts.done + counts.abandoned <= CALLS as u64, "{counts:?}");
        // A dropped call frees its permit before its server has noticed, hence not `most <= LIMIT`.
        assert!(most <= LIMIT + counts.abandoned as usize, "{most} {counts:?}");
    }
}

// guards: 17
#[tokio::test(start_paused = true)]
async fn an_open_breaker_pauses_calls_and_lets_them_go_after_one_probe() {
    let pool = pool(LIMIT);
    for _ in 0..20 {
        pool.acquire("drone", AttemptKind::First).await.finish(CallVerdict::Failed);
    }
    assert!(matches!(pool.snapshot("drone").unwrap().breaker, BreakerState::Open { .. }));
    let begun = Arc::new(AtomicUsize::new(0));
    let calls: Vec<_> = (0..10)
        .map(|_| {
            let (pool, begun) = (pool.clone(), begun.clone());
            tokio::spawn(async move {
                let permit = pool.acquire("drone", AttemptKind::First).await;
                let order = begun.fetch_add(1, Ordering::SeqCst);
                tokio::task::yield_now().await;
                let alone = begun.load(Ordering::SeqCst) == 1;
                permit.finish(CallVerdict::Done);
                (order, alone)
            })
        })
        .collect();
    let mut ends = Vec::new();
    for call in calls {
        ends.push(call.await.unwrap());
    }
    assert_eq!(ends[0], (0, true), "the first is the probe, and alone");
    assert_eq!(ends.iter().map(|(order, _)| *order).collect::<Vec<_>>(), (0..10).collect::<Vec<_>>());
    assert_eq!(pool.snapshot("drone").unwrap().breaker, BreakerState::Closed);
}

#[tokio::test(start_paused = true)]
async fn a_probe_that_is_dropped_passes_its_turn_to_the_next_waiting() {
    let pool = pool(LIMIT);
    for _ in 0..20 {
        pool.acquire("drone", AttemptKind::First).await.finish(CallVerdict::Failed);
    }
    let probe = pool.acquire("drone", AttemptKind::First).await;
    let next = tokio::spawn({
        let pool = pool.clone();
        async move { pool.acquire("drone", AttemptKind::First).await.finish(CallVerdict::Done) }
    });
    while pool.snapshot("drone").unwrap().waiting == 0 {
        tokio::task::yield_now().await;
    }
    drop(probe);
    next.await.unwrap();
    assert_eq!(pool.snapshot("drone").unwrap().breaker, BreakerState::Closed);
}

#[tokio::test(start_paused = true)]
async fn retries_beyond_the_budget_wait_and_none_fails() {
    let pool = pool(LIMIT);
    let start = tokio::time::Instant::now();
    for n in 0..50 {
        pool.acquire("drone", AttemptKind::Retry).await.finish(CallVerdict::Lost);
        if n % 2 == 0 {
            // Enough good ones that the breaker stays closed.
            pool.acquire("drone", AttemptKind::First).await.finish(CallVerdict::Done);
            pool.acquire("drone", AttemptKind::First).await.finish(CallVerdict::Done);
            pool.acquire("drone", AttemptKind::First).await.finish(CallVerdict::Done);
        }
    }
    // 50 retries; 10 were there, 75 first attempts earn 15, and the floor gives the other 25 in 2.5 s of paused time.
    let waited_ms = start.elapsed().as_millis();
    assert!((2_300..=2_700).contains(&waited_ms), "{waited_ms}");
}

// guards: 52
#[tokio::test(start_paused = true)]
async fn a_service_held_open_waits_for_a_person() {
    let pool = pool(LIMIT);
    pool.set_override("drone", Override::Open);
    let call = tokio::spawn({
        let pool = pool.clone();
        async move { pool.acquire("drone", AttemptKind::First).await.finish(CallVerdict::Done) }
    });
    tokio::time::advance(std::time::Duration::from_secs(3600)).await;
    assert_eq!(pool.snapshot("drone").unwrap().waiting, 1);
    pool.set_override("drone", Override::Automatic);
    call.await.unwrap();
    assert_eq!(pool.snapshot("account"), None);
    pool.forget("drone");
    assert!(pool.snapshots().is_empty());
}
