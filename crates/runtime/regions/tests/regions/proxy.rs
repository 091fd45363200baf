//! A wire that can be cut or made long: what connects to it is connected on to somewhere else.

use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep_until};

pub struct Proxy {
    pub port: u16,
    whole: Arc<watch::Sender<bool>>,
    delay: Arc<watch::Sender<Duration>>,
}

impl Proxy {
    /// Listens on a free port and leads to this one.
    pub async fn start(target: u16) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (whole, delay) = (Arc::new(watch::Sender::new(true)), Arc::new(watch::Sender::default()));
        let (state, late) = (whole.clone(), delay.clone());
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let mut cut = state.subscribe();
                if !*cut.borrow() {
                    continue;
                }
                let late = late.subscribe();
                tokio::spawn(async move {
                    let Ok(server) = TcpStream::connect(("127.0.0.1", target)).await else { return };
                    let ((asks, hears), (takes, answers)) = (client.into_split(), server.into_split());
                    tokio::select! {
                        _ = carry(asks, answers, late.clone()) => {}
                        _ = carry(takes, hears, late) => {}
                        _ = cut.wait_for(|whole| !whole) => {}
                    }
                });
            }
        });
        Proxy { port, whole, delay }
    }

    pub fn cut(&self) {
        self.whole.send_replace(false);
    }

    pub fn restore(&self) {
        self.whole.send_replace(true);
    }

    /// Everything takes so long from now on, in each direction.
    pub fn delay(&self, delay: Duration) {
        self.delay.send_replace(delay);
    }
}

/// Carries bytes one way, each as late as it is said when it comes.
async fn carry(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, delay: watch::Receiver<Duration>) {
    // Unbounded: a test sends little, and a bound would make the wire slow in place of long.
    let (tx, mut rx) = mpsc::unbounded_channel();
    let read = async move {
        let mut bytes = vec![0; 64 * 1024];
        while let Ok(count @ 1..) = from.read(&mut bytes).await {
            let due = Instant::now() + *delay.borrow();
            if tx.send((due, bytes[..count].to_vec())).is_err() {
                return;
            }
        }
    };
    let write = async move {
        while let Some((due, bytes)) = rx.recv().await {
            sleep_until(due).await;
            if to.write_all(&bytes).await.is_err() {
                return;
            }
        }
    };
    tokio::join!(read, write);
}
