//! The faults of a cluster, one after another under load, and how long it took until all partitions went on.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use clap::ValueEnum;

use crate::client::Client;
use crate::cluster::full_disk::FullDisk;
use crate::cluster::member::Member;
use crate::cluster::network::{MemberAddress, Network};
use crate::cluster::recovery;
use crate::cluster::region::{MEMBERS, Region};
use crate::cluster::trial::Trial;
use crate::dice::Dice;
use crate::report::Closing;
use crate::rig::TOKEN;

/// The metric that counts partitions whose owner was refused because another had taken them.
const OVERTAKEN: &str = "sortie_partitions_overtaken_total";

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum Fault {
    /// SIGKILL to an instance.
    KillSortie,
    /// SIGSTOP to an instance for longer than others wait for it.
    FreezeSortie,
    /// SIGTERM to an instance: it hands over.
    StopSortie,
    KillNats,
    FreezeNats,
    StopNats,
    /// An instance and a NATS node at once.
    KillBoth,
    /// Everybody at once.
    KillAll,
    CutSortie,
    CutNats,
    /// An instance and a NATS node that still reach each other.
    CutBoth,
    /// The disk of one NATS node.
    FullDisk,
}

impl Fault {
    pub const ALL: [Fault; 12] = [
        Fault::KillSortie,
        Fault::FreezeSortie,
        Fault::StopSortie,
        Fault::KillNats,
        Fault::FreezeNats,
        Fault::StopNats,
        Fault::KillBoth,
        Fault::KillAll,
        Fault::CutSortie,
        Fault::CutNats,
        Fault::CutBoth,
        Fault::FullDisk,
    ];
    pub const SHORT: [Fault; 2] = [Fault::FreezeSortie, Fault::CutBoth];

    pub fn cuts(self) -> bool {
        matches!(self, Fault::CutSortie | Fault::CutNats | Fault::CutBoth)
    }

    fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }
}

/// How long a fault lasts, from least to most, in seconds.
#[derive(Clone, Copy)]
pub struct Timing {
    lasts: (u64, u64),
    /// Frozen instances sleep longer than their keys live, so that another has taken over when they wake up.
    sleeps: (u64, u64),
    between: Duration,
}

impl Timing {
    pub const FULL: Timing = Timing { lasts: (5, 15), sleeps: (10, 16), between: Duration::from_secs(3) };
    pub const SHORT: Timing = Timing { lasts: (5, 6), sleeps: (10, 11), between: Duration::from_millis(500) };

    /// For the plans of jobs: they fire all through the faults.
    pub fn seconds_at_most(self) -> u64 {
        self.sleeps.1 + 4
    }
}

pub struct Faults<'a> {
    pub region: &'a mut Region,
    pub network: &'a Network,
    pub disk: Option<FullDisk>,
    pub trial: &'a Trial,
    pub dice: Dice,
    pub timing: Timing,
}

/// What was seen.
#[derive(Default)]
pub struct Tally {
    /// By fault: from the fault until every partition had acknowledged a request.
    back: BTreeMap<Fault, Vec<Duration>>,
    stuck: Vec<String>,
    /// Partitions lost to another, as woken instances counted them.
    refused: u64,
    slept: u32,
    faults: u32,
}

impl Faults<'_> {
    pub async fn run(&mut self, wanted: &[Fault]) -> anyhow::Result<Tally> {
        let mut tally = Tally::default();
        for (round, fault) in wanted.iter().enumerate() {
            if *fault == Fault::FullDisk && self.disk.is_none() {
                continue;
            }
            self.trial.posts.begin_round();
            tokio::time::sleep(self.timing.between).await;
            let took = self.strike(*fault, round, &mut tally).await?;
            let said = took.map_or("never".to_owned(), |took| format!("{:.1} s", took.as_secs_f64()));
            println!("{:>2} {:14} all partitions took requests again after {said}", round + 1, fault.name());
            match took {
                Some(took) => tally.back.entry(*fault).or_default().push(took),
                None => tally.stuck.push(fault.name()),
            }
            tally.faults += 1;
            self.region.well().await?;
            let addresses = self.region.addresses();
            let when = format!("after {}", fault.name());
            self.trial.spot_check(&addresses, &mut self.dice, &when).await?;
        }
        Ok(tally)
    }

    async fn strike(
        &mut self,
        fault: Fault,
        round: usize,
        tally: &mut Tally,
    ) -> anyhow::Result<Option<Duration>> {
        let victim = self.dice.range(0, MEMBERS as u64) as usize;
        let node = self.dice.range(0, MEMBERS as u64) as usize;
        match fault {
            Fault::KillSortie => self.kill(round, &[victim], &[]).await,
            Fault::KillNats => self.kill(round, &[], &[node]).await,
            Fault::KillBoth => self.kill(round, &[victim], &[node]).await,
            Fault::KillAll => self.kill_all(round).await,
            Fault::StopSortie | Fault::StopNats => self.stop(fault, victim, round).await,
            Fault::FreezeSortie => self.freeze_instance(victim, round, tally).await,
            Fault::FreezeNats => self.freeze_node(node, round).await,
            Fault::CutSortie => self.cut(round, &[victim], &[]).await,
            Fault::CutNats => self.cut(round, &[], &[node]).await,
            Fault::CutBoth => self.cut(round, &[victim], &[node]).await,
            Fault::FullDisk => self.fill(round).await,
        }
    }

    async fn kill(
        &mut self,
        round: usize,
        victims: &[usize],
        nodes: &[usize],
    ) -> anyhow::Result<Option<Duration>> {
        let began = Instant::now();
        for (member, _) in chosen(self.region, victims, nodes) {
            member.kill()?;
        }
        let took = self.probes(round, began, victims).await;
        tokio::time::sleep(self.lasts().saturating_sub(began.elapsed())).await;
        for (member, _) in chosen(self.region, victims, nodes) {
            member.start()?;
        }
        Ok(took)
    }

    async fn kill_all(&mut self, round: usize) -> anyhow::Result<Option<Duration>> {
        self.region.kill_all()?;
        let began = Instant::now();
        self.region.start_nats()?;
        self.region.start_instances()?;
        Ok(self.probes(round, began, &[]).await)
    }

    async fn stop(&mut self, fault: Fault, victim: usize, round: usize) -> anyhow::Result<Option<Duration>> {
        let began = Instant::now();
        let member = match fault {
            Fault::StopNats => &mut self.region.nats[victim],
            _ => &mut self.region.instances[victim],
        };
        member.ask_to_end()?;
        let victims: &[usize] = if fault == Fault::StopNats { &[] } else { &[victim] };
        let took = self.probes(round, began, victims).await;
        let member = match fault {
            Fault::StopNats => &mut self.region.nats[victim],
            _ => &mut self.region.instances[victim],
        };
        member.end_of_asked().await?;
        member.start()?;
        Ok(took)
    }

    /// The owner sleeps until others have its partitions; woken up, its next frames must be refused.
    async fn freeze_instance(
        &mut self,
        victim: usize,
        round: usize,
        tally: &mut Tally,
    ) -> anyhow::Result<Option<Duration>> {
        let address = self.region.instances[victim].address();
        let before = overtaken(address).await;
        let began = Instant::now();
        self.region.instances[victim].freeze()?;
        let took = self.probes(round, began, &[victim]).await;
        let sleeps = Duration::from_secs(self.dice.range(self.timing.sleeps.0, self.timing.sleeps.1));
        tokio::time::sleep(sleeps.saturating_sub(began.elapsed())).await;
        self.region.instances[victim].thaw()?;
        self.region.instances[victim].well().await?;
        // Its frames are refused by now, or it had none to write.
        tokio::time::sleep(Duration::from_secs(2)).await;
        let refused = overtaken(address).await.saturating_sub(before);
        println!(
            "   it slept for {:.1} s, and was refused {refused} partitions",
            began.elapsed().as_secs_f64()
        );
        tally.refused += refused;
        tally.slept += 1;
        Ok(took)
    }

    async fn freeze_node(&mut self, node: usize, round: usize) -> anyhow::Result<Option<Duration>> {
        let began = Instant::now();
        self.region.nats[node].freeze()?;
        let took = self.probes(round, began, &[]).await;
        tokio::time::sleep(self.lasts().saturating_sub(began.elapsed())).await;
        self.region.nats[node].thaw()?;
        Ok(took)
    }

    async fn cut(
        &mut self,
        round: usize,
        victims: &[usize],
        nodes: &[usize],
    ) -> anyhow::Result<Option<Duration>> {
        let began = Instant::now();
        let places: Vec<MemberAddress> =
            chosen(self.region, victims, nodes).map(|(_, place)| place).collect();
        let places: Vec<&MemberAddress> = places.iter().collect();
        self.network.cut(&places)?;
        let took = self.probes(round, began, victims).await;
        tokio::time::sleep(self.lasts().saturating_sub(began.elapsed())).await;
        self.network.heal(&places)?;
        Ok(took)
    }

    /// The node whose disk was full is started again when there is room: it does not trust itself any more.
    async fn fill(&mut self, round: usize) -> anyhow::Result<Option<Duration>> {
        let Some(disk) = &self.disk else { return Ok(None) };
        let began = Instant::now();
        disk.fill()?;
        let lasts = Duration::from_secs(self.dice.range(self.timing.lasts.0, self.timing.lasts.1));
        let took =
            recovery::all_take_requests(&self.region.addresses(), &self.trial.posts, round, began).await;
        while began.elapsed() < lasts {
            disk.fill()?;
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
        let node = self.region.nats.last_mut().expect("there are three");
        node.bury();
        disk.empty()?;
        node.start()?;
        Ok(took)
    }

    fn lasts(&mut self) -> Duration {
        Duration::from_secs(self.dice.range(self.timing.lasts.0, self.timing.lasts.1))
    }

    /// Asks those that can answer.
    async fn probes(&self, round: usize, began: Instant, except: &[usize]) -> Option<Duration> {
        let instances = self.region.instances.iter().enumerate();
        let addresses: Vec<SocketAddr> = instances
            .filter(|(place, _)| !except.contains(place))
            .map(|(_, member)| member.address())
            .collect();
        recovery::all_take_requests(&addresses, &self.trial.posts, round, began).await
    }
}

fn chosen<'a>(
    region: &'a mut Region,
    victims: &[usize],
    nodes: &[usize],
) -> impl Iterator<Item = (&'a mut Member, MemberAddress)> {
    let instances = region.instances.iter_mut().enumerate().filter(|(place, _)| victims.contains(place));
    let nodes = region.nats.iter_mut().enumerate().filter(|(place, _)| nodes.contains(place));
    instances.chain(nodes).map(|(_, member)| {
        let place = member.place.clone();
        (member, place)
    })
}

/// How often an instance was refused because another had taken its partition, in its present life.
async fn overtaken(address: SocketAddr) -> u64 {
    let mut client = Client::new(address, Some(TOKEN)).within(Duration::from_secs(5));
    let Ok(answer) = client.get("/metrics").await else { return 0 };
    let text = String::from_utf8_lossy(&answer.body).into_owned();
    let line = text.lines().find_map(|line| line.strip_prefix(OVERTAKEN)?.trim().parse::<f64>().ok());
    line.unwrap_or(0.0) as u64
}

impl Tally {
    pub fn report(&self, closing: &mut Closing) {
        for (fault, times) in &self.back {
            let most = times.iter().max().copied().unwrap_or_default();
            println!("{:14} {} times, slowest {:.1} s", fault.name(), times.len(), most.as_secs_f64());
        }
        closing.count(self.faults, "faults");
        closing.count(self.refused, "refused to woken owners");
        for fault in &self.stuck {
            closing.add_finding(format!("{fault}: some partition never took requests again"));
        }
        // One alone may have had nothing to write, or have heard of its successor first.
        if self.slept > 1 && self.refused == 0 {
            closing.add_finding("no owner that woke up was refused".to_owned());
        }
    }
}
