//! A wire that can be cut: what connects to it is connected on to somewhere else.

use std::sync::Arc;

use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

pub struct Proxy {
    pub port: u16,
    whole: Arc<watch::Sender<bool>>,
}

impl Proxy {
    /// Listens on a free port and leads to this one.
    pub async fn start(target: u16) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let whole = Arc::new(watch::Sender::new(true));
        let state = whole.clone();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let mut cut = state.subscribe();
                if !*cut.borrow() {
                    continue;
                }
                tokio::spawn(async move {
                    let mut client = client;
                    let Ok(mut server) = TcpStream::connect(("127.0.0.1", target)).await else { return };
                    tokio::select! {
                        _ = copy_bidirectional(&mut client, &mut server) => {}
                        _ = cut.wait_for(|whole| !whole) => {}
                    }
                });
            }
        });
        Proxy { port, whole }
    }

    pub fn cut(&self) {
        self.whole.send_replace(false);
    }

    pub fn mend(&self) {
        self.whole.send_replace(true);
    }
}
