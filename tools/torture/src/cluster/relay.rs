//! Brings calls from members in namespaces of their own to services that listen on the loopback of this machine.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use anyhow::Context;
use drone_delivery::Addresses;
use tokio::net::{TcpListener, TcpStream};

/// Where the services are reached from an address of this program; they relay as long as it lives.
pub async fn relayed(services: &Addresses, own: Ipv4Addr) -> anyhow::Result<Addresses> {
    if own.is_loopback() {
        return Ok(services.clone());
    }
    let mut relayed = Addresses::new();
    for (service, address) in services {
        let listener = TcpListener::bind((own, 0)).await.context("relaying calls")?;
        let port = listener.local_addr().context("relaying calls")?.port();
        tokio::spawn(relay(listener, *address));
        relayed.insert(*service, SocketAddr::new(IpAddr::V4(own), port));
    }
    Ok(relayed)
}

async fn relay(listener: TcpListener, to: SocketAddr) {
    while let Ok((mut caller, _)) = listener.accept().await {
        tokio::spawn(async move {
            // Either side may break: the other one sees its connection end.
            if let Ok(mut service) = TcpStream::connect(to).await {
                let _ = tokio::io::copy_bidirectional(&mut caller, &mut service).await;
            }
        });
    }
}
