//! Drills: checks whether a switch would work, and can make one there and back.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use api_types::{CheckView, DrillView, MirrorView, PromotedView};
use tokio::time::{Instant, sleep};

use crate::agent::RegionAgent;
use crate::decide::role::Role;
use crate::mirrors::{self, lags};
use crate::promote::{Mode, Promoted};
use crate::record::Record;
use crate::sites::Sites;
use crate::{RegionError, Regions, Status, link_check, secrets};

const LOOK_EVERY: Duration = Duration::from_millis(500);

impl Regions {
    /// Checks that a switch would work; changes nothing.
    pub async fn check(&self) -> Result<DrillView, RegionError> {
        Ok(drill(Drill::of(&self.agent).checks().await?, Vec::new()))
    }

    /// Checks that a switch would work, then makes a planned switch to the region that is not active, and one back.
    pub async fn switch_and_back(&self) -> Result<DrillView, RegionError> {
        let here = Drill::of(&self.agent);
        let (mut checks, mut switches) = (here.checks().await?, Vec::new());
        if !checks.iter().all(|check| check.passed) {
            return Ok(drill(checks, switches));
        }
        let active = self.status().await?.active().map(str::to_owned);
        // It observes nothing, and is only used for these promotions.
        let other = Arc::new(RegionAgent::new(self.agent.sites.exchanged()));
        let (away, back) = match active.as_deref() == Some(self.name()) {
            true => (&other, &self.agent),
            false => (&self.agent, &other),
        };
        for target in [away, back] {
            let region = target.sites.settings.name.as_str();
            match here.switch_to(target).await {
                Ok(promoted) => switches.push(promoted.view(region)),
                // A completed switch is reported all the same: the caller must know which region is active.
                Err(failed) => {
                    let CheckView { check, detail, .. } = &failed;
                    tracing::error!(region, check, detail, "region drill: the switch failed");
                    checks.push(failed);
                    break;
                }
            }
        }
        // The next reading is soon, whatever comes of this one.
        let _ = self.agent.read_roles().await;
        Ok(drill(checks, switches))
    }
}

fn drill(checks: Vec<CheckView>, switches: Vec<PromotedView>) -> DrillView {
    DrillView { ready: checks.iter().all(|check| check.passed), checks, switches }
}

/// The checks of a drill, from the point of view of one region.
struct Drill<'a> {
    agent: &'a RegionAgent,
    sites: &'a Sites,
}

impl Drill<'_> {
    fn of(agent: &RegionAgent) -> Drill<'_> {
        Drill { agent, sites: &agent.sites }
    }

    /// Makes a planned switch to a region once the checks pass.
    async fn switch_to(&self, target: &RegionAgent) -> Result<Promoted, CheckView> {
        self.wait_until_ready().await?;
        let promoted = target.promote(Mode::Planned).await;
        promoted.map_err(|error| {
            check(&format!("{} is promoted", target.sites.settings.name), false, "", || error.to_string())
        })
    }

    /// Waits until the checks pass. The region that was active before fetches everything again, which may take long, so the
    /// wait ends only when there is no progress.
    async fn wait_until_ready(&self) -> Result<(), CheckView> {
        let mut fetched = Fetched::default();
        let mut deadline = Instant::now() + self.sites.settings.patience * 2;
        loop {
            let failed = match self.look_over().await {
                Ok((status, checks)) => {
                    if fetched.comes_nearer(&status) {
                        deadline = Instant::now() + self.sites.settings.patience * 2;
                    }
                    checks.into_iter().find(|check| !check.passed)
                }
                Err(error) => {
                    Some(check("both regions report their status", false, "", || error.to_string()))
                }
            };
            match failed {
                None => return Ok(()),
                Some(_) if Instant::now() < deadline => sleep(LOOK_EVERY).await,
                Some(check) => return Err(check),
            }
        }
    }

    async fn checks(&self) -> Result<Vec<CheckView>, RegionError> {
        Ok(self.look_over().await?.1)
    }

    /// The status of the regions, and the checks that follow from it.
    async fn look_over(&self) -> Result<(Status, Vec<CheckView>), RegionError> {
        let status = self.agent.status().await?;
        let checks = self.checks_of(&status).await?;
        Ok((status, checks))
    }

    async fn checks_of(&self, status: &Status) -> Result<Vec<CheckView>, RegionError> {
        let reachable = check("the pair responds", status.pair_reachable, "", || {
            format!("{} does not respond through the leaf link", status.pair)
        });
        if !status.pair_reachable {
            return Ok(vec![reachable]);
        }
        let roles = (role_of(status, true), role_of(status, false));
        let one = matches!(
            roles,
            (Some(Role::Active), Some(Role::Standby)) | (Some(Role::Standby), Some(Role::Active))
        );
        let active = check(
            "one region is active, the other is a standby",
            one,
            status.active().unwrap_or_default(),
            || format!("{} is {}, {} is {}", status.region, word(roles.0), status.pair, word(roles.1)),
        );
        let lagging: Vec<_> = status.mirrors.iter().filter(|mirror| lags(mirror)).collect();
        let counted = format!("{} streams", status.mirrors.len());
        let current = check("the mirrors exist and are current", lagging.is_empty(), &counted, || {
            let told = lagging.iter().map(|mirror| match mirror.lag {
                Some(lag) if mirror.last.is_some() => format!("{} lags {lag} messages", mirror.stream),
                _ => format!("{} is not mirrored", mirror.stream),
            });
            told.collect::<Vec<_>>().join(", ")
        });
        let standby = [(&status.region, &status.record), (&status.pair, &status.pair_record)];
        let partial = standby.into_iter().find(|(_, record)| {
            record.as_ref().is_some_and(|record| record.role == Role::Standby && !record.level)
        });
        let level = check("the standby has caught up", partial.is_none(), "", || {
            format!("{} has not caught up yet", partial.map_or("it", |(region, _)| region))
        });
        let link = match link_check::check(self.sites).await {
            Ok(()) => check("the leaf link keeps the journal in its region", true, "", String::new),
            Err(error) => {
                check("the leaf link keeps the journal in its region", false, "", || error.to_string())
            }
        };
        let changed = self.changed_configs(status).await?;
        let configs = check("the configurations of the streams are recorded", changed.is_empty(), "", || {
            format!("not recorded yet: {}", changed.join(", "))
        });
        let differ = secrets::keys_differ(self.sites).await?;
        let keys = check("each region can open the secrets of the other", differ.is_none(), "", || {
            differ.unwrap_or_default()
        });
        let mut checks = vec![reachable, active, current, level, link, configs, keys];
        if let Some(leases) = &self.agent.leases {
            let witness = leases.require_witness().await;
            checks.push(check("the witness responds", witness.is_ok(), "", || {
                witness.err().map(|error| error.to_string()).unwrap_or_default()
            }));
        }
        Ok(checks)
    }

    /// The streams of the active region whose current configuration the other one has not recorded.
    async fn changed_configs(&self, status: &Status) -> Result<Vec<String>, RegionError> {
        let here_is_active = status.active() == Some(self.sites.settings.name.as_str());
        let (active, standby) = if here_is_active {
            (&self.sites.here, &self.sites.there)
        } else {
            (&self.sites.there, &self.sites.here)
        };
        let mut changed = Vec::new();
        for stream in self.sites.shared_streams(active).await? {
            let info =
                active.domain.info(&stream).await.map_err(|error| self.sites.site_error(active, error))?;
            let noted = standby
                .records
                .config(&stream)
                .await
                .map_err(|error| self.sites.site_error(standby, error))?;
            let subjects = noted.map(|noted| mirrors::subjects_of(&noted));
            if subjects != Some(info.config_subjects()) {
                changed.push(stream);
            }
        }
        Ok(changed)
    }
}

/// How much a standby has fetched of what its pair had at the first look. What is written later does not count, because it
/// has no end.
#[derive(Debug, Default)]
struct Fetched {
    /// The last sequence of each stream of the active region at the first look.
    goals: BTreeMap<String, u64>,
    least: Option<Left>,
}

/// What is left to do: regions that are neither active nor level, streams without a mirror, messages.
type Left = (usize, usize, u64);

impl Fetched {
    /// Whether less is left to do than ever before.
    fn comes_nearer(&mut self, status: &Status) -> bool {
        // Without the positions of the active region the remaining work is unknown.
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

    fn missing(&mut self, mirror: &MirrorView) -> u64 {
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
    role.map(|role| role.to_string()).unwrap_or_else(|| "without a role".to_owned())
}

fn check(name: &str, passed: bool, good: &str, bad: impl FnOnce() -> String) -> CheckView {
    let detail = if passed { good.to_owned() } else { bad() };
    CheckView { check: name.to_owned(), passed, detail }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(level: bool, mirrored: &[(u64, u64)]) -> Status {
        let record = |role, level| {
            let (since_ms, by) = (0, String::new());
            Some(Record { role, epoch: 2, since_ms, by, level, promotion: None })
        };
        let mirrors = mirrored.iter().enumerate().map(|(number, (last, origin_last))| MirrorView {
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
