//! Three nats-servers and three instances under load: killed, frozen, cut off, and one disk filled; then an audit.

pub mod chain;
mod faults;
mod full_disk;
pub mod jobs;
pub mod member;
pub mod network;
pub mod recovery;
pub mod region;
pub mod relay;
pub mod settle;
pub mod trial;

use std::path::{Path, PathBuf};

use anyhow::ensure;
use clap::Args;

use crate::cluster::faults::{Fault, Faults, Timing};
use crate::cluster::full_disk::FullDisk;
use crate::cluster::jobs::Jobs;
use crate::cluster::network::Network;
use crate::cluster::region::{Layout, MEMBERS, Programs, Region};
use crate::cluster::trial::Trial;
use crate::dice::Dice;
use crate::report::{Closing, RoundResult};
use crate::rig::Rig;

/// Jobs that fire every second all through it.
const JOBS: u32 = 8;

/// Kill, freeze and cut off members of a cluster under load, fill a disk, and audit every promise
#[derive(Args)]
pub struct Cluster {
    /// How many faults, each kind in turn
    #[arg(long, default_value_t = 22)]
    n: usize,
    /// Only these kinds
    #[arg(long, value_delimiter = ',')]
    only: Vec<Fault>,
    /// Shorter pauses and fewer faults: what is part of every test run
    #[arg(long)]
    short: bool,
    /// The nats-server, 2.15 or newer; by default the one that `cargo xtask brokers` has installed
    #[arg(long, env = "SORTIE_NATS_SERVER", value_name = "PATH")]
    nats_server: Option<PathBuf>,
    #[command(flatten)]
    rig: Rig,
}

impl Cluster {
    pub async fn run(self) -> anyhow::Result<RoundResult> {
        ensure!(self.n > 0, "--n is at least 1");
        self.rig.within("cluster", async |seed, directory| self.torture(seed, directory).await).await
    }

    async fn torture(&self, seed: u64, directory: &Path) -> anyhow::Result<RoundResult> {
        let mut closing = Closing::new("cluster");
        let mut dice = Dice::new(seed);
        let mut network = Network::make(&mut closing);
        let wanted = self.faults(&network, &mut dice);
        let disk = match wanted.contains(&Fault::FullDisk) {
            true => FullDisk::make(directory, &mut closing),
            false => None,
        };
        let programs =
            Programs { sortie: self.rig.bin.clone(), nats: nats_server(self.nats_server.as_deref())? };
        let layout = Layout::new("local", &mut network, 11, MEMBERS)?;
        let store = disk.as_ref().map(FullDisk::path);
        let mut region = Region::new(&layout, None, &programs, directory, store)?;
        region.start_nats()?;
        region.nats_well().await?;
        region.start_instances()?;
        region.well().await?;
        let trial = Trial::start(&self.rig, seed, directory, &network).await?;
        trial.apply(&region.addresses()).await?;
        let timing = if self.short { Timing::SHORT } else { Timing::FULL };
        let seconds = timing.seconds_at_most() * wanted.len() as u64;
        let jobs = Jobs::start(JOBS, seconds, &region.addresses(), trial.target.address).await?;
        let load = trial.load(&region.addresses(), &mut dice);
        let mut faults = Faults { region: &mut region, network: &network, disk, trial: &trial, dice, timing };
        let tally = faults.run(&wanted).await?;
        load.stop().await;
        let findings = trial.settle_and_audit(&mut region).await?;
        tally.report(&mut closing);
        closing.audited(&trial.posts, &findings);
        jobs.judge(&region.addresses(), &trial.target, &mut closing).await?;
        chain::check(&layout, &mut closing).await?;
        Ok(closing.print(seed))
    }

    /// Each kind once per turn, in a random order.
    fn faults(&self, network: &Network, dice: &mut Dice) -> Vec<Fault> {
        let all: &[Fault] = if self.short { &Fault::SHORT } else { &Fault::ALL };
        let chosen = if self.only.is_empty() { all } else { &self.only[..] };
        let possible: Vec<Fault> =
            chosen.iter().copied().filter(|fault| network.can_cut() || !fault.cuts()).collect();
        let count = if self.short { possible.len() } else { self.n };
        let mut faults = Vec::new();
        while faults.len() < count && !possible.is_empty() {
            let mut turn = possible.clone();
            while !turn.is_empty() {
                faults.push(turn.swap_remove(dice.range(0, turn.len() as u64) as usize));
            }
        }
        faults.truncate(count);
        faults
    }
}

/// The server that is named, or the one that the tests have installed.
pub fn nats_server(named: Option<&Path>) -> anyhow::Result<PathBuf> {
    match named {
        Some(path) => {
            ensure!(path.is_file(), "{} is not a file", path.display());
            Ok(path.to_owned())
        }
        None => test_brokers::nats_server(),
    }
}
