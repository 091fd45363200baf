//! The clients of a cluster: they submit requests to any instance that answers, until they are acknowledged; editors
//! write jobs; and at the end a person has everything that is parked tried again.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use engine::jobs::{JobCommand, partition_of};
use journal::Journal;
use kernel::job::{CollectionDraft, Draft, Expect, PutMode};
use kernel::{Command, Decision, Request, Run};
use regions::Role;
use types::{
    BodyHash, CollectionSpec, Gap, JobSpec, Key, Missed, Overlap, PartitionId, Recurrence, Repeat, Retry,
    Rule, RunId, RunStatus, Span, Timing, Uid, WorkflowName,
};

use super::play::SimulatedCluster;
use crate::observation::fingerprint;
use crate::rng;
use crate::workflows;

/// The one collection of a simulated cluster.
pub const COLLECTION: &str = "s/g/c";

/// How long a client waits for an answer.
const PATIENCE: Duration = Duration::from_secs(12);

/// The id of a client's request.
fn id(n: u32) -> RunId {
    RunId::new(&format!("r{n}")).expect("a letter and digits make an id")
}

/// Submits a request until it is acknowledged.
pub async fn request(cluster: Arc<SimulatedCluster>, n: u32, workflow: u8) {
    let id = id(n);
    let key = Key::new(&format!("k{}", n % 3)).expect("a letter and a digit make a key");
    let partition = PartitionId::of(&Key::new(id.as_str()).expect("an id makes a key"), cluster.partitions());
    let body = Bytes::from(format!(r#"{{"n":{n}}}"#));
    loop {
        let Some(instance) = cluster.somebody(id.as_str()) else {
            tokio::time::sleep(Duration::from_millis(500)).await;
            continue;
        };
        let request = Request {
            accepted_at: cluster.sim.wall(instance.life),
            id: id.clone(),
            workflow: WorkflowName::new(workflows::NAMES[usize::from(workflow)]).expect("a valid name"),
            version: 1,
            key: key.clone(),
            body: body.clone(),
            body_hash: BodyHash(u128::from(fingerprint(&body)).to_be_bytes()),
            trace: None,
        };
        let record = journal::codec::encode(&request);
        let answer =
            tokio::time::timeout(PATIENCE, instance.journal.inbox_append(partition, vec![record])).await;
        if let Ok(Ok(seq)) = answer {
            let now = cluster.sim.now();
            let mut world = cluster.sim.world();
            world.figures.acknowledged += 1;
            world.checker.acked.insert(id.clone(), fingerprint(&body));
            world.observe(now, &(n, seq));
            return world.say(now, || format!("{} acknowledged {id} as {seq} of {partition}", instance.life));
        }
        let ms = cluster.sim.world().draw(0, id.as_str()) % 1000;
        tokio::time::sleep(Duration::from_millis(100 + ms)).await;
    }
}

/// Writes a job, where its collection is held, until it is there.
pub async fn job(cluster: Arc<SimulatedCluster>, n: u8, every_s: u8, count: u32) {
    let partition = partition_of(COLLECTION, cluster.partitions());
    let uid = |salt: u64| Uid(u128::from(rng::hash(&(cluster.seed(), n, salt))).to_be_bytes());
    let collection = CollectionDraft {
        subscription: "s".to_owned(),
        group: "g".to_owned(),
        name: "c".to_owned(),
        uid: Uid(u128::from(rng::hash(&cluster.seed())).to_be_bytes()),
        spec: CollectionSpec {
            jobs_max: 100,
            period_min: Span::from_secs(1),
            authentication: true,
            enabled: true,
        },
        document: "{}".to_owned(),
    };
    let draft = Draft {
        name: format!("J{n}"),
        uid: uid(1),
        spec: spec(every_s, count),
        document: "{}".to_owned(),
        delay: Span::ZERO,
    };
    let commands = [
        JobCommand::PutCollection { draft: collection, expect: Expect::Nothing },
        JobCommand::PutJob {
            collection: COLLECTION.to_owned(),
            draft: Box::new(draft),
            expect: Expect::Nothing,
            manner: PutMode::Replace,
        },
    ];
    for command in commands {
        loop {
            if let Some(owner) = cluster.owner(partition) {
                let answer =
                    tokio::time::timeout(PATIENCE, owner.engine.job(partition, command.clone())).await;
                // A client that got no answer may find that it was done.
                if matches!(answer, Ok(Ok(_) | Err(engine::jobs::JobError::Rejected(_)))) {
                    break;
                }
            }
            tokio::time::sleep(Duration::from_millis(700)).await;
        }
    }
}

fn spec(every_s: u8, count: u32) -> JobSpec {
    let cron = format!("*/{every_s} * * * * *").parse().expect("a valid expression");
    JobSpec {
        timing: Timing {
            start: None,
            recurrence: Some(Recurrence { rule: Rule::Cron(cron), count: Some(count), end: None }),
            zone: None,
            gap: Gap::End,
            repeat: Repeat::First,
            jitter: Span::ZERO,
        },
        retry: Retry::Fixed { delay: Span::from_ms(400), attempts: 3 },
        alternative: None,
        missed: Missed::All,
        overlap: Overlap::Allow,
        enabled: true,
        authenticates: false,
    }
}

/// Tries everything again that is parked.
pub async fn retry_all(cluster: &SimulatedCluster) {
    for partition in (0..cluster.partitions()).map(PartitionId) {
        let Some(owner) = cluster.owner(partition) else { continue };
        let is_parked = |run: &&Run| run.status() == RunStatus::Parked;
        let look = move |state: &kernel::State| {
            state.runs().filter(is_parked).map(|run| run.request.id.clone()).collect::<Vec<_>>()
        };
        for id in owner.engine.query(partition, look).await.unwrap_or_default() {
            let command =
                Command::Decide { decision: Decision::Retry { step: None }, note: "again".to_owned() };
            // A run that is no longer parked needs no decision.
            let _ = owner.engine.command(partition, id, "person".to_owned(), command).await;
        }
    }
}

impl SimulatedCluster {
    /// Some instance that a client reaches: one of a region that takes itself for active.
    fn somebody(&self, who: &str) -> Option<Arc<super::instance::Instance>> {
        let mut world = self.sim.world();
        let draw = world.draw(0, who);
        let reachable: Vec<_> = self
            .instances()
            .into_iter()
            .filter(|one| {
                let region = &world.regions[one.region];
                region.state.role == Role::Active && !region.lost
            })
            .collect();
        reachable.get(draw as usize % reachable.len().max(1)).cloned()
    }
}
