//! Trying out whether a switch would work, and making one there and back.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::sync::watch;
use tokio::time::{Instant, sleep};

use super::attend::Leases;
use super::mirrors;
use super::promote::{Mode, Promoted};
use super::reach::Reach;
use super::role::Role;
use super::{Inner, RegionError, Regions, Settings, Side, Status};

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
            self.inner.wait_until_ready().await?;
            let promoted = target.promote(Mode::Planned).await?;
            drill.switches.push((target.settings.name.clone(), promoted));
        }
        self.inner.look().await?;
        Ok(drill)
    }
}

impl Inner {
    /// The same two regions with the other one as this one. It follows nothing, and is for one call.
    fn turned(&self) -> Inner {
        let Settings { name, domain, pair, pair_domain, .. } = self.settings.clone();
        let settings = Settings {
            name: pair,
            domain: pair_domain,
            pair: name,
            pair_domain: domain,
            ..self.settings.clone()
        };
        Inner {
            side: Side::of(&settings.name, &settings.pair),
            client: self.client.clone(),
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

    /// Waits until a switch would work: the region that was active before takes a moment until it mirrors.
    async fn wait_until_ready(&self) -> Result<(), RegionError> {
        let deadline = Instant::now() + self.settings.patience * 2;
        loop {
            let failed = self.checks().await?.into_iter().find(|check| !check.passed);
            match failed {
                None => return Ok(()),
                Some(_) if Instant::now() < deadline => sleep(LOOK_EVERY).await,
                Some(check) => {
                    let reason = format!("{}: {}", check.check, check.detail);
                    return Err(RegionError::NotPromotable { region: self.settings.pair.clone(), reason });
                }
            }
        }
    }

    async fn checks(&self) -> Result<Vec<Check>, RegionError> {
        let status = self.status().await?;
        let reachable = check("the pair answers", status.pair_reachable, "", || {
            format!("{} does not answer through the leaf link", status.pair)
        });
        if !status.pair_reachable {
            return Ok(vec![reachable]);
        }
        let roles = (role_of(&status, true), role_of(&status, false));
        let one = matches!(
            roles,
            (Some(Role::Active), Some(Role::Standby)) | (Some(Role::Standby), Some(Role::Active))
        );
        let active =
            check("one is active and one stands by", one, status.active().unwrap_or_default(), || {
                format!("{} is {}, {} is {}", status.region, word(roles.0), status.pair, word(roles.1))
            });
        let behind: Vec<_> = status.mirrors.iter().filter(|mirror| mirror.is_behind()).collect();
        let counted = format!("{} streams", status.mirrors.len());
        let current = check("the mirrors are there and current", behind.is_empty(), &counted, || {
            let told = behind.iter().map(|mirror| match mirror.lag {
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
        let changed = self.changed_configs(&status).await?;
        let configs = check("the streams would open as they are", changed.is_empty(), "", || {
            format!("not noted yet how {} is configured", changed.join(", "))
        });
        let mut checks = vec![reachable, active, current, level, link, configs];
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
            let info = active.domain.info(&stream).await.map_err(|error| self.seat_error(active, error))?;
            let noted =
                standby.book.config(&stream).await.map_err(|error| self.seat_error(standby, error))?;
            let subjects = noted.map(|noted| mirrors::subjects_of(&noted));
            if subjects != Some(info.config_subjects()) {
                changed.push(stream);
            }
        }
        Ok(changed)
    }
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
