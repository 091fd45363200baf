//! What every request goes through, and how often is up to the caller.

use std::hint::black_box;
use std::sync::Arc;

use anyhow::Context;
use bytes::Bytes;
use futures_util::future::join_all;
use http::HeaderMap;
use journal::{Journal, codec};
use journal_disk::disk::RealDisk;
use journal_disk::{DiskJournal, Settings};
use kernel::{Request, Run};
use types::{PartitionId, RunStatus, StepIndex, Work};
use view::{EndedRun, Ids, View};

use crate::delivery;
use crate::world::World;

type Path = fn(u32) -> anyhow::Result<()>;

/// All paths by name.
pub const ALL: [(&str, Path); 5] = [
    ("take a request in", take_in),
    ("make the calls of a run", call),
    ("decide and write a run", decide),
    ("write a group of 16", write_group),
    ("keep an ended run", keep),
];

/// The checks of ingest, its record, and its id.
fn take_in(rounds: u32) -> anyhow::Result<()> {
    let (definition, ids) = (delivery::definition(), Ids::new());
    for number in 0..rounds {
        black_box(definition.take(&delivery::body())?);
        let request = delivery::request(&definition, number);
        let partition = PartitionId::of(&request.key, 32);
        black_box(ids.reserve(&request.id, request.body_hash, partition));
        black_box(codec::encode(&request));
        ids.confirm(&request.id);
    }
    Ok(())
}

/// The requests of the five calls, and what their answers mean.
fn call(rounds: u32) -> anyhow::Result<()> {
    let definition = delivery::definition();
    let request = delivery::request(&definition, 1);
    let outputs = vec![None, None, None, Some(Bytes::from_static(b"\"drone-9\"")), None];
    let headers = HeaderMap::new();
    for _ in 0..rounds {
        let context = workflow::ExpressionContext {
            run: &request.id,
            key: &request.key,
            request: &request.body,
            outputs: &outputs,
            ending: None,
        };
        for step in 0..definition.step_names().len() {
            let work = Work::Do(StepIndex(u16::try_from(step)?));
            black_box(definition.render(work, &context)?);
            let answer = delivery::answer(&definition, work);
            black_box(definition.judge(work, &context, 200, &headers, &answer));
        }
    }
    Ok(())
}

/// A run from its request to its end, with its events as frames.
fn decide(rounds: u32) -> anyhow::Result<()> {
    let mut world = World::new(delivery::definition());
    for number in 0..rounds {
        black_box(world.run(number));
    }
    Ok(())
}

/// Sixteen requests that share one sync.
fn write_group(rounds: u32) -> anyhow::Result<()> {
    let directory = tempfile::tempdir().context("making a directory")?;
    let disk = Arc::new(RealDisk::open(directory.path()).context("opening it")?);
    let (journal, mut writer) = DiskJournal::open_manual(disk, &Settings::new(1))?;
    let definition = delivery::definition();
    let record = codec::encode(&delivery::request(&definition, 1));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
    runtime.block_on(async {
        for _ in 0..rounds {
            let appends =
                join_all((0..16).map(|_| journal.inbox_append(PartitionId(0), vec![record.clone()])));
            // First they all wait, then one turn of the writer carries them.
            let (appended, ()) = tokio::join!(biased; appends, async { writer.turn() });
            for answer in appended {
                answer.context("appending")?;
            }
        }
        Ok(())
    })
}

/// What is kept of a run, and that its id is known.
fn keep(rounds: u32) -> anyhow::Result<()> {
    let directory = tempfile::tempdir().context("making a directory")?;
    let view = View::open(directory.path(), view::Settings::default())?;
    view.open_partition(PartitionId(0))?;
    let definition = delivery::definition();
    let run = World::new(definition.clone()).run(0);
    for number in 0..rounds {
        let ended = ended(&run, delivery::request(&definition, number));
        view.put_ended(PartitionId(0), &ended)?;
        black_box(view.seen_in(PartitionId(0), &ended.id)?);
    }
    Ok(())
}

fn ended(run: &Run, request: Request) -> EndedRun {
    EndedRun {
        id: request.id,
        workflow: request.workflow,
        version: 1,
        key: request.key,
        status: RunStatus::Completed,
        accepted_at: request.accepted_at,
        ended_at: request.accepted_at,
        body_hash: request.body_hash,
        reason: None,
        detail: codec::encode(run),
    }
}
