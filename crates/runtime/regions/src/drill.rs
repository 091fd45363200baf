//! Trying out whether a switch would work, and making one there and back.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::sync::watch;
use tokio::time::{Instant, sleep};

use crate::decide::role::Role;
use crate::leases::Leases;
use crate::mirrors::{self, MirrorStatus};
use crate::promote::{Mode, Promoted};
use crate::record::Record;
use crate::semi_sync::Reach;
use crate::{RegionAgent, RegionError, Regions, Settings, Side, Status};

const LOOK_EVERY: Duration = Duration::from_millis(500);

/// What a drill has shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Drill {
    pub checks: Vec<Check>,
    /// Each switch that was made, with the region that became active.
    pub switches: Vec<(String, Promoted)>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    pub check: String,
    pub passed: bool,
    pub detail: String,
}

impl Drill {
    /// Whether a switch would work.
    pub fn ready(&self) -> bool {
        self.checks.iter().all(|check| check.passed)
    }
}

impl Regions {
    /// Checks that a switch would work, and changes nothing.
    pub async fn check(&self) -> Result<Drill, RegionError> {
        Ok(Drill { checks: self.inner.checks().await?, switches: Vec::new() })
    }

    /// Checks that a switch would work, makes a planned one to the region that is not active, and one back.
    pub async fn switch_and_back(&self) -> Result<Drill, RegionError> {
        let mut drill = self.check().await?;
        if !drill.ready() {
            return Ok(drill);
        }
        let home = self.status().await?.active().map(str::to_owned);
        let other = Arc::new(self.inner.turned());
        let (away, back) = match home.as_deref() == Some(self.name()) {
            true => (&other, &self.inner),
            false => (&self.inner, &other),
        };
        for target in [away, back] {
            match self.inner.switch_to(target).await {
                Ok(promoted) => drill.switches.push((target.settings.name.clone(), promoted)),
                // A completed switch is reported all the same: the caller must know which region is active.
                Err(failed) => {
                    let Check { check, detail, .. } = &failed;
                    tracing::error!(to = target.settings.name, check, detail, "a drill could not switch");
                    drill.checks.push(failed);
                    break;
                }
            }
        }
        // Looked at again soon, whatever comes of this one.
        let _ = self.inner.look().await;
        Ok(drill)
    }
}

impl RegionAgent {
    /// The same two regions with the other one as this one. It follows nothing, and is for one call.
    fn turned(&self) -> RegionAgent {
        let Settings { name, domain, pair, pair_domain, .. } = self.settings.clone();
        let settings = Settings {
            name: pair,
            domain: pair_domain,
            pair: name,
            pair_domain: domain,
            ..self.settings.clone()
        };
        RegionAgent {
            side: Side::of(&settings.name, &settings.pair),
            here: self.there.clone(),
            there: self.here.clone(),
            active: watch::Sender::new(false),
            epoch: watch::Sender::new(0),
            seen: watch::Sender::default(),
            looking: tokio::sync::Mutex::default(),
            working: Arc::default(),
            trim: std::sync::Mutex::default(),
            reach: Reach::new(self.here.domain.clone(), settings.reach),
            leases: Leases::of(&settings, &self.there.domain, &self.here.domain),
            settings,
        }
    }

    /// Makes the planned switch to one of the two, once it would work.
    async fn switch_to(&self, target: &RegionAgent) -> Result<Promoted, Check> {
        self.wait_until_ready().await?;
        let promoted = target.promote(Mode::Planned).await;
        promoted.map_err(|error| {
            check(&format!("{} is promoted", target.settings.name), false, "", || error.to_string())
        })
    }

    /// Waits until a switch would work: the region that was active before fetches everything again. That takes as long as
    /// there is something to fetch, so what ends the wait is that nothing comes any more.
    async fn wait_until_ready(&self) -> Result<(), Check> {
        let mut fetched = Fetched::default();
        let mut deadline = Instant::now() + self.settings.patience * 2;
        loop {
            let failed = match self.look_over().await {
                Ok((status, checks)) => {
                    if fetched.comes_nearer(&status) {
                        deadline = Instant::now() + self.settings.patience * 2;
                    }
                    checks.into_iter().find(|check| !check.passed)
                }
                Err(error) => Some(check("both regions say how they are", false, "", || error.to_string())),
            };
            match failed {
                None => return Ok(()),
                Some(_) if Instant::now() < deadline => sleep(LOOK_EVERY).await,
                Some(check) => return Err(check),
            }
        }
    }

    async fn checks(&self) -> Result<Vec<Check>, RegionError> {
        Ok(self.look_over().await?.1)
    }

    /// Where the two stand, and what follows for a switch.
    async fn look_over(&self) -> Result<(Status, Vec<Check>), RegionError> {
        let status = self.status().await?;
        let checks = self.checks_of(&status).await?;
        Ok((status, checks))
    }

    async fn checks_of(&self, status: &Status) -> Result<Vec<Check>, RegionError> {
        let reachable = check("the pair answers", status.pair_reachable, "", || {
            format!("{} does not answer through the leaf link", status.pair)
        });
        if !status.pair_reachable {
            return Ok(vec![reachable]);
        }
        let roles = (role_of(status, true), role_of(status, false));
        let one = matches!(
            roles,
            (Some(Role::Active), Some(Role::Standby)) | (Some(Role::Standby), Some(Role::Active))
        );
        let active =
            check("one is active and one stands by", one, status.active().unwrap_or_default(), || {
                format!("{} is {}, {} is {}", status.region, word(roles.0), status.pair, word(roles.1))
            });
        let lagging: Vec<_> = status.mirrors.iter().filter(|mirror| mirror.lags_too_far()).collect();
        let counted = format!("{} streams", status.mirrors.len());
        let current = check("the mirrors are there and current", lagging.is_empty(), &counted, || {
            let told = lagging.iter().map(|mirror| match mirror.lag {
                Some(lag) if mirror.last.is_some() => format!("{} is {lag} behind", mirror.stream),
                _ => format!("{} is not mirrored", mirror.stream),
            });
            told.collect::<Vec<_>>().join(", ")
        });
        let standby = [(&status.region, &status.record), (&status.pair, &status.pair_record)];
        let partial = standby.into_iter().find(|(_, record)| {
            record.as_ref().is_some_and(|record| record.role == Role::Standby && !record.level)
        });
        let level = check("the standby has had everything", partial.is_none(), "", || {
            format!("{} was not level yet", partial.map_or("it", |(region, _)| region))
        });
        let link = match self.check_link().await {
            Ok(()) => check("the link keeps them apart", true, "", String::new),
            Err(error) => check("the link keeps them apart", false, "", || error.to_string()),
        };
        let changed = self.changed_configs(status).await?;
        let configs = check("the streams would open as they are", changed.is_empty(), "", || {
            format!("not noted yet how {} is configured", changed.join(", "))
        });
        let differ = self.keys_differ().await?;
        let keys = check("each region opens the secrets of the other", differ.is_none(), "", || {
            differ.unwrap_or_default()
        });
        let mut checks = vec![reachable, active, current, level, link, configs, keys];
        if self.leases.is_some() {
            let witness = self.require_witness().await;
            checks.push(check("the witness answers", witness.is_ok(), "", || {
                witness.err().map(|error| error.to_string()).unwrap_or_default()
            }));
        }
        Ok(checks)
    }

    /// The streams of the active region whose configuration the other one has not noted as it is.
    async fn changed_configs(&self, status: &Status) -> Result<Vec<String>, RegionError> {
        let here_is_active = status.active() == Some(self.settings.name.as_str());
        let (active, standby) =
            if here_is_active { (&self.here, &self.there) } else { (&self.there, &self.here) };
        let mut changed = Vec::new();
        for stream in self.shared_streams(active).await? {
            let info = active.domain.info(&stream).await.map_err(|error| self.site_error(active, error))?;
            let noted =
                standby.records.config(&stream).await.map_err(|error| self.site_error(standby, error))?;
            let subjects = noted.map(|noted| mirrors::subjects_of(&noted));
            if subjects != Some(info.config_subjects()) {
                changed.push(stream);
            }
        }
        Ok(changed)
    }
}

/// How much a standby has fetched of what its pair had when it was first looked at: what is written meanwhile has no end.
#[derive(Debug, Default)]
struct Fetched {
    /// Where each stream of the active region ended then.
    goals: BTreeMap<String, u64>,
    least: Option<Left>,
}

/// What is left to do: regions that are neither active nor level, streams without a mirror, messages.
type Left = (usize, usize, u64);

impl Fetched {
    /// Whether less is left to do than ever before.
    fn comes_nearer(&mut self, status: &Status) -> bool {
        // Nobody knows what there is to do while the active region does not say what it has.
        if !status.pair_reachable || status.mirrors.iter().any(|mirror| mirror.origin_last.is_none()) {
            return false;
        }
        let sides = [&status.record, &status.pair_record].into_iter();
        let unsettled = sides.filter(|record| !record.as_ref().is_some_and(is_settled)).count();
        let unmirrored = status.mirrors.iter().filter(|mirror| mirror.last.is_none()).count();
        let missing = status.mirrors.iter().map(|mirror| self.missing(mirror)).sum();
        let left = (unsettled, unmirrored, missing);
        let nearer = self.least.is_none_or(|least| left < least);
        if nearer {
            self.least = Some(left);
        }
        nearer
    }

    fn missing(&mut self, mirror: &MirrorStatus) -> u64 {
        let known = self.goals.get(&mirror.stream).copied();
        let Some(goal) = known.or(mirror.origin_last) else { return 0 };
        self.goals.insert(mirror.stream.clone(), goal);
        goal.saturating_sub(mirror.last.unwrap_or_default())
    }
}

fn is_settled(record: &Record) -> bool {
    record.role == Role::Active || record.role == Role::Standby && record.level
}

fn role_of(status: &Status, here: bool) -> Option<Role> {
    let record = if here { &status.record } else { &status.pair_record };
    record.as_ref().map(|record| record.role)
}

fn word(role: Option<Role>) -> String {
    role.map(|role| role.to_string()).unwrap_or_else(|| "nothing yet".to_owned())
}

fn check(name: &str, passed: bool, good: &str, bad: impl FnOnce() -> String) -> Check {
    let detail = if passed { good.to_owned() } else { bad() };
    Check { check: name.to_owned(), passed, detail }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(level: bool, mirrored: &[(u64, u64)]) -> Status {
        let record = |role, level| {
            let (since_ms, by) = (0, String::new());
            Some(Record { role, epoch: 2, since_ms, by, level, promotion: None })
        };
        let mirrors = mirrored.iter().enumerate().map(|(number, (last, origin_last))| MirrorStatus {
            stream: number.to_string(),
            last: Some(*last),
            origin_last: Some(*origin_last),
            lag: Some(origin_last - last),
            newest: None,
        });
        Status {
            region: "east".to_owned(),
            pair: "west".to_owned(),
            record: record(Role::Standby, level),
            pair_record: record(Role::Active, true),
            pair_reachable: true,
            mirrors: mirrors.collect(),
            leases: None,
            follows: None,
            tail: None,
        }
    }

    #[test]
    fn a_standby_that_still_fetches_comes_nearer_and_one_that_only_follows_does_not() {
        let mut fetched = Fetched::default();
        let mut seen = |level, mirrored: &[(u64, u64)]| fetched.comes_nearer(&status(level, mirrored));
        assert!(seen(false, &[(0, 1_000), (0, 10)]), "the first look");
        assert!(!seen(false, &[(0, 2_000), (0, 10)]), "nothing has come");
        assert!(seen(false, &[(1, 3_000), (0, 10)]), "it lags more, and has more");
        assert!(seen(false, &[(1_000, 4_000), (10, 10)]));
        assert!(!seen(false, &[(2_000, 5_000), (10, 10)]), "what is written meanwhile does not count");
        assert!(seen(true, &[(2_000, 5_000), (10, 10)]), "it became level");
        let away = Status { pair_reachable: false, ..status(true, &[]) };
        assert!(!fetched.comes_nearer(&away));
    }
}
