//! Starts a run of the drone delivery that `sortie dev` has ready, waits for it, and tells its queue of it.
//!
//! `cargo run -p client --example first_run`, beside a `sortie dev`; `SORTIE_URL` names another server.

use std::time::Duration;

use client::{RunQuery, RunStatus, Sortie};
use serde_json::json;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let url = std::env::var("SORTIE_URL").unwrap_or_else(|_| "http://127.0.0.1:7070".to_owned());
    deliver(&url).await
}

pub async fn deliver(url: &str) -> anyhow::Result<()> {
    let sortie = Sortie::connect(url)?;

    // The id makes it safe to hand it in twice: the second time shows the run that there is.
    let request = json!({
        "deliveryId": "delivery-rust", "ownerId": "ann",
        "pickupLocation": "0,37.4316,-78.6569", "dropOffLocation": "0,37.5407,-77.4360",
        "pickupTime": "2030-05-08T20:00:00.000Z", "deadline": "", "expedited": true,
        "confirmationRequired": "None",
        "packageInfo": { "packageId": "p-1", "size": "Small", "weight": 10, "tag": "fragile" },
    });
    let run = sortie.start("drone-delivery", &request).id("delivery-rust").send().await?;
    let ended = sortie.wait(&run.id, Duration::from_secs(60)).await?;
    println!("{} is {}", run.id, ended.summary.status);

    let completed = RunQuery { status: Some(RunStatus::Completed), ..RunQuery::default() };
    let mut runs = sortie.runs(&completed);
    while let Some(run) = runs.next().await? {
        println!("completed: {} at {:?}", run.id, run.ended_at);
    }

    // What the server refuses has a code that never changes.
    match sortie.start("drone-delivry", &request).send().await {
        Err(error) if error.code() == Some("unknown_workflow") => println!("refused: {error}"),
        other => anyhow::bail!("a workflow that nobody applied: {other:?}"),
    }

    sortie.put_queue("delivered-rust", &json!({ "lock": "30s" })).await?;
    sortie.message("delivered-rust", "delivery-rust").id("delivery-rust").label("done").send().await?;
    for message in sortie.receive("delivered-rust").wait(Duration::from_secs(30)).send().await? {
        println!("message {}: {}", message.broker.message_id, String::from_utf8_lossy(&message.body));
        message.complete().await?;
    }
    Ok(())
}
