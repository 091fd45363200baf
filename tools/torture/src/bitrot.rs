//! Damage to one file after another of a data directory that holds something of everything.

mod base;
mod damage;
mod inventory;
mod open;
mod sort;
mod target;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use anyhow::{Context, ensure};
use clap::Args;

use self::base::Base;
use self::damage::{Damage, FileKind, WAYS};
pub use self::open::OpenDamaged;
use self::open::Opener;
use self::sort::{DamageClass, OpenResult, sort};
use crate::dice::Dice;
use crate::process::Sortie;
use crate::report::{Closing, RoundResult};
use crate::rig::{Rig, TOKEN};

const PARTITIONS: u16 = 4;
const KINDS: [FileKind; 8] = [
    FileKind::Superblock,
    FileKind::Segment,
    FileKind::Snapshot,
    FileKind::ControlSnapshot,
    FileKind::Manifest,
    FileKind::Table,
    FileKind::Secrets,
    FileKind::Other,
];
/// Directories that are opened at once.
const LANES: usize = 2;
/// One in so many is opened by the real binary, twice; the others within this program, by the same start code.
const REAL_ONE_IN: usize = 10;

/// Damage one file of a data directory at a time, open it, and look for anything lost or wrong without a word
#[derive(Args)]
pub struct Bitrot {
    /// How many damages
    #[arg(long, default_value_t = 500)]
    n: usize,
    #[command(flatten)]
    rig: Rig,
}

/// What a damage came to.
struct Outcome {
    kind: FileKind,
    what: String,
    class: DamageClass,
}

impl Bitrot {
    pub async fn run(self) -> anyhow::Result<RoundResult> {
        ensure!(self.n > 0, "--n is at least 1");
        self.rig.within("bitrot", async |seed, directory| self.torture(seed, directory).await).await
    }

    async fn torture(&self, seed: u64, directory: &Path) -> anyhow::Result<RoundResult> {
        let mut dice = Dice::new(seed);
        let target = target::start().await?;
        let began = Instant::now();
        let mut base = base::make(&self.rig.bin, directory, target, &mut dice).await?;
        self.fill_book(&mut base, directory, &mut dice).await?;
        println!(
            "  a directory with {} runs and {} files, made in {:.1} s",
            base.inventory.runs.len(),
            base.files.len(),
            began.elapsed().as_secs_f64()
        );
        let closing = Closing::new("bitrot");
        let damages = draw_all(&base, self.n, &mut dice);
        let (real, offline): (Vec<_>, Vec<_>) =
            damages.into_iter().enumerate().partition(|(index, _)| index % REAL_ONE_IN == 0);
        let base = Arc::new(base);
        let lanes = start_lanes(&base, offline, directory)?;
        let mut outcomes = Vec::new();
        for (number, damage) in real {
            outcomes.push(self.open_real(&base, number, damage, directory, &mut dice).await?);
        }
        for lane in lanes {
            outcomes.extend(lane.await.context("a lane of openings")??);
        }
        Ok(close(&outcomes, closing).print(seed))
    }

    /// Opens the whole directory with the real binary, notes what it shows, and sees that it shows it again.
    async fn fill_book(&self, base: &mut Base, directory: &Path, dice: &mut Dice) -> anyhow::Result<()> {
        let place = directory.join("whole");
        damage::write(&base.files, None, &place.join("server"))?;
        let sortie = Sortie::new(&self.rig.bin, &place, TOKEN, dice)?.surrounded_by(base::surroundings());
        let mut running = sortie.start()?;
        running.ready().await?;
        base.inventory.fill(sortie.address, Some(TOKEN)).await.context("reading the whole directory")?;
        let examined = base.inventory.examine(sortie.address, Some(TOKEN)).await?;
        ensure!(
            examined.wrong.is_empty() && examined.stopped.is_empty() && examined.withheld.is_empty(),
            "the whole directory is not as it should be: {examined:?}"
        );
        running.stop().await
    }

    /// Opens a damaged copy with the real binary, twice: what the first life did must not hide anything.
    async fn open_real(
        &self,
        base: &Base,
        number: usize,
        damage: Damage,
        directory: &Path,
        dice: &mut Dice,
    ) -> anyhow::Result<Outcome> {
        let place = directory.join(format!("real-{number}"));
        damage::write(&base.files, Some(&damage), &place.join("server"))?;
        let sortie = Sortie::new(&self.rig.bin, &place, TOKEN, dice)?.surrounded_by(base::surroundings());
        let mut class = DamageClass::Harmless;
        for life in 1..=2 {
            let mut running = sortie.start()?;
            let told = match running.answered().await? {
                Some(ended) => OpenResult::Refused { message: ended.to_string() },
                None => OpenResult::Opened(base.inventory.examine(sortie.address, Some(TOKEN)).await?),
            };
            let refused = matches!(told, OpenResult::Refused { .. });
            if !refused {
                running.stop().await?;
            }
            class = class.worse(sort(&damage, told, &sortie.log_text(), life));
            if refused {
                break;
            }
        }
        if !matches!(class, DamageClass::Broken(_)) {
            std::fs::remove_dir_all(&place)?;
        }
        Ok(Outcome { kind: damage.kind, what: format!("{damage} (real, {number})"), class })
    }
}

/// Kinds and ways by turns, so that every pair that is possible comes up.
fn draw_all(base: &Base, count: usize, dice: &mut Dice) -> Vec<Damage> {
    let pairs = WAYS.iter().flat_map(|way| KINDS.iter().map(move |kind| (*kind, *way)));
    let mut drawn = Vec::new();
    for (kind, way) in pairs.cycle().take(20 * count) {
        // Files that count for much have more places that can be hit.
        let draws = match kind {
            FileKind::Segment | FileKind::Table => 3,
            FileKind::Other => usize::from(drawn.len() % 5 == 0),
            _ => 1,
        };
        for _ in 0..draws {
            if drawn.len() == count {
                return drawn;
            }
            drawn.extend(damage::draw(&base.files, &base.older, kind, way, dice));
        }
    }
    drawn
}

type Lane = tokio::task::JoinHandle<anyhow::Result<Vec<Outcome>>>;

fn start_lanes(
    base: &Arc<Base>,
    damages: Vec<(usize, Damage)>,
    directory: &Path,
) -> anyhow::Result<Vec<Lane>> {
    let inventory = directory.join("inventory.json");
    std::fs::write(&inventory, serde_json::to_vec(&base.inventory)?).context("writing the inventory")?;
    let queue = Arc::new(Mutex::new(damages.into_iter()));
    let lane = |lane: usize| {
        let (base, queue, inventory) = (base.clone(), queue.clone(), inventory.clone());
        let directory = directory.join(format!("lane-{lane}"));
        tokio::task::spawn_blocking(move || {
            let mut opener = Opener::new(&inventory, &directory)?;
            let mut outcomes = Vec::new();
            loop {
                let next = queue.lock().expect("nobody panics while holding the queue").next();
                let Some((number, damage)) = next else { return Ok(outcomes) };
                let (told, log) = opener.open(&base.files, &damage, number)?;
                let class = sort(&damage, told, &log, 1);
                let what = format!("{damage} ({number})");
                outcomes.push(Outcome { kind: damage.kind, what, class });
            }
        })
    };
    Ok((0..LANES).map(lane).collect())
}

/// A line for each kind of file, and the counts of all.
fn close(outcomes: &[Outcome], mut closing: Closing) -> Closing {
    let mut by_kind: BTreeMap<FileKind, [u32; 3]> = BTreeMap::new();
    for outcome in outcomes {
        let place = match &outcome.class {
            DamageClass::Detected => 0,
            DamageClass::Harmless => 1,
            DamageClass::Broken(why) => {
                closing.add_finding(format!("{}: {why}", outcome.what));
                2
            }
        };
        by_kind.entry(outcome.kind).or_default()[place] += 1;
    }
    for (kind, [detected, harmless, silent]) in &by_kind {
        println!("  {kind:?}: {detected} detected, {harmless} harmless, {silent} silent");
    }
    let sum = |place: usize| by_kind.values().map(|counts| counts[place]).sum::<u32>();
    closing.count(outcomes.len() as u64, "damages");
    closing.count(sum(0), "detected");
    closing.count(sum(1), "harmless");
    closing.count(sum(2), "silent");
    closing
}
