//! What exists during a round: two regions, perhaps a witness, the services, and the log of the clients.

use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Context;

use crate::cluster::member::Member;
use crate::cluster::recovery;
use crate::cluster::region::{Region, nats_url, start_witness};
use crate::cluster::trial::Trial;
use crate::dice::Dice;
use crate::load::{Load, Pace};
use crate::posts::Acknowledgement;
use crate::regions::region_client::RegionClient;
use crate::regions::sites::RegionSites;
use crate::rig::Rig;

/// The places of the regions in every list of both. East is at home.
pub const EAST: usize = 0;
pub const WEST: usize = 1;

/// How both regions are set up.
#[derive(Debug, Clone, Copy)]
pub struct Setup {
    pub semi_sync: bool,
    pub witness: bool,
}

pub struct Stage<'a> {
    pub sites: &'a RegionSites,
    pub regions: [Region; 2],
    pub witness: Option<Member>,
    pub trial: Trial,
    pub clients: [RegionClient; 2],
}

impl<'a> Stage<'a> {
    pub async fn open(
        rig: &Rig,
        seed: u64,
        directory: &Path,
        sites: &'a RegionSites,
        setup: Setup,
    ) -> anyhow::Result<Stage<'a>> {
        let mut more = String::new();
        if setup.semi_sync {
            more.push_str("semi_sync = true\n");
        }
        let mut witness = None;
        if setup.witness {
            more.push_str(&format!("witness = [{:?}]\n", nats_url(&sites.third)));
            let mut started = start_witness(&sites.third, &sites.programs, directory)?;
            started.well().await?;
            witness = Some(started);
        }
        let [mut east, mut west] = start(sites, &more, directory).await?;
        east.well().await?;
        for instance in &mut west.instances {
            instance.answers("/livez").await?;
        }
        let trial = Trial::start(rig, seed, directory, &sites.network).await?;
        trial.apply(&east.addresses()).await?;
        let clients =
            [RegionClient::new("east", east.addresses()), RegionClient::new("west", west.addresses())];
        clients[WEST].standing_by().await?;
        Ok(Stage { sites, regions: [east, west], witness, trial, clients })
    }

    pub fn name(&self, region: usize) -> &'static str {
        self.sites.layouts[region].name
    }

    pub fn addresses(&self, region: usize) -> Vec<SocketAddr> {
        self.regions[region].addresses()
    }

    /// Whether an instance belongs to a region.
    pub fn is_of(&self, region: usize, ip: IpAddr) -> bool {
        self.regions[region].addresses().iter().any(|address| address.ip() == ip)
    }

    /// What a region has acknowledged since then, in the order it was heard.
    pub fn answers_of(&self, region: usize, since: Instant) -> Vec<Acknowledgement> {
        let mut answers = self.trial.posts.answers();
        answers.retain(|yes| yes.at >= since && self.is_of(region, yes.by.ip()));
        answers
    }

    /// Clients that begin at one region, and go to the other one when they are refused.
    pub fn load(&self, region: usize, pace: Pace, dice: &mut Dice) -> Load {
        let near = self.addresses(region);
        let all = [near.clone(), self.addresses(1 - region)].concat();
        self.trial.load_within(&all, near.len(), pace, dice)
    }

    /// How long it took from then until every partition of a region has taken a request; none if one never does.
    pub async fn takes_requests(&self, region: usize, number: usize, since: Instant) -> Option<Duration> {
        recovery::all_take_requests(&self.addresses(region), &self.trial.posts, number, since).await
    }
}

/// NATS in both regions first: a region that has never been anything waits for a word of its pair. Then one instance of
/// each: when several make the first streams of an installation at the same moment, NATS may answer none of them, and
/// all wait for that.
async fn start(sites: &RegionSites, more: &str, directory: &Path) -> anyhow::Result<[Region; 2]> {
    let [east, west] = &sites.layouts;
    let mut regions = Vec::new();
    for (here, pair) in [(east, west), (west, east)] {
        let mut region = Region::new(here, Some((pair, more)), &sites.programs, directory, None)?;
        region.start_nats()?;
        regions.push(region);
    }
    for region in &mut regions {
        region.nats_well().await?;
        region.instances.first_mut().context("a region has instances")?.start()?;
    }
    for region in &mut regions {
        let mut instances = region.instances.iter_mut();
        instances.next().context("a region has instances")?.answers("/livez").await?;
        instances.try_for_each(Member::start)?;
    }
    regions.try_into().ok().context("two were made")
}
