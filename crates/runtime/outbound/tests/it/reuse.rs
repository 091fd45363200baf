//! The race between reusing a connection and its server closing it: no request twice, no false "not sent".

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use outbound::{Client, Fault, Settings};
use tokio::io::AsyncWriteExt;

use crate::support::{Server, draw, get, read_request, settings};

const WORKERS: u64 = 32;
const CALLS: u64 = 400;

type Seen = Arc<Mutex<HashMap<u64, u32>>>;

#[derive(Debug, Default)]
struct Tally {
    answered: u64,
    lost: u64,
    unsent: u64,
}

// guards: 18
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_reaches_the_server_at_most_once() {
    let seed = std::env::var("SEED").map_or(1, |seed| seed.parse().unwrap());
    println!("SEED={seed}");
    let seen = Seen::default();
    let server = fickle_server(seen.clone(), seed).await;
    let client = Client::new(Settings { connections_per_origin: 24, ..settings() });
    let workers: Vec<_> = (0..WORKERS)
        .map(|worker| {
            let (client, seen) = (client.clone(), seen.clone());
            let urls: Vec<_> = (0..CALLS)
                .map(|n| (worker * CALLS + n, server.url(&format!("/{}", worker * CALLS + n))))
                .collect();
            tokio::spawn(async move {
                let mut tally = Tally::default();
                for (id, url) in urls {
                    let result = client.send(get(url)).await;
                    let arrived = seen.lock().unwrap().get(&id).copied().unwrap_or(0);
                    match result {
                        Ok(answer) => {
                            assert_eq!(answer.body, id.to_string().as_bytes(), "the answer of another call");
                            assert_eq!(arrived, 1);
                            tally.answered += 1;
                        }
                        Err(Fault::Lost { .. }) => tally.lost += 1,
                        Err(Fault::Unsent { .. }) => {
                            assert_eq!(arrived, 0, "call {id} was said to be unsent");
                            tally.unsent += 1;
                        }
                        Err(fault) => panic!("{fault}"),
                    }
                }
                tally
            })
        })
        .collect();
    let mut total = Tally::default();
    for worker in workers {
        let tally = worker.await.unwrap();
        total.answered += tally.answered;
        total.lost += tally.lost;
        total.unsent += tally.unsent;
    }
    println!("{total:?}, {} connections", server.connections());
    let repeated: Vec<_> =
        seen.lock().unwrap().iter().filter(|(_, count)| **count > 1).map(|(id, _)| *id).collect();
    assert_eq!(repeated, Vec::<u64>::new(), "calls that arrived twice");
    assert!(total.answered > WORKERS * CALLS / 2, "{total:?}");
    assert!(server.connections() < (WORKERS * CALLS) as usize, "connections are reused");
}

/// Answers, and closes the connection without a word after about every eighth answer, or instead of it.
async fn fickle_server(seen: Seen, seed: u64) -> Server {
    Server::start(move |mut stream| {
        let seen = seen.clone();
        async move {
            while let Some(request) = read_request(&mut stream).await {
                let id: u64 = request.split([' ', '/']).nth(2).unwrap().parse().unwrap();
                *seen.lock().unwrap().entry(id).or_default() += 1;
                let mood = draw(id ^ seed << 32) % 64;
                if mood == 0 {
                    return;
                }
                let body = id.to_string();
                let answer = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len());
                if stream.write_all(answer.as_bytes()).await.is_err() {
                    return;
                }
                if mood < 4 {
                    stream.set_zero_linger().unwrap();
                }
                if mood < 8 {
                    return;
                }
            }
        }
    })
    .await
}
