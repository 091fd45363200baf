//! The two regions as they are reached from an instance of one of them. Every part of the agent shares them.

use std::time::{SystemTime, UNIX_EPOCH};

use futures_util::{StreamExt, stream};

use crate::decide::role::{Role, Side};
use crate::mirrors;
use crate::record::{Promotion, Record, RecordStore};
use crate::{RegionError, Settings};
use journal_nats::jetstream::{JetStream, JetStreamError};

/// This region and its pair.
pub(crate) struct Sites {
    pub(crate) settings: Settings,
    pub(crate) side: Side,
    pub(crate) here: RegionSite,
    pub(crate) there: RegionSite,
}

/// One region as it is reached from here.
#[derive(Debug, Clone)]
pub(crate) struct RegionSite {
    pub(crate) name: String,
    pub(crate) domain: JetStream,
    pub(crate) records: RecordStore,
    /// The prefix of its API for the other region: `$JS.<domain>.API`.
    pub(crate) api: String,
}

impl RegionSite {
    fn new(name: &str, domain: &str, installation: &str, reached: JetStream) -> RegionSite {
        RegionSite {
            name: name.to_owned(),
            records: RecordStore::new(reached.clone(), installation),
            domain: reached,
            api: format!("$JS.{domain}.API"),
        }
    }
}

impl Sites {
    /// `jetstream` is connected to the servers of this region, which reach the pair through leaf nodes.
    pub(crate) fn new(jetstream: JetStream, settings: Settings) -> Sites {
        let Settings { name, domain, pair, pair_domain, installation, .. } = &settings;
        let here = jetstream.with_response_max(settings.answer);
        let there = here.in_domain(pair_domain);
        Sites {
            side: Side::of(name, pair),
            here: RegionSite::new(name, domain, installation, here),
            there: RegionSite::new(pair, pair_domain, installation, there),
            settings,
        }
    }

    /// The same two regions with their roles in this pair exchanged.
    pub(crate) fn exchanged(&self) -> Sites {
        let settings = self.settings.of_pair();
        Sites {
            side: Side::of(&settings.name, &settings.pair),
            here: self.there.clone(),
            there: self.here.clone(),
            settings,
        }
    }

    /// Who writes a record: the region and the instance.
    pub(crate) fn author(&self) -> String {
        format!("{}/{}", self.settings.name, self.settings.instance)
    }

    pub(crate) fn pair_error(&self, source: JetStreamError) -> RegionError {
        RegionError::Pair { pair: self.settings.pair.clone(), source }
    }

    pub(crate) fn site_error(&self, site: &RegionSite, error: JetStreamError) -> RegionError {
        match error {
            JetStreamError::Changed => RegionError::Changed,
            error if site.name == self.settings.name => RegionError::Here(error),
            error => self.pair_error(error),
        }
    }

    /// Writes the record of a region if it still has this revision.
    pub(crate) async fn write(
        &self,
        site: &RegionSite,
        next: NextRecord,
        revision: u64,
    ) -> Result<u64, RegionError> {
        let NextRecord { role, epoch, level, promotion } = next;
        let record = Record { role, epoch, since_ms: now_ms(), by: self.author(), level, promotion };
        let written = site.records.set_record(&record, revision).await;
        let revision = written.map_err(|error| self.site_error(site, error))?;
        tracing::info!(region = site.name, %role, epoch, level, "region record written");
        Ok(revision)
    }

    /// The streams of a region that are replicated to the other one.
    pub(crate) async fn shared_streams(&self, site: &RegionSite) -> Result<Vec<String>, RegionError> {
        let streams = mirrors::shared_streams(&site.domain, &self.settings.installation).await;
        streams.map_err(|error| self.site_error(site, error))
    }

    /// Applies an operation to each stream, several concurrently.
    pub(crate) async fn each<F, T>(
        &self,
        site: &RegionSite,
        streams: &[String],
        operation: impl Fn(String) -> F,
    ) -> Result<T, RegionError>
    where
        F: Future,
        Result<T, JetStreamError>: FromIterator<F::Output>,
    {
        let operations: Vec<F> = streams.iter().cloned().map(operation).collect();
        let done = stream::iter(operations).buffered(mirrors::CONCURRENT_STREAMS);
        let done: Vec<F::Output> = done.collect().await;
        done.into_iter().collect::<Result<T, JetStreamError>>().map_err(|error| self.site_error(site, error))
    }
}

/// The next record of a region, without the time and the author of the change.
pub(crate) struct NextRecord {
    pub(crate) role: Role,
    pub(crate) epoch: u64,
    pub(crate) level: bool,
    pub(crate) promotion: Option<Promotion>,
}

impl NextRecord {
    pub(crate) fn of(record: &Record) -> NextRecord {
        let Record { role, epoch, level, promotion, .. } = record.clone();
        NextRecord { role, epoch, level, promotion }
    }

    /// An active region is level: nothing was written elsewhere under its epoch.
    pub(crate) fn active(epoch: u64) -> NextRecord {
        NextRecord { role: Role::Active, epoch, level: true, promotion: None }
    }

    /// A region that gives up its role in a planned switch stays level until its pair is promoted.
    pub(crate) fn released(epoch: u64) -> NextRecord {
        NextRecord { role: Role::Fenced, ..NextRecord::active(epoch) }
    }

    /// A region whose pair was promoted to a higher epoch lacks what the pair has written since.
    pub(crate) fn overtaken(epoch: u64) -> NextRecord {
        NextRecord { role: Role::Fenced, epoch, level: false, promotion: None }
    }

    /// A region that begins to mirror its pair under this epoch.
    pub(crate) fn standby(epoch: u64) -> NextRecord {
        NextRecord { role: Role::Standby, epoch, level: false, promotion: None }
    }
}

pub(crate) fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
