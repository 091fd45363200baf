//! Queries the role of a region, and promotes it.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use bytes::Bytes;
use hyper::{Method, StatusCode};
use serde_json::{Value, json};

use crate::client::Client;
use crate::cluster::settle;
use crate::rig::TOKEN;

/// A planned switch waits until the other side has released its partitions, then for the mirrors.
const PROMOTION: Duration = Duration::from_secs(150);
/// A region that returns stores its tail, creates its mirrors again and fetches everything.
const LEVEL: Duration = Duration::from_secs(180);
const PAUSE: Duration = Duration::from_millis(250);

pub struct RegionClient {
    name: &'static str,
    addresses: Vec<SocketAddr>,
}

impl RegionClient {
    pub fn new(name: &'static str, addresses: Vec<SocketAddr>) -> RegionClient {
        RegionClient { name, addresses }
    }

    pub async fn status(&self) -> anyhow::Result<Value> {
        let asked = settle::asked(&self.addresses, async |client: &mut Client| {
            let answer = client.get("/v1/region").await?.success()?;
            Ok(serde_json::from_slice(&answer.body)?)
        });
        asked.await.with_context(|| format!("asking {} for its role", self.name))
    }

    /// Whether it is active, as a load balancer checks it.
    pub async fn active(&self) -> anyhow::Result<bool> {
        let asked = settle::asked(&self.addresses, async |client: &mut Client| {
            let answer = client.get("/v1/cluster").await?.success()?;
            let cluster: Value = serde_json::from_slice(&answer.body)?;
            cluster["active"].as_bool().context("a cluster says whether it is active")
        });
        asked.await.with_context(|| format!("asking {} whether it is active", self.name))
    }

    pub async fn epoch(&self) -> anyhow::Result<u64> {
        self.status().await?["here"]["epoch"].as_u64().context("a region has an epoch")
    }

    /// Waits until it is a standby, its mirrors have had everything, and lag only a little.
    pub async fn standing_by(&self) -> anyhow::Result<()> {
        let began = Instant::now();
        loop {
            let status = self.status().await?;
            // Under load the last messages are always in transit.
            let level = |mirror: &Value| mirror["lag"].as_u64().is_some_and(|lag| lag < 50);
            let mirrors = status["mirrors"].as_array().map_or(&[][..], Vec::as_slice);
            let here = &status["here"];
            // A pair that is unreachable may have anything: what was last known about it does not count.
            if here["role"] == "standby"
                && status["pair_reachable"] == true
                && here["level"] == true
                && !mirrors.is_empty()
                && mirrors.iter().all(level)
            {
                return Ok(());
            }
            ensure!(began.elapsed() < LEVEL, "{} does not stand by within {LEVEL:?}: {status}", self.name);
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Requests a promotion that must be refused; the refusal, or none if it was promoted.
    pub async fn refused(&self, force: bool) -> anyhow::Result<Option<String>> {
        let body = Bytes::from(json!({ "force": force }).to_string());
        let address = self.addresses.first().context("there is no address to ask")?;
        let mut client = Client::new(*address, Some(TOKEN)).within(PROMOTION);
        let answer = client.send(Method::POST, "/v1/region:promote", "application/json", body).await?;
        let refused = [StatusCode::CONFLICT, StatusCode::SERVICE_UNAVAILABLE].contains(&answer.status);
        Ok(refused.then(|| answer.text()))
    }

    /// Promotes it; a summary of the response.
    pub async fn promote(&self, force: bool) -> anyhow::Result<String> {
        let body = Bytes::from(json!({ "force": force }).to_string());
        let mut turns = self.addresses.iter().cycle();
        let began = Instant::now();
        let answer = loop {
            let address = turns.next().context("there is no address to ask")?;
            let mut client = Client::new(*address, Some(TOKEN)).within(PROMOTION);
            let sent =
                client.send(Method::POST, "/v1/region:promote", "application/json", body.clone()).await;
            match sent.and_then(|answer| answer.success()) {
                Ok(answer) => break answer,
                // The error itself says that a repeated request continues to wait.
                Err(error) if began.elapsed() < PROMOTION => println!("promoting {}: {error:#}", self.name),
                Err(error) => return Err(error).with_context(|| format!("promoting {}", self.name)),
            }
            tokio::time::sleep(PAUSE * 8).await;
        };
        let said: Value = serde_json::from_slice(&answer.body)?;
        Ok(format!(
            "epoch {}, active after {} ms, {} messages missing as far as is known",
            said["epoch"], said["took_ms"], said["lost_messages"]
        ))
    }
}
