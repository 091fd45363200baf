//! Two regions under load: switched, lost, cut apart and brought back, with and without a witness; with RTO and RPO.

mod calls;
mod cut_link;
mod ending;
mod loss;
mod region_client;
mod semi_sync;
mod sites;
mod stage;
mod switches;
mod tail;
mod witness;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Context;
use clap::{Args, ValueEnum};

use crate::cluster::jobs::Jobs;
use crate::cluster::network::Network;
use crate::cluster::region::Programs;
use crate::cluster::{chain, nats_server};
use crate::dice::Dice;
use crate::report::{Closing, RoundResult};
use crate::rig::Rig;

use self::calls::Overtaken;
use self::sites::RegionSites;
use self::stage::{EAST, Setup, Stage};

/// Jobs that fire every second all through it.
const JOBS: u32 = 4;

/// Switch regions under load, lose the active one, cut them apart, let a witness decide, and audit every promise
#[derive(Args)]
pub struct Regions {
    /// Seconds of load between the steps
    #[arg(long, default_value_t = 8)]
    seconds: u64,
    /// Only these rounds
    #[arg(long, value_delimiter = ',')]
    only: Vec<Round>,
    /// The nats-server, 2.15 or newer; by default the one that `cargo xtask brokers` has installed
    #[arg(long, env = "SORTIE_NATS_SERVER", value_name = "PATH")]
    nats_server: Option<PathBuf>,
    #[command(flatten)]
    rig: Rig,
}

/// Each begins with two new regions, of which the east is active.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Round {
    /// A planned switch, the loss of the active region, its return, and a planned switch back.
    Switches,
    /// The link between the regions is cut and the standby is made active by force: both are active until it is restored.
    CutLink,
    /// Acknowledgements wait for the pair; the link is cut and then the active region is lost: nothing is lost with it.
    SemiSync,
    /// With a witness: the link between the regions is cut, and nothing is promoted.
    WitnessCutLink,
    /// With a witness: the active region is lost, and the standby promotes itself.
    WitnessLoss,
    /// With a witness: the active region is cut off from everything but its clients, and stops before the standby is active.
    WitnessCutOff,
    /// With a witness: the witness is lost, and the active region continues with the consent of its pair.
    WitnessGone,
}

const WITNESSED: [Round; 4] =
    [Round::WitnessCutLink, Round::WitnessLoss, Round::WitnessCutOff, Round::WitnessGone];

impl Round {
    fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }

    fn cuts(self) -> bool {
        !matches!(self, Round::Switches | Round::WitnessGone)
    }

    fn setup(self) -> Setup {
        Setup { semi_sync: self == Round::SemiSync, witness: WITNESSED.contains(&self) }
    }

    /// How long jobs fire: through all switches of the round.
    fn job_seconds(self, pause: u64) -> u64 {
        match self {
            Round::Switches => 5 * pause + 2 * switches::JOB_DUE_SECS,
            Round::CutLink => 4 * pause + 20,
            Round::SemiSync => 2 * pause + 12,
            Round::WitnessCutLink | Round::WitnessLoss | Round::WitnessCutOff | Round::WitnessGone => {
                2 * pause + 50
            }
        }
    }
}

/// A running round.
struct RoundContext<'a> {
    begun: Instant,
    stage: Stage<'a>,
    pause: Duration,
    dice: &'a mut Dice,
    closing: &'a mut Closing,
}

impl Regions {
    pub async fn run(self) -> anyhow::Result<RoundResult> {
        self.rig.within("region", async |seed, directory| self.torture(seed, directory).await).await
    }

    async fn torture(&self, seed: u64, directory: &Path) -> anyhow::Result<RoundResult> {
        let mut closing = Closing::new("region");
        let mut dice = Dice::new(seed);
        let programs =
            Programs { sortie: self.rig.bin.clone(), nats: nats_server(self.nats_server.as_deref())? };
        let sites = RegionSites::make(Network::make(&mut closing), programs)?;
        let rounds = self.rounds(&sites.network);
        closing.count(rounds.len() as u64, "rounds");
        for round in rounds {
            closing.begin_round(&round.name());
            let directory = directory.join(round.name());
            std::fs::create_dir(&directory).context("making a directory")?;
            let played = self.play(round, seed, &directory, &sites, &mut dice, &mut closing).await;
            if let Err(error) = played {
                // What was found before it broke off may be why.
                closing.print_findings();
                return Err(error).with_context(|| round.name());
            }
        }
        Ok(closing.print(seed))
    }

    fn rounds(&self, network: &Network) -> Vec<Round> {
        let chosen = if self.only.is_empty() { Round::value_variants() } else { &self.only[..] };
        chosen.iter().copied().filter(|round| network.can_cut() || !round.cuts()).collect()
    }

    async fn play(
        &self,
        round: Round,
        seed: u64,
        directory: &Path,
        sites: &RegionSites,
        dice: &mut Dice,
        closing: &mut Closing,
    ) -> anyhow::Result<()> {
        let stage = Stage::open(&self.rig, seed, directory, sites, round.setup()).await?;
        println!("{}: two regions are there", round.name());
        let target = stage.trial.target.address;
        let jobs = Jobs::start(JOBS, round.job_seconds(self.seconds), &stage.addresses(EAST), target).await?;
        let pause = Duration::from_secs(self.seconds);
        let mut play = RoundContext { begun: Instant::now(), stage, pause, dice, closing };
        let active = match round {
            Round::Switches => play.switches().await?,
            Round::CutLink => play.cut_link().await?,
            Round::SemiSync => play.semi_sync().await?,
            Round::WitnessCutLink => play.witness_cut_link().await?,
            Round::WitnessLoss => play.witness_loss().await?,
            Round::WitnessCutOff => play.witness_cut_off().await?,
            Round::WitnessGone => play.witness_gone().await?,
        };
        let RoundContext { stage, closing, .. } = play;
        jobs.judge(&stage.addresses(active), &stage.trial.target, closing).await?;
        let overtaken = if round == Round::CutLink { Overtaken::Calls } else { Overtaken::IsSilent };
        calls::judge(&stage, overtaken, closing);
        chain::check(&sites.layouts[active], closing).await
    }
}

impl RoundContext<'_> {
    async fn pause(&self) {
        tokio::time::sleep(self.pause).await;
    }
}

fn duration_text(time: Option<Duration>) -> String {
    time.map_or("never".to_owned(), |time| format!("{:.1} s", time.as_secs_f64()))
}
