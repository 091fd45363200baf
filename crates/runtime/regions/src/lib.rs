//! A region and its pair: which of the two is active, what the other one mirrors, and how they change places.
//!
//! Each region is a NATS domain of its own, joined to the other by leaf nodes. What a region is stands in its bucket
//! `<i>_region`; every instance of it follows that, and one at a time does the work that it asks for.

mod caught_up;
mod decide;
mod divergent_tail;
mod drill;
mod fence;
mod fill;
mod leases;
mod meter;
mod mirrors;
mod probe;
mod promote;
mod record;
mod rejoin;
mod repair;
mod secrets;
mod semi_sync;
mod status;
mod tail_requests;
mod trim;
mod watch_roles;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use futures_util::{StreamExt, stream};
use tokio::sync::{OwnedMutexGuard, watch};
use tokio::time::{Instant, sleep, timeout_at};

pub use decide::role::{RegionState, Role, RoleChange, Side, may_promote, must_be_level, on_pair};
pub use divergent_tail::{StreamTail, Tail};
pub use drill::{Check, Drill};
pub use journal_nats::jetstream::JetStreamError;
pub use leases::HeldLeases;
pub use meter::{Meter, RegionReading};
pub use mirrors::MirrorStatus;
pub use promote::{Mode, Promoted};
pub use record::{Promotion, PromotionStep, Record};
pub use semi_sync::Paired;
pub use status::Status;
pub use tail_requests::{TailRequest, TailRequests};

use journal_nats::jetstream::JetStream;
use leases::Leases;
use record::{RecordStore, WorkClaim, WorkError};
use semi_sync::Reach;
use snapshots::store::StoreError;
use trim::Trim;

/// How often somebody who waits for the work of a region looks whether it is free.
const WORK_EVERY: Duration = Duration::from_millis(100);

/// A region as it is set up.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Its name, like `westeurope`.
    pub name: String,
    /// Its own JetStream domain.
    pub domain: String,
    pub pair: String,
    /// The pair's JetStream domain.
    pub pair_domain: String,
    /// The region that is active when neither has ever been anything.
    pub home: String,
    pub installation: String,
    /// Replicas of the mirrors and of the bucket here.
    pub replicas: usize,
    /// This instance, for others to read.
    pub instance: String,
    /// Where divergent tails are kept, in `divergent/`, beside the objects in NATS.
    pub data: PathBuf,
    /// NATS at a third place, which decides who is active when the two cannot see each other.
    pub witness: Option<JetStream>,
    /// How long the witness believes in an active region that says nothing.
    pub lease: Duration,
    /// How long an answer of either side may take.
    pub answer: Duration,
    /// How long the pair's instances may take to let go in a planned promotion, and then the mirrors to catch up.
    pub patience: Duration,
    /// How long an instance that does the region's work is believed in without a word of it.
    pub work: Duration,
    /// How long something stored here waits for the pair, when it waits for it at all.
    pub reach: Duration,
}

impl Settings {
    /// Settings with the usual times; domains are named like their regions.
    pub fn new(name: &str, pair: &str, home: &str, installation: &str) -> Settings {
        Settings {
            name: name.to_owned(),
            domain: name.to_owned(),
            pair: pair.to_owned(),
            pair_domain: pair.to_owned(),
            home: home.to_owned(),
            installation: installation.to_owned(),
            replicas: 3,
            instance: name.to_owned(),
            data: PathBuf::from("."),
            witness: None,
            lease: Duration::from_secs(30),
            answer: Duration::from_secs(3),
            patience: Duration::from_secs(25),
            work: Duration::from_secs(30),
            reach: Duration::from_secs(5),
        }
    }
}

/// Why something about regions could not be done.
#[derive(Debug, thiserror::Error)]
pub enum RegionError {
    #[error("this region: {0}")]
    Here(#[source] JetStreamError),
    #[error("the pair {pair}: {source}")]
    Pair { pair: String, source: JetStreamError },
    /// The pair must be reached for this.
    #[error("the pair {pair} cannot be reached ({cause}); promote with --force to go on without it")]
    PairUnreachable { pair: String, cause: String },
    #[error("the work on {region} is under way already: {by}")]
    Busy { region: String, by: String },
    #[error("{region} cannot be promoted: {reason}")]
    NotPromotable { region: String, reason: String },
    #[error(
        "{region} does not have everything: its mirrors were never level, or it was overtaken; only --force with \
         --incomplete goes on with what it has"
    )]
    Incomplete { region: String },
    #[error("mirrors are still behind: {0}; run the promotion again to go on waiting")]
    Lagging(String),
    #[error("its role was changed meanwhile; look at the status and decide again")]
    Changed,
    /// It was made to let go, and somebody promoted it before it had.
    #[error("{region} was promoted meanwhile; look at the status and decide again")]
    Overruled { region: String },
    /// The leaf link carries what it must not.
    #[error(
        "what is published on {subject} here is stored in {pair}, too: add it to deny_imports and deny_exports of \
         the leaf node remotes"
    )]
    LinkCarries { subject: String, pair: String },
    #[error("the witness: {0}")]
    Witness(#[source] JetStreamError),
    #[error("the witness does not let it: {0}")]
    WitnessRefuses(String),
    #[error("keeping the divergent tail: {0}")]
    Keep(#[from] std::io::Error),
    #[error("keeping the divergent tail in NATS: {0}")]
    Store(#[from] StoreError),
}

/// One of the two, as it is reached from here.
#[derive(Debug, Clone)]
struct RegionSite {
    name: String,
    domain: JetStream,
    records: RecordStore,
    /// The prefix of its API for the other one: `$JS.<domain>.API`.
    api: String,
}

/// A region and its pair, seen from an instance of the region. Cheap to clone.
#[derive(Clone)]
pub struct Regions {
    inner: Arc<RegionAgent>,
}

struct RegionAgent {
    settings: Settings,
    side: Side,
    here: RegionSite,
    there: RegionSite,
    active: watch::Sender<bool>,
    epoch: watch::Sender<u64>,
    seen: watch::Sender<Observed>,
    /// Held from reading the records until their content is published.
    looking: tokio::sync::Mutex<()>,
    /// HeldLeases by whichever task of this instance does the region's work.
    working: Arc<tokio::sync::Mutex<()>>,
    reach: Arc<Reach>,
    leases: Option<Leases>,
    // A lock: taken out and put back, never held.
    trim: std::sync::Mutex<Option<Trim>>,
}

/// What a region becomes: its record without since when and by whom.
struct NextRecord {
    role: Role,
    epoch: u64,
    level: bool,
    promotion: Option<Promotion>,
}

impl NextRecord {
    fn of(record: &Record) -> NextRecord {
        let Record { role, epoch, level, promotion, .. } = record.clone();
        NextRecord { role, epoch, level, promotion }
    }

    /// It has everything of its own: nothing was written elsewhere under this epoch.
    fn active(epoch: u64) -> NextRecord {
        NextRecord { role: Role::Active, epoch, level: true, promotion: None }
    }

    /// It was active and lets go; it goes on having everything until its pair goes on.
    fn released(epoch: u64) -> NextRecord {
        NextRecord { role: Role::Fenced, ..NextRecord::active(epoch) }
    }

    /// It was overtaken, so that its pair has what it has not.
    fn overtaken(epoch: u64) -> NextRecord {
        NextRecord { role: Role::Fenced, epoch, level: false, promotion: None }
    }

    /// It begins to mirror under an epoch.
    fn standby(epoch: u64) -> NextRecord {
        NextRecord { role: Role::Standby, epoch, level: false, promotion: None }
    }
}

/// What was read last.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Observed {
    here: Option<Record>,
    pair: Option<Record>,
    pair_reachable: bool,
    /// The pair has a higher epoch, whatever this region's record still says.
    overtaken: bool,
}

impl Regions {
    /// Joins the region: makes its bucket, checks the link, and follows both sides from now on.
    pub async fn join(jetstream: JetStream, settings: Settings) -> Result<Regions, RegionError> {
        let site = |name: &str, domain: &str, reached: JetStream| RegionSite {
            name: name.to_owned(),
            records: RecordStore::new(reached.clone(), &settings.installation),
            domain: reached,
            api: format!("$JS.{domain}.API"),
        };
        let here = jetstream.with_response_max(settings.answer);
        let there = here.in_domain(&settings.pair_domain);
        let inner = RegionAgent {
            reach: Reach::new(there.clone(), settings.reach),
            leases: Leases::of(&settings, &here, &there),
            side: Side::of(&settings.name, &settings.pair),
            here: site(&settings.name, &settings.domain, here),
            there: site(&settings.pair, &settings.pair_domain, there),
            active: watch::Sender::new(false),
            epoch: watch::Sender::new(0),
            seen: watch::Sender::default(),
            looking: tokio::sync::Mutex::default(),
            working: Arc::default(),
            trim: std::sync::Mutex::default(),
            settings,
        };
        inner.here.records.make(inner.settings.replicas).await.map_err(RegionError::Here)?;
        if let Some(leases) = &inner.leases {
            leases.make(inner.settings.replicas).await.map_err(RegionError::Here)?;
        }
        inner.check_link().await?;
        inner.recall_follower().await.map_err(RegionError::Here)?;
        let regions = Regions { inner: Arc::new(inner) };
        // The first observation comes before anything is published: an active region that was overtaken never acts.
        regions.inner.look().await?;
        host::spawn("region", watch_roles::run(Arc::downgrade(&regions.inner)));
        host::spawn("region's lease", leases::run(Arc::downgrade(&regions.inner)));
        Ok(regions)
    }

    /// Whether this region is active: its instances hold partitions only while it is.
    pub fn active(&self) -> watch::Receiver<bool> {
        self.inner.active.subscribe()
    }

    /// Whether the streams here are the region's own by its record, as far as was seen last: they may be made and
    /// checked. With a witness it works only when it has the lease, too.
    pub fn has_own_streams(&self) -> bool {
        let seen = self.inner.seen.borrow();
        !seen.overtaken && seen.here.as_ref().is_some_and(|here| here.role == Role::Active)
    }

    /// The region's epoch, for the header of calls.
    pub fn epoch(&self) -> watch::Receiver<u64> {
        self.inner.epoch.subscribe()
    }

    /// This region's name.
    pub fn name(&self) -> &str {
        &self.inner.settings.name
    }

    /// The region that is active as far as was last seen, when it is the pair.
    pub fn active_elsewhere(&self) -> Option<String> {
        let seen = self.inner.seen.borrow();
        let active = seen.pair.as_ref().is_some_and(|pair| pair.role == Role::Active);
        active.then(|| self.inner.settings.pair.clone())
    }

    /// Where the two stand, asked now.
    pub async fn status(&self) -> Result<Status, RegionError> {
        self.inner.status().await
    }

    /// Makes this region the active one. What was begun and interrupted goes on.
    pub async fn promote(&self, mode: Mode) -> Result<Promoted, RegionError> {
        self.inner.promote(mode).await
    }

    /// Goes through all mirrors of a standby at once, as happens every minute: what the active region has trimmed is
    /// trimmed here, if nothing is missing.
    pub async fn tidy(&self) -> Result<(), RegionError> {
        self.inner.upkeep(true).await
    }

    /// Makes this region let go of everything: its instances first, which may take a while. Without a witness nobody is
    /// active until one of the two is promoted.
    pub async fn demote(&self) -> Result<(), RegionError> {
        self.inner.demote().await
    }
}

impl RegionAgent {
    fn pair_error(&self, source: JetStreamError) -> RegionError {
        RegionError::Pair { pair: self.settings.pair.clone(), source }
    }

    fn by(&self) -> String {
        format!("{}/{}", self.settings.name, self.settings.instance)
    }

    /// Takes the work of a region, and waits for whoever is at it: what is done all the time is soon done.
    async fn wait_for_work(&self, site: &RegionSite) -> Result<WorkClaim, RegionError> {
        let deadline = Instant::now() + self.settings.patience;
        loop {
            let turn = timeout_at(deadline, self.working.clone().lock_owned()).await;
            let taken = match turn {
                Ok(turn) => self.take_work_in(turn, site).await,
                Err(_) => Err(RegionError::Busy { region: site.name.clone(), by: self.by() }),
            };
            match taken {
                Err(RegionError::Busy { .. }) if Instant::now() < deadline => sleep(WORK_EVERY).await,
                taken => return taken,
            }
        }
    }

    /// Takes the work of a region, unless somebody is at it.
    async fn take_work(&self, site: &RegionSite) -> Result<WorkClaim, RegionError> {
        match self.working.clone().try_lock_owned() {
            Ok(turn) => self.take_work_in(turn, site).await,
            Err(_) => Err(RegionError::Busy { region: site.name.clone(), by: self.by() }),
        }
    }

    async fn take_work_in(
        &self,
        turn: OwnedMutexGuard<()>,
        site: &RegionSite,
    ) -> Result<WorkClaim, RegionError> {
        let claim = site.records.take_work(&self.by(), self.settings.work, Some(turn)).await;
        claim.map_err(|error| self.work_error(site, error))
    }

    /// Takes the work of the pair beside that of this region, which only a promotion does: nobody can promote the pair
    /// while it is being made to let go.
    async fn take_pairs_work(&self) -> Result<WorkClaim, RegionError> {
        let deadline = Instant::now() + self.settings.patience;
        loop {
            match self.there.records.take_work(&self.by(), self.settings.work, None).await {
                Err(WorkError::Taken(_)) if Instant::now() < deadline => sleep(WORK_EVERY).await,
                taken => return taken.map_err(|error| self.work_error(&self.there, error)),
            }
        }
    }

    fn work_error(&self, site: &RegionSite, error: WorkError) -> RegionError {
        match error {
            WorkError::Taken(by) => RegionError::Busy { region: site.name.clone(), by },
            WorkError::JetStream(error) => self.site_error(site, error),
        }
    }

    fn site_error(&self, site: &RegionSite, error: JetStreamError) -> RegionError {
        match error {
            JetStreamError::Changed => RegionError::Changed,
            error if site.name == self.settings.name => RegionError::Here(error),
            error => self.pair_error(error),
        }
    }

    async fn demote(&self) -> Result<(), RegionError> {
        let claim = self.wait_for_work(&self.here).await?;
        let fenced = self.fence(&self.here).await;
        claim.release().await;
        fenced?;
        self.look().await
    }

    /// Writes the record of a region, if nobody has since that revision.
    async fn write(&self, site: &RegionSite, next: NextRecord, revision: u64) -> Result<u64, RegionError> {
        let NextRecord { role, epoch, level, promotion } = next;
        let record = Record { role, epoch, since_ms: now_ms(), by: self.by(), level, promotion };
        let written = site.records.set_record(&record, revision).await;
        let revision = written.map_err(|error| self.site_error(site, error))?;
        tracing::info!(region = site.name, %role, epoch, "region changed");
        Ok(revision)
    }

    async fn shared_streams(&self, site: &RegionSite) -> Result<Vec<String>, RegionError> {
        let streams = mirrors::shared_streams(&site.domain, &self.settings.installation).await;
        streams.map_err(|error| self.site_error(site, error))
    }

    /// Does something to each stream, several at once.
    async fn each<F, T>(
        &self,
        site: &RegionSite,
        streams: &[String],
        work: impl Fn(String) -> F,
    ) -> Result<T, RegionError>
    where
        F: Future,
        Result<T, JetStreamError>: FromIterator<F::Output>,
    {
        let works: Vec<F> = streams.iter().cloned().map(work).collect();
        let done = stream::iter(works).buffered(mirrors::SIDE_BY_SIDE);
        let done: Vec<F::Output> = done.collect().await;
        done.into_iter().collect::<Result<T, JetStreamError>>().map_err(|error| self.site_error(site, error))
    }
}

fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
