//! The client against servers that behave and servers that do not.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderValue, Method};
use outbound::{Client, Egress, Fault, OutboundRequest, ServiceResponse, Settings, Stage, Url};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::{Semaphore, mpsc};

use crate::support::{Server, client, get, read_request, settings, write_until_closed};

/// Long enough for a loopback connection, short enough to wait for.
const SHORT: Duration = Duration::from_millis(200);

fn answer(result: Result<ServiceResponse, Fault>) -> (u16, String) {
    let answer = result.unwrap();
    (answer.status, String::from_utf8_lossy(&answer.body).into_owned())
}

async fn answer_to(raw: impl Into<Vec<u8>>) -> Result<ServiceResponse, Fault> {
    let server = Server::answering(raw).await;
    client().send(get(server.url("/"))).await
}

async fn answer_and_close(raw: impl Into<Vec<u8>>) -> Result<ServiceResponse, Fault> {
    let server = Server::closing_after(raw).await;
    client().send(get(server.url("/"))).await
}

#[tokio::test]
async fn a_request_goes_out_as_written_and_cannot_frame_itself() {
    let (tx, mut seen) = mpsc::unbounded_channel();
    let server = Server::start(move |mut stream| {
        let tx = tx.clone();
        async move {
            tx.send(read_request(&mut stream).await.unwrap()).unwrap();
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok").await.unwrap();
        }
    })
    .await;
    let mut request = OutboundRequest::new(Method::PUT, server.url("/a%2fb?c=d"));
    request.body = Some(Bytes::from_static(b"{}"));
    request.headers.insert("x-own", HeaderValue::from_static("1"));
    for framing in ["host", "content-length", "transfer-encoding", "connection", "expect", "te", "upgrade"] {
        request.headers.insert(framing, HeaderValue::from_static("evil"));
    }
    assert_eq!(answer(client().send(request).await), (200, "ok".to_owned()));
    let expected = format!(
        "PUT /a%2fb?c=d HTTP/1.1\r\nx-own: 1\r\nhost: {}\r\ncontent-length: 2\r\n\r\n{{}}",
        server.address
    );
    assert_eq!(seen.recv().await.unwrap(), expected);
}

#[tokio::test]
async fn a_post_without_a_body_says_so() {
    for (method, says) in
        [(Method::POST, true), (Method::PUT, true), (Method::GET, false), (Method::DELETE, false)]
    {
        let (tx, mut seen) = mpsc::unbounded_channel();
        let server = Server::start(move |mut stream| {
            let tx = tx.clone();
            async move {
                tx.send(read_request(&mut stream).await.unwrap()).unwrap();
                stream.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").await.unwrap();
            }
        })
        .await;
        client().send(OutboundRequest::new(method.clone(), server.url("/"))).await.unwrap();
        assert_eq!(seen.recv().await.unwrap().contains("content-length: 0"), says, "{method}");
    }
}

#[tokio::test]
async fn usual_answers_are_read_whole() {
    let table: [(&[u8], u16, &str); 8] = [
        (b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello", 200, "hello"),
        (b"HTTP/1.1 204 No Content\r\n\r\n", 204, ""),
        (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\nt: 1\r\n\r\n", 200, "abcde"),
        (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 201 Created\r\ncontent-length: 1\r\n\r\nx", 201, "x"),
        (b"HTTP/1.1 103 Early Hints\r\nlink: a\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\nx", 200, "x"),
        (b"HTTP/1.1 404 Not Found\r\ncontent-length: 2\r\n\r\nno", 404, "no"),
        (b"HTTP/1.1 299 \r\ncontent-length: 0\r\n\r\n", 299, ""),
        (b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 4\r\n\r\n\x1f\x20\x08z", 200, "\x1f\x20\x08z"),
    ];
    for (raw, status, body) in table {
        assert_eq!(
            answer(answer_to(raw).await),
            (status, body.to_owned()),
            "{}",
            String::from_utf8_lossy(raw)
        );
    }
}

#[tokio::test]
async fn an_answer_that_ends_with_its_connection_is_read_whole() {
    assert_eq!(answer(answer_and_close("HTTP/1.0 200 OK\r\n\r\nold").await), (200, "old".to_owned()));
    let raw = "HTTP/1.1 200 OK\r\nconnection: close\r\n\r\nthe end";
    assert_eq!(answer(answer_and_close(raw).await), (200, "the end".to_owned()));
}

#[tokio::test]
async fn a_head_request_has_no_body_whatever_its_length_says() {
    let server = Server::answering("HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n").await;
    let client = client();
    for _ in 0..3 {
        let answered = client.send(OutboundRequest::new(Method::HEAD, server.url("/"))).await;
        assert_eq!(answer(answered), (200, String::new()));
    }
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn a_redirect_is_an_answer_and_not_followed() {
    let raw = "HTTP/1.1 302 Found\r\nlocation: http://169.254.169.254/\r\ncontent-length: 0\r\n\r\n";
    assert_eq!(answer(answer_to(raw).await), (302, String::new()));
}

#[tokio::test]
async fn the_deadline_covers_headers_and_body() {
    let never = Server::start(|mut stream| async move {
        read_request(&mut stream).await;
        stream.read_u8().await.ok();
    });
    let slow_headers = Server::start(|mut stream| async move {
        read_request(&mut stream).await;
        stream.write_all(b"HTTP/1.1 200 OK\r\nx: ").await.unwrap();
        trickle(&mut stream).await;
    });
    let slow_body = Server::start(|mut stream| async move {
        read_request(&mut stream).await;
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 60000\r\n\r\n").await.unwrap();
        trickle(&mut stream).await;
    });
    let slow_chunks = Server::start(|mut stream| async move {
        read_request(&mut stream).await;
        stream.write_all(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5;").await.unwrap();
        trickle(&mut stream).await;
    });
    for server in [never.await, slow_headers.await, slow_body.await, slow_chunks.await] {
        let client = client();
        let request = OutboundRequest { deadline: SHORT, ..get(server.url("/")) };
        assert_eq!(client.send(request).await, Err(Fault::Timeout { sent: true }));
        assert_eq!(client.connections(), 0, "the connection is closed");
    }
}

async fn trickle(stream: &mut tokio::net::TcpStream) {
    let mut ticks = tokio::time::interval(Duration::from_millis(5));
    while stream.write_all(b"x").await.is_ok() {
        ticks.tick().await;
    }
}

#[tokio::test]
async fn a_call_that_found_no_free_connection_in_time_was_not_sent() {
    let server = Server::start(|mut stream| async move {
        read_request(&mut stream).await;
        stream.read_u8().await.ok();
    })
    .await;
    let client = Client::new(Settings { connections_per_origin: 1, ..settings() });
    let (hanging, waiting) = (client.clone(), client.clone());
    let hanging_request = get(server.url("/"));
    let hanging = tokio::spawn(async move { hanging.send(hanging_request).await });
    while server.connections() == 0 {
        tokio::task::yield_now().await;
    }
    let request = OutboundRequest { deadline: SHORT, ..get(server.url("/")) };
    assert_eq!(waiting.send(request).await, Err(Fault::Timeout { sent: false }));
    hanging.abort();
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn a_connection_that_breaks_after_sending_leaves_the_outcome_unknown() {
    for raw in [
        "",
        "HTTP/1.1 200 OK\r\ncontent-le",
        "HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nfour",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nab",
    ] {
        let result = answer_and_close(raw).await;
        assert!(matches!(result, Err(Fault::Lost { .. })), "{raw:?} {result:?}");
    }
    let reset = Server::start(|mut stream| async move {
        read_request(&mut stream).await;
        stream.set_zero_linger().unwrap();
    })
    .await;
    let result = client().send(get(reset.url("/"))).await;
    assert!(matches!(result, Err(Fault::Lost { .. })), "{result:?}");
}

#[tokio::test]
async fn nobody_listening_means_nothing_was_sent() {
    let server = Server::answering("").await;
    let url = server.url("/");
    let address = server.address;
    drop(server);
    // The port is free once the aborted task has let go of its listener.
    while let Ok(stream) = tokio::net::TcpStream::connect(address).await {
        drop(stream);
        tokio::task::yield_now().await;
    }
    let result = client().send(get(url)).await;
    assert!(matches!(result, Err(Fault::Connect { stage: Stage::Tcp, .. })), "{result:?}");
}

#[tokio::test]
async fn what_is_not_http_is_a_bad_answer() {
    for raw in [
        "hello\r\n\r\n",
        "SSH-2.0-OpenSSH_9.6\r\n\r\n",
        "HTTP/1.1 2x0 OK\r\n\r\n",
        "HTTP/3.7 200 OK\r\n\r\n",
        "HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\nhello!",
        "HTTP/1.1 200 OK\r\ncontent-length: -5\r\n\r\nhello",
        "\0\0\0\0\0\0\r\n\r\n",
    ] {
        let result = answer_to(raw).await;
        assert!(matches!(result, Err(Fault::BadAnswer { .. })), "{raw:?} {result:?}");
    }
}

#[tokio::test]
async fn a_body_is_read_up_to_its_limit() {
    let exact = format!("HTTP/1.1 200 OK\r\ncontent-length: 65536\r\n\r\n{}", "x".repeat(65_536));
    assert_eq!(answer(answer_to(exact).await).1.len(), 65_536);
    let over = format!("HTTP/1.1 200 OK\r\ncontent-length: 65537\r\n\r\n{}", "x".repeat(65_537));
    let Err(Fault::TooLarge { answer: Some(cut) }) = answer_to(over).await else { panic!() };
    assert_eq!((cut.status, cut.body.len()), (200, 65_536));
}

#[tokio::test]
async fn an_endless_body_is_cut_and_its_connection_closed() {
    let to_the_end = ("HTTP/1.1 200 OK\r\n\r\n", "hello");
    let chunked = ("HTTP/1.1 500 No\r\ntransfer-encoding: chunked\r\n\r\n", "5\r\nhello\r\n");
    for (head, piece) in [to_the_end, chunked] {
        let (tx, mut closed) = mpsc::unbounded_channel();
        let server = Server::start(move |mut stream| {
            let tx = tx.clone();
            async move {
                read_request(&mut stream).await;
                stream.write_all(head.as_bytes()).await.unwrap();
                write_until_closed(&mut stream, piece.as_bytes()).await;
                tx.send(()).unwrap();
            }
        })
        .await;
        let client = client();
        let request = OutboundRequest { answer_bytes_max: 999, ..get(server.url("/")) };
        let Err(Fault::TooLarge { answer: Some(cut) }) = client.send(request).await else { panic!("{head}") };
        assert_eq!(cut.body, "hello".repeat(200).as_bytes()[..999]);
        assert_eq!(client.connections(), 0);
        closed.recv().await.unwrap();
    }
}

#[tokio::test]
async fn endless_or_countless_headers_are_too_large() {
    let many = |count: usize| {
        let headers: String = (0..count).map(|n| format!("h{n}: v\r\n")).collect();
        format!("HTTP/1.1 200 OK\r\n{headers}content-length: 0\r\n\r\n")
    };
    assert_eq!(answer(answer_to(many(99)).await), (200, String::new()));
    let long = format!("HTTP/1.1 200 OK\r\nx: {}\r\n\r\n", "x".repeat(17_000));
    for raw in [many(100), many(100_000), long] {
        assert_eq!(answer_and_close(raw).await, Err(Fault::TooLarge { answer: None }));
    }
    let endless = Server::start(|mut stream| async move {
        read_request(&mut stream).await;
        stream.write_all(b"HTTP/1.1 200 OK\r\n").await.unwrap();
        write_until_closed(&mut stream, b"x-header: and another one\r\n").await;
    })
    .await;
    assert_eq!(client().send(get(endless.url("/"))).await, Err(Fault::TooLarge { answer: None }));
}

#[tokio::test]
async fn connections_are_reused_the_newest_first() {
    let server = Server::answering("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok").await;
    let client = client();
    for _ in 0..100 {
        answer(client.send(get(server.url("/"))).await);
    }
    assert_eq!((server.connections(), client.connections()), (1, 1));
    let calls: Vec<_> = (0..50)
        .map(|_| {
            tokio::spawn({
                let (client, request) = (client.clone(), get(server.url("/")));
                async move { client.send(request).await }
            })
        })
        .collect();
    for call in calls {
        answer(call.await.unwrap());
    }
    assert!(server.connections() <= 50, "{}", server.connections());
    assert_eq!(server.connections(), client.connections(), "all are kept");
}

#[tokio::test]
async fn bytes_that_nobody_asked_for_end_a_connection() {
    let server =
        Server::answering("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nokHTTP/1.1 200 OK\r\n\r\n").await;
    let client = client();
    for _ in 0..5 {
        assert_eq!(answer(client.send(get(server.url("/"))).await), (200, "ok".to_owned()));
    }
    assert_eq!(server.connections(), 5, "an answer is never taken for that of another call");
}

#[tokio::test]
async fn idle_connections_are_closed_in_time() {
    let (tx, mut closed) = mpsc::unbounded_channel();
    let server = Server::start(move |mut stream| {
        let tx = tx.clone();
        async move {
            read_request(&mut stream).await;
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok").await.unwrap();
            tx.send(stream.read_u8().await.is_err()).unwrap();
        }
    })
    .await;
    let client = Client::new(Settings { idle_timeout: Duration::from_millis(50), ..settings() });
    answer(client.send(get(server.url("/"))).await);
    assert!(closed.recv().await.unwrap());
    drop(client);
}

#[tokio::test]
async fn a_call_that_is_dropped_closes_its_connection() {
    let (tx, mut events) = mpsc::unbounded_channel();
    let server = Server::start(move |mut stream| {
        let tx = tx.clone();
        async move {
            read_request(&mut stream).await;
            tx.send("request").unwrap();
            stream.read_u8().await.ok();
            tx.send("closed").unwrap();
        }
    })
    .await;
    let client = client();
    let call = tokio::spawn({
        let (client, request) = (client.clone(), get(server.url("/")));
        async move { client.send(request).await }
    });
    assert_eq!(events.recv().await, Some("request"));
    call.abort();
    assert_eq!(events.recv().await, Some("closed"));
    assert!(call.await.unwrap_err().is_cancelled());
    assert_eq!(client.connections(), 0);
}

#[tokio::test]
async fn connections_in_all_stay_below_their_bound() {
    let mut servers = Vec::new();
    for _ in 0..5 {
        servers.push(Server::answering("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok").await);
    }
    let client = Client::new(Settings { connections_total: 3, ..settings() });
    for round in 0..20 {
        let calls: Vec<_> = servers
            .iter()
            .map(|server| {
                let (client, request) = (client.clone(), get(server.url("/")));
                tokio::spawn(async move { client.send(request).await })
            })
            .collect();
        for call in calls {
            answer(call.await.unwrap());
            assert!(client.connections() <= 3, "round {round}: {}", client.connections());
        }
    }
}

#[tokio::test]
async fn calls_beyond_the_bound_of_an_origin_wait_their_turn() {
    let current = Arc::new(AtomicUsize::new(0));
    let most = Arc::new(AtomicUsize::new(0));
    let gate = Arc::new(Semaphore::new(0));
    let (counters, opened) = ((current.clone(), most.clone()), gate.clone());
    let server = Server::start(move |mut stream| {
        let ((current, most), gate) = (counters.clone(), opened.clone());
        async move {
            while read_request(&mut stream).await.is_some() {
                most.fetch_max(current.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                gate.acquire().await.unwrap().forget();
                current.fetch_sub(1, Ordering::SeqCst);
                stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok").await.unwrap();
            }
        }
    })
    .await;
    let client = Client::new(Settings { connections_per_origin: 4, ..settings() });
    let calls: Vec<_> = (0..40)
        .map(|_| {
            let (client, request) = (client.clone(), get(server.url("/")));
            tokio::spawn(async move { client.send(request).await })
        })
        .collect();
    while current.load(Ordering::SeqCst) < 4 {
        tokio::task::yield_now().await;
    }
    gate.add_permits(40);
    for call in calls {
        answer(call.await.unwrap());
    }
    assert_eq!(most.load(Ordering::SeqCst), 4);
}

#[tokio::test]
async fn addresses_are_tried_in_order_and_at_most_sixteen() {
    let server = Server::answering("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok").await;
    let dead = |count: u8| (0..count).map(|n| format!("127.0.1.{}", n + 1).parse().unwrap());
    let live = "127.0.0.1".parse().unwrap();
    let hosts = [
        ("fifteen.test".to_owned(), dead(15).chain([live]).chain(dead(200)).collect()),
        ("sixteen.test".to_owned(), dead(16).chain([live]).collect()),
        ("none.test".to_owned(), Vec::new()),
    ];
    let client = Client::new(Settings { hosts: hosts.into(), ..settings() });
    let url = |host: &str| Url::parse(&format!("http://{host}:{}/", server.address.port())).unwrap();
    assert_eq!(answer(client.send(get(url("fifteen.test"))).await), (200, "ok".to_owned()));
    for host in ["sixteen.test", "none.test"] {
        let result = client.send(get(url(host))).await;
        assert!(matches!(result, Err(Fault::Connect { stage: Stage::Tcp, .. })), "{host} {result:?}");
    }
    assert_eq!(answer(client.send(get(url("localhost"))).await), (200, "ok".to_owned()));
}

#[tokio::test]
async fn an_address_that_is_denied_sees_no_packet() {
    let server = Server::answering("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok").await;
    let port = server.address.port();
    let mixed = vec!["127.0.0.1".parse().unwrap(), "10.0.0.1".parse().unwrap()];
    let mapped = vec!["::ffff:127.0.0.1".parse().unwrap()];
    let hosts = [("mixed.test".to_owned(), mixed), ("mapped.test".to_owned(), mapped)];
    let refused = |result: Result<ServiceResponse, Fault>| matches!(result, Err(Fault::Refused { .. }));

    let strict = Client::new(Settings { hosts: hosts.clone().into(), ..Settings::default() });
    for host in ["127.0.0.1", "localhost", "mixed.test", "mapped.test", "[::ffff:127.0.0.1]", "[::1]"] {
        let url = Url::parse(&format!("http://{host}:{port}/")).unwrap();
        assert!(refused(strict.send(get(url)).await), "{host}");
    }
    let loopback = Client::new(Settings { hosts: hosts.into(), ..settings() });
    let url = |host: &str| Url::parse(&format!("http://{host}:{port}/")).unwrap();
    assert!(refused(loopback.send(get(url("mixed.test"))).await), "one denied address denies the name");
    assert_eq!(server.connections(), 0);
    assert_eq!(answer(loopback.send(get(url("mapped.test"))).await), (200, "ok".to_owned()));

    let networks = vec!["127.0.0.1/32".parse().unwrap()];
    let listed =
        Client::new(Settings { egress: Egress { networks, ..Egress::default() }, ..Settings::default() });
    assert_eq!(answer(listed.send(get(server.url("/"))).await), (200, "ok".to_owned()));
}
