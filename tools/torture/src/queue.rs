//! SIGKILL while producers send and consumers compete, restart, and a comparison of confirmed and received messages.

mod message_log;

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use bytes::Bytes;
use clap::Args;
use hyper::{Method, StatusCode};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::client::Client;
use crate::dice::Dice;
use crate::process::Sortie;
use crate::queue::message_log::MessageLog;
use crate::report::{Closing, RoundResult};
use crate::rig::{Rig, TOKEN};

const WORK: &str = "work";
const POISON: &str = "poison";
/// How often the poison is delivered before it must be dead-lettered.
const DELIVERIES_MAX: u64 = 5;
/// Short, so that messages of killed consumers are soon delivered to another.
const LOCK: Duration = Duration::from_secs(1);
/// How long the queue may take to run empty after the last kill.
const PATIENCE: Duration = Duration::from_secs(120);
const BATCH: &str = "application/vnd.microsoft.servicebus.json";

/// Kill the server while messages are sent and received, start it again, and look for lost and revived ones
#[derive(Args)]
pub struct Queue {
    /// How often to kill
    #[arg(long, default_value_t = 100)]
    n: u32,
    /// Producers, and as many consumers
    #[arg(long, default_value_t = 8)]
    clients: u64,
    #[command(flatten)]
    rig: Rig,
}

impl Queue {
    pub async fn run(self) -> anyhow::Result<RoundResult> {
        ensure!(self.n > 0 && self.clients > 0, "--n and --clients are at least 1");
        self.rig.within("queue", async |seed, directory| self.torture(seed, directory).await).await
    }

    async fn torture(&self, seed: u64, directory: &Path) -> anyhow::Result<RoundResult> {
        let mut closing = Closing::new("queue");
        let mut dice = Dice::new(seed);
        let sortie = Sortie::new(&self.rig.bin, directory, TOKEN, &mut dice)?;
        let mut running = sortie.start()?;
        running.ready().await?;
        let mut client = Client::new(sortie.address, Some(TOKEN));
        make_queue(&mut client, WORK, 1_000_000).await?;
        make_queue(&mut client, POISON, DELIVERIES_MAX).await?;
        send(&mut client, POISON, "poison").await?;

        let log = Arc::new(MessageLog::default());
        let (stop, stopped) = watch::channel(false);
        let mut clients = JoinSet::new();
        for n in 0..self.clients {
            let client = || Client::new(sortie.address, Some(TOKEN));
            clients.spawn(produce(client(), log.clone(), n, stopped.clone()));
            clients.spawn(consume(client(), log.clone(), Dice::new(dice.draw()), stopped.clone()));
        }
        clients.spawn(abandon(Client::new(sortie.address, Some(TOKEN)), stopped.clone()));
        for _ in 0..self.n {
            tokio::time::sleep(dice.milliseconds(20, 400)).await;
            running.kill()?;
            running = sortie.start()?;
            running.ready().await?;
        }
        stop.send(true).context("stopping the clients")?;
        while let Some(ended) = clients.join_next().await {
            ended.context("a client panicked")?;
        }
        let left = run_empty(&mut client, &log).await?;
        let poison = counts(&mut client, POISON).await?;
        closing.count(self.n, "kills");
        log.judge(left, &mut closing);
        if (poison["ready"].as_u64(), poison["dead"].as_u64()) != (Some(0), Some(1)) {
            closing.add_finding(format!(
                "the poison is not a dead letter after {DELIVERIES_MAX} deliveries: {poison}"
            ));
        }
        Ok(closing.print(seed))
    }
}

async fn make_queue(client: &mut Client, name: &str, deliveries_max: u64) -> anyhow::Result<()> {
    let deliveries_max = deliveries_max.min(2000);
    let spec = json!({ "lock": format!("{}s", LOCK.as_secs()), "deliveries_max": deliveries_max });
    let path = format!("/v1/queues/{name}");
    let made = client.send(Method::PUT, &path, "application/json", spec.to_string().into()).await?;
    made.success().with_context(|| format!("making queue {name}")).map(drop)
}

/// An error means that the outcome is unknown.
async fn send(client: &mut Client, queue: &str, id: &str) -> anyhow::Result<()> {
    let batch = json!([{ "Body": id, "BrokerProperties": { "MessageId": id } }]);
    let sent =
        client.send(Method::POST, &format!("/{queue}/messages"), BATCH, batch.to_string().into()).await?;
    sent.success().map(drop)
}

/// Sends one message after another, each until it is confirmed.
async fn produce(mut client: Client, log: Arc<MessageLog>, nth: u64, stopped: watch::Receiver<bool>) {
    let mut number = 0;
    while !*stopped.borrow() {
        let id = format!("m-{nth}-{number}");
        number += 1;
        while send(&mut client, WORK, &id).await.is_err() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        log.confirm(&id);
    }
}

/// Receives and completes; now and then it stops in the middle of its work, or abandons a message.
async fn consume(mut client: Client, log: Arc<MessageLog>, mut dice: Dice, stopped: watch::Receiver<bool>) {
    while !*stopped.borrow() {
        if receive_one(&mut client, &log, &mut dice).await.is_err() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

/// False when there was nothing.
async fn receive_one(client: &mut Client, log: &MessageLog, dice: &mut Dice) -> anyhow::Result<bool> {
    let path = format!("/{WORK}/messages/head?timeout=1");
    let answer = client.send(Method::POST, &path, "", Bytes::new()).await?.success()?;
    if answer.status == StatusCode::NO_CONTENT {
        return Ok(false);
    }
    let (id, lock) = (answer.text(), answer.location.context("a message has a lock")?);
    log.receive(&id);
    match dice.range(0, 20) {
        0 => return Ok(true),
        1 => drop(client.send(Method::PUT, &lock, "", Bytes::new()).await?),
        _ => {
            log.completing(&id);
            let completed = client.send(Method::DELETE, &lock, "", Bytes::new()).await?;
            if completed.status.is_success() {
                log.complete(&id);
            }
        }
    }
    Ok(true)
}

/// A consumer that can never handle what it gets.
async fn abandon(mut client: Client, stopped: watch::Receiver<bool>) {
    while !*stopped.borrow() {
        let path = format!("/{POISON}/messages/head?timeout=1");
        let answer = client.send(Method::POST, &path, "", Bytes::new()).await;
        if let Some(lock) = answer.ok().and_then(|answer| answer.location) {
            // When this is lost, the lock expires.
            let _ = client.send(Method::PUT, &lock, "", Bytes::new()).await;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Completes everything that is left; returns what remains after the timeout.
async fn run_empty(client: &mut Client, log: &MessageLog) -> anyhow::Result<u64> {
    let began = Instant::now();
    let mut steady = Dice::new(0);
    loop {
        receive_one(client, log, &mut steady).await?;
        let there = counts(client, WORK).await?;
        let of = |name: &str| there[name].as_u64().unwrap_or(u64::MAX);
        let left = of("ready") + of("locked") + of("scheduled") + of("dead");
        if left == 0 || began.elapsed() > PATIENCE {
            return Ok(left);
        }
    }
}

async fn counts(client: &mut Client, queue: &str) -> anyhow::Result<Value> {
    let shown = client.get(&format!("/v1/queues/{queue}")).await?.success()?;
    let shown: Value = serde_json::from_slice(&shown.body)?;
    Ok(shown["counts"].clone())
}
