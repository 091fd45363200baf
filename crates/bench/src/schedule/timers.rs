//! The bare loop: timers in memory that make the same calls, without writing anything down.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use anyhow::Context;
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::Request;
use hyper::header::HOST;
use tokio::task::JoinSet;

use super::super::calls;
use super::target::{Plan, now_micros};

/// Makes every call of a plan at its time, over so many connections.
pub async fn drive(addresses: &[SocketAddr], plan: Plan, connections: u32) -> anyhow::Result<()> {
    let next = Arc::new(AtomicU32::new(0));
    let mut workers = JoinSet::new();
    for address in addresses.iter().cycle().take(connections as usize) {
        workers.spawn(work(calls::open(*address).await?, plan, next.clone()));
    }
    while let Some(ended) = workers.join_next().await {
        ended.context("running the bare loop")??;
    }
    Ok(())
}

async fn work(
    mut sender: hyper::client::conn::http1::SendRequest<Full<Bytes>>,
    plan: Plan,
    next: Arc<AtomicU32>,
) -> anyhow::Result<()> {
    loop {
        let call = next.fetch_add(1, Ordering::Relaxed);
        if call >= plan.calls {
            return Ok(());
        }
        let wait_micros = plan.due_ms(call) * 1000 - now_micros();
        if let Ok(wait_micros) = u64::try_from(wait_micros) {
            tokio::time::sleep(Duration::from_micros(wait_micros)).await;
        }
        let request = Request::post(format!("/{call}")).header(HOST, "127.0.0.1");
        let request = request.body(Full::new(Bytes::from_static(super::BODY.as_bytes())))?;
        sender.ready().await?;
        sender.send_request(request).await?.into_body().collect().await?;
    }
}
