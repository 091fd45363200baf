//! `sortie bench queue`: how fast messages are sent and received, beside RabbitMQ on the same machine.

mod client;
mod measure;

use std::time::Duration;

use anyhow::Context;
use clap::Args;
use serde::Serialize;
use test_brokers::RabbitMq;

use super::comparison::Side;
use super::figures::{Figures, Setting, thousands};
use super::options::DataDirectory;
use super::progress;
use super::subject::Subject;
use crate::client::Call;

use client::Broker;
use measure::Rates;

/// The queue that both brokers have.
const QUEUE: &str = "bench";

/// Measure messages: sent and confirmed, received and completed, and how long they take from one to the other
///
/// Every send is confirmed when it is durable, every message is completed by itself. RabbitMQ is measured with the
/// same load in the same run, on a quorum queue with publisher confirms, when it is installed.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  sortie bench queue\n  sortie bench queue --clients 16 --seconds 20 --json\n  sortie bench queue --alone"
)]
pub struct Queue {
    /// Senders, and then as many consumers
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=4096))]
    clients: u32,
    /// Send for this long, then receive for at most as long
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=3600))]
    seconds: u32,
    /// Messages per second while their way from sender to consumer is measured
    #[arg(long, value_name = "N", default_value_t = 500, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    rate: u32,
    /// Bytes of a message
    #[arg(long, value_name = "N", default_value_t = 300, value_parser = clap::value_parser!(u32).range(16..=200_000))]
    bytes: u32,
    /// Give each message an id, which Sortie remembers: at most a million in ten minutes
    #[arg(long)]
    ids: bool,
    /// Measure Sortie alone
    #[arg(long)]
    alone: bool,
    #[command(flatten)]
    place: DataDirectory,
}

/// How queues were measured, and what came out.
#[derive(Debug, Serialize)]
struct QueueSetting {
    clients: u32,
    seconds: u32,
    rate: u32,
    message_bytes: u32,
    /// Whether Sortie was given ids. RabbitMQ always is, and drops nothing.
    ids: bool,
    sortie: Rates,
    #[serde(skip_serializing_if = "Option::is_none")]
    rabbitmq: Option<Rates>,
}

impl Queue {
    pub async fn run(self, json: bool) -> anyhow::Result<()> {
        let subject = Subject::start(&self.place, "").await?;
        let sync = subject.sync()?;
        let made = Call::put(format!("/v1/queues/{QUEUE}"), "application/json", "{}");
        subject.client()?.send(made).await.context("making the queue")?;
        let token = subject.token.clone();
        let sortie = Broker::Sortie { address: subject.address, token, ids: self.ids };
        let sortie = self.measure("sortie", sortie, json).await?;
        drop(subject);
        let rabbitmq = if self.alone { None } else { Some(self.beside(json).await?) };
        let Queue { clients, seconds, rate, bytes, ids, .. } = self;
        let setting = QueueSetting { clients, seconds, rate, message_bytes: bytes, ids, sortie, rabbitmq };
        Figures::new(None, &sync, setting).show(json)
    }

    async fn beside(&self, json: bool) -> anyhow::Result<Rates> {
        let started = tokio::task::spawn_blocking(|| {
            let rabbit = RabbitMq::start()?;
            rabbit.make_quorum_queue(QUEUE)?;
            anyhow::Ok(rabbit)
        });
        let rabbit = started.await?.context("starting RabbitMQ; --alone leaves it out")?;
        self.measure("rabbitmq", Broker::rabbit(&rabbit.url()), json).await
    }

    async fn measure(&self, name: &'static str, broker: Broker, json: bool) -> anyhow::Result<Rates> {
        let load = measure::Load {
            clients: self.clients as usize,
            time: Duration::from_secs(self.seconds.into()),
            rate: self.rate,
            bytes: self.bytes as usize,
        };
        let measured = progress::during(name, 3 * load.time, json, measure::all(&broker, load)).await;
        measured.with_context(|| format!("measuring {name}"))
    }
}

impl Setting for QueueSetting {
    const BENCH: &'static str = "queue";

    fn describe(&self) -> String {
        let QueueSetting { clients, seconds, rate, message_bytes, ids, .. } = self;
        let ids = if *ids { "with" } else { "without" };
        format!(
            "Queue: {clients} clients, {message_bytes} bytes each, {ids} ids, {seconds} s; the way through at {rate} messages/s"
        )
    }

    fn further(&self) -> Vec<(&'static str, String)> {
        let mut lines = describe("sortie", &self.sortie);
        if let Some(rabbitmq) = &self.rabbitmq {
            lines.extend(describe("rabbitmq", rabbitmq));
            let ratio =
                |of: fn(&Rates) -> Side| of(&self.sortie).throughput / of(rabbitmq).throughput.max(1.0);
            let (send, receive) = (ratio(|rates| rates.send), ratio(|rates| rates.receive));
            lines.push(("ratio", format!("send {send:.2}, receive and complete {receive:.2} of RabbitMQ's")));
        }
        lines
    }
}

fn describe(name: &'static str, rates: &Rates) -> Vec<(&'static str, String)> {
    let line = |what: &str, side: &Side| {
        let Side { throughput, p50_ms, p99_ms, .. } = side;
        format!("{what:<22} {:>9}/s   p50 {p50_ms:>8.2} ms   p99 {p99_ms:>8.2} ms", thousands(*throughput))
    };
    vec![
        (name, line("send, confirmed", &rates.send)),
        ("", line("receive and complete", &rates.receive)),
        ("", line("from send to consumer", &rates.through)),
    ]
}
