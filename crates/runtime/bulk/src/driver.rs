//! Drives bulks on the owner of the control partition: page after page, at their pace, until they are through.

use std::collections::BTreeSet;
use std::time::Duration;

use api_types::{BulkState, Time};
use engine::{ExpectedVersion, KeepError};
use futures_util::future::join_all;
use futures_util::stream::{FuturesUnordered, StreamExt};
use tokio::sync::watch;
use tokio::time::Instant;

use crate::act::{Attempted, act};
use crate::api::RunApi;
use crate::handle::{BULK_DOCUMENTS, ID_DOCUMENTS};
use crate::limits::{BULK_PAGE_MAX, BULK_TRIES_MAX, BULK_WAIT_MAX};
use crate::select::{ListFailure, count_runs, find_runs};
use crate::{ActionOutcome, Bulk, Bulks, NextPage};

/// How often a bulk does something at most: what is due meanwhile is done together.
const BEATS_PER_SEC: u32 = 10;

/// How often a bulk that waits looks whether it is stopped.
const GLANCE: Duration = Duration::from_millis(500);

/// Drives every running bulk, whenever this instance owns the control partition, until the server stops.
pub async fn drive(bulks: Bulks, api: impl RunApi, mut stopping: watch::Receiver<bool>) {
    let mut owned = bulks.control.owned();
    let mut documents = bulks.control.documents().watch();
    let mut driven = BTreeSet::new();
    let mut drivers = FuturesUnordered::new();
    while !*stopping.borrow_and_update() {
        if owned.borrow_and_update().is_some() {
            documents.mark_unchanged();
            for (bulk, version) in bulks.running() {
                if driven.insert(bulk.view.id.clone()) {
                    let driver = Driver {
                        bulks: bulks.clone(),
                        api: api.clone(),
                        stopping: stopping.clone(),
                        version,
                    };
                    drivers.push(host::spawn("bulk", driver.run(bulk)));
                }
            }
        }
        tokio::select! {
            // What has ended makes room before more is begun.
            biased;
            Some(ended) = drivers.next() => {
                driven.remove(&ended.expect("a task that panics takes the process down"));
            }
            changed = owned.changed() => if changed.is_err() { break },
            changed = documents.changed() => if changed.is_err() { break },
            changed = stopping.changed() => if changed.is_err() { break },
        }
    }
    // Each sees by itself that the server stops, and keeps how far it has come.
    while drivers.next().await.is_some() {}
}

/// Drives one bulk.
struct Driver<A> {
    bulks: Bulks,
    api: A,
    stopping: watch::Receiver<bool>,
    /// The version of it that was kept last.
    version: u64,
}

/// Why a driver stops.
enum Over {
    /// Another instance owns the control partition, or the server stops: the next owner continues.
    Left,
    /// A person has stopped it, or it cannot go on.
    Stopped,
}

impl<A: RunApi> Driver<A> {
    /// Ends with the id of the bulk.
    async fn run(mut self, mut bulk: Bulk) -> String {
        let id = bulk.view.id.clone();
        tracing::info!(bulk = %id, action = bulk.view.action.as_str(), by = bulk.view.by, "bulk started or resumed");
        // However it ends, its progress is stored, unless the next owner has to find it out.
        let _ = self.go(&mut bulk).await;
        let kept = self.keep(&mut bulk).await;
        if matches!(kept, Err(Over::Left)) {
            self.pause_until(Instant::now() + GLANCE).await;
        } else if !bulk.is_running() {
            self.forget_ids(&bulk).await;
            let view = &bulk.view;
            let (done, skipped, failed) = (view.done, view.skipped.count, view.failed.count);
            tracing::info!(bulk = %id, done, skipped, failed, "bulk ended");
        }
        id
    }

    async fn go(&mut self, bulk: &mut Bulk) -> Result<(), Over> {
        // Of the page that was kept before, each run may have had its turn.
        self.work_off(bulk, true).await?;
        self.count(bulk).await;
        while bulk.next != NextPage::End {
            self.turn_page(bulk).await?;
            if bulk.page.is_empty() {
                continue;
            }
            // Stored before anything is done: the next owner knows which runs to look at.
            self.keep(bulk).await?;
            self.work_off(bulk, false).await?;
        }
        bulk.view.state = BulkState::Done;
        bulk.view.ended_at = Some(Time(self.bulks.clock.now()));
        Ok(())
    }

    /// Counts what is selected, once.
    async fn count(&mut self, bulk: &mut Bulk) {
        let Some(select) = bulk.view.select.clone().filter(|_| bulk.next == NextPage::First) else { return };
        // It goes without, when it cannot be counted.
        let counted = count_runs(&self.api, &bulk.view, &select, 0).await;
        bulk.view.matched = counted.ok().map(|(matched, _)| matched);
    }

    /// Finds the runs whose turn comes next.
    async fn turn_page(&mut self, bulk: &mut Bulk) -> Result<(), Over> {
        let size = bulk.view.rate.min(BULK_PAGE_MAX) as usize;
        let cursor = match &bulk.next {
            NextPage::End => return Ok(()),
            NextPage::Taken(taken) => {
                let Some(ids) = self.bulks.ids(&bulk.view.id) else {
                    let problem = "the ids that it was given are not there or cannot be read";
                    bulk.break_off("not_found", problem, self.bulks.clock.now());
                    return Err(Over::Stopped);
                };
                bulk.page = ids.iter().skip(*taken).take(size).cloned().collect();
                let taken = taken + bulk.page.len();
                bulk.next = if taken < ids.len() { NextPage::Taken(taken) } else { NextPage::End };
                return Ok(());
            }
            NextPage::First => None,
            NextPage::Cursor(cursor) => Some(cursor.clone()),
        };
        let select = bulk.view.select.clone().expect("without ids there is a selection");
        loop {
            self.check(bulk)?;
            match find_runs(&self.api, &bulk.view, &select, cursor.as_deref(), size).await {
                Ok(found) => {
                    bulk.page = found.rows.into_iter().map(|row| row.id).collect();
                    bulk.next = found.next.map_or(NextPage::End, NextPage::Cursor);
                    return Ok(());
                }
                Err(ListFailure::Later { problem, secs }) => {
                    self.wait(bulk, &problem.code, Duration::from_secs(secs).min(BULK_WAIT_MAX)).await?;
                }
                Err(ListFailure::Permanent(problem)) => {
                    bulk.count("", ActionOutcome::Failed { code: problem.code, problem: problem.detail });
                    bulk.next = NextPage::End;
                    return Ok(());
                }
            }
        }
    }

    /// Does it to every run of the page, at the pace that was asked for.
    async fn work_off(&mut self, bulk: &mut Bulk, again: bool) -> Result<(), Over> {
        let beat = bulk.view.rate.div_ceil(BEATS_PER_SEC);
        let pace = Duration::from_secs(1) * beat / bulk.view.rate;
        let mut due = Instant::now();
        while !bulk.page.is_empty() {
            self.check(bulk)?;
            let ids: Vec<String> = bulk.page.iter().take(beat as usize).cloned().collect();
            let tried = join_all(ids.iter().map(|id| act(&self.api, bulk, id, again))).await;
            let mut later = Vec::new();
            for (id, tried) in ids.into_iter().zip(tried) {
                match tried {
                    // Counted before anything is waited for: it may be stopped while it waits.
                    Attempted::Final(acted) => self.count_run(bulk, &id, acted),
                    tried @ Attempted::Later { .. } => later.push((id, tried)),
                }
            }
            for (id, tried) in later {
                let acted = self.persist(bulk, &id, tried).await?;
                self.count_run(bulk, &id, acted);
            }
            due = (due + pace).max(Instant::now());
            self.pause_until(due).await;
        }
        Ok(())
    }

    fn count_run(&self, bulk: &mut Bulk, id: &str, outcome: ActionOutcome) {
        self.bulks.count(bulk.view.action, &outcome);
        bulk.count(id, outcome);
        // Not before: what is kept meanwhile must have all that is not counted.
        bulk.page.retain(|one| one != id);
    }

    /// Waits until one run can be tried again, and tries again.
    async fn persist(
        &mut self,
        bulk: &mut Bulk,
        id: &str,
        mut tried: Attempted,
    ) -> Result<ActionOutcome, Over> {
        let mut tries = 1;
        loop {
            match tried {
                Attempted::Final(acted) => {
                    bulk.view.waiting = None;
                    return Ok(acted);
                }
                Attempted::Later { code, problem, counts: true, .. } if tries >= BULK_TRIES_MAX => {
                    bulk.view.waiting = None;
                    return Ok(ActionOutcome::Failed { code, problem });
                }
                Attempted::Later { code, wait, counts, .. } => {
                    tries += u32::from(counts);
                    self.wait(bulk, &code, wait).await?;
                    // A lost answer may have been an acknowledgement.
                    tried = act(&self.api, bulk, id, true).await;
                }
            }
        }
    }

    /// Waits, and lets people see for what.
    async fn wait(&mut self, bulk: &mut Bulk, code: &str, wait: Duration) -> Result<(), Over> {
        self.check(bulk)?;
        if bulk.view.waiting.as_deref() != Some(code) {
            bulk.view.waiting = Some(code.to_owned());
            self.keep(bulk).await?;
        }
        let until = Instant::now() + wait;
        while Instant::now() < until {
            self.pause_until(until.min(Instant::now() + GLANCE)).await;
            self.check(bulk)?;
        }
        Ok(())
    }

    /// Waits until a time, or until the server stops.
    async fn pause_until(&mut self, due: Instant) {
        tokio::select! {
            biased;
            // Whether it stops or is gone already is seen by the next check.
            _ = self.stopping.wait_for(|stopping| *stopping) => {}
            () = tokio::time::sleep_until(due) => {}
        }
    }

    /// Whether to go on.
    fn check(&self, bulk: &Bulk) -> Result<(), Over> {
        let control = &self.bulks.control;
        let gone = self.stopping.has_changed().is_err() || *self.stopping.borrow();
        if gone || control.owned().borrow().is_none() {
            return Err(Over::Left);
        }
        let documents = control.documents().load();
        let kept = documents.get(BULK_DOCUMENTS, &bulk.view.id).filter(|kept| kept.version != self.version);
        match kept.and_then(Bulk::read) {
            Some(other) if !other.is_running() => Err(Over::Stopped),
            _ => Ok(()),
        }
    }

    /// Stores the progress; a stop that was requested meanwhile is respected.
    async fn keep(&mut self, bulk: &mut Bulk) -> Result<(), Over> {
        let bulks = self.bulks.clone();
        loop {
            if bulks.control.owned().borrow().is_none() {
                return Err(Over::Left);
            }
            match bulks.store(bulk, &bulk.view.by, ExpectedVersion::Version(self.version)).await {
                Ok(version) => {
                    self.version = version;
                    return if bulk.view.state == BulkState::Stopped { Err(Over::Stopped) } else { Ok(()) };
                }
                Err(KeepError::Changed { .. }) => {
                    let Ok((kept, version)) = bulks.stored(&bulk.view.id) else { return Err(Over::Left) };
                    if version == self.version {
                        // The stored version is not the one that is visible here: the partition changes owners.
                        return Err(Over::Left);
                    }
                    if !kept.is_running() {
                        bulk.view.state = kept.view.state;
                        bulk.view.ended_at = kept.view.ended_at;
                        bulk.view.waiting = None;
                        bulk.page.clear();
                    }
                    self.version = version;
                }
                Err(error @ KeepError::TooLarge { .. }) if bulk.view.state != BulkState::Stopped => {
                    tracing::warn!(bulk = %bulk.view.id, %error, "bulk aborted: its progress is too large to store");
                    let problem = format!("its progress cannot be stored: {error}");
                    bulk.break_off("too_large", &problem, bulks.clock.now());
                }
                Err(error) => {
                    tracing::warn!(bulk = %bulk.view.id, %error, "the progress of a bulk could not be stored");
                    return Err(Over::Left);
                }
            }
        }
    }

    async fn forget_ids(&self, bulk: &Bulk) {
        let forgotten = self
            .bulks
            .control
            .keep(ID_DOCUMENTS, &bulk.view.id, None, "sortie", ExpectedVersion::Anything)
            .await;
        if let Err(error) = forgotten {
            tracing::debug!(%error, "the ids of a bulk are deleted when the next one begins");
        }
    }
}
