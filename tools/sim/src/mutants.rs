//! Whether the simulator finds bugs: it must catch every faulty decorator and every mutation of the source.

use std::fmt;
use std::path::Path;
use std::process::Command;

use anyhow::Context;
use serde::Deserialize;

use crate::campaign::Campaign;
use crate::checkers::Violation;
use crate::cluster::Clusters;
use crate::faults::{self, Fault};
use crate::mutations::{self, Mutation};
use crate::simulate::SingleInstance;

/// Which of the two simulations must catch a bug.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Simulation {
    /// One instance on a disk.
    #[default]
    Single,
    /// Several instances on NATS.
    Cluster,
}

/// A bug that the simulator must catch.
enum Mutant<'a> {
    /// In a decorator of the simulator.
    Fault(Fault),
    /// In a copy of the source.
    Mutation(&'a Mutation),
}

/// How a bug was caught.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Caught {
    /// Seeds simulated until then.
    seeds: u64,
    id: String,
    what: String,
}

/// A hunting simulator begins the line with its catch like this.
const CAUGHT: &str = "caught:";

/// Seeds of each simulation that the mutated build must pass while no mutation is awake.
const BASELINE_SEEDS: u64 = 100;

/// Activates every bug in turn. True when all are caught.
pub fn catch_all(campaign: Campaign) -> anyhow::Result<bool> {
    let mutations = mutations::all()?;
    let mutated = mutations::build(&mutations)?;
    check_baseline(campaign, &mutated)?;
    let mutants: Vec<Mutant<'_>> = mutants(&mutations).collect();
    let mut needed = Vec::new();
    for mutant in &mutants {
        match mutant.catch(campaign, &mutated) {
            Ok(Some(Caught { seeds, id, what })) => {
                println!("caught  {:<26} {seeds:>4} by {id:<4} {what}", mutant.name());
                needed.push(seeds);
            }
            Ok(None) => println!("MISSED  {:<26} {:>4} {}", mutant.name(), campaign.seeds, mutant.breaks()),
            // A simulator that breaks down has caught nothing, but the others still count.
            Err(error) => println!("FAILED  {:<26} {error:#}", mutant.name()),
        }
    }
    needed.sort_unstable();
    let median = needed.get(needed.len() / 2).copied().unwrap_or_default();
    println!(
        "sim: caught {} of {} mutants; median seeds to catch one: {median}",
        needed.len(),
        mutants.len()
    );
    Ok(needed.len() == mutants.len())
}

/// Activates one bug. True when it is caught.
pub fn catch_one(name: &str, campaign: Campaign) -> anyhow::Result<bool> {
    let mutations = mutations::all()?;
    let mutant = find(name, &mutations)?;
    let caught = match &mutant {
        Mutant::Fault(_) => mutant.catch(campaign, Path::new(""))?,
        Mutant::Mutation(_) => {
            let mutated = mutations::build(&mutations)?;
            check_baseline(campaign, &mutated)?;
            mutant.catch(campaign, &mutated)?
        }
    };
    match &caught {
        Some(caught) => {
            println!("sim: the mutant {name} was caught after {} seeds by {}", caught.seeds, caught.id);
        }
        None => println!("sim: the mutant {name} was not caught in {} seeds", campaign.seeds),
    }
    Ok(caught.is_some())
}

/// Activates the bug for the rest of this command: wakes a fault, or runs the same command in the mutated
/// simulator; then whether that succeeded.
pub fn wake_for_replay(name: &str) -> anyhow::Result<Option<bool>> {
    let mutations = mutations::all()?;
    match find(name, &mutations)? {
        Mutant::Fault(fault) => {
            faults::wake(Some(fault));
            Ok(None)
        }
        Mutant::Mutation(mutation) => {
            let mut replay = Command::new(mutations::build(&mutations)?);
            let mut arguments = std::env::args_os().skip(1);
            while let Some(argument) = arguments.next() {
                if argument == "--bug" {
                    arguments.next();
                } else if !argument.to_string_lossy().starts_with("--bug=") {
                    replay.arg(argument);
                }
            }
            let status = replay.env(mutations::SWITCH, &mutation.name).status();
            Ok(Some(status.context("starting the mutated simulator")?.success()))
        }
    }
}

/// Simulates seeds until one fails, and prints what broke for the process that started this one.
pub fn hunt(simulation: Simulation, campaign: Campaign) -> anyhow::Result<bool> {
    if let Some(caught) = first_violation(simulation, campaign)? {
        println!("{caught}");
    }
    Ok(true)
}

fn mutants(mutations: &[Mutation]) -> impl Iterator<Item = Mutant<'_>> {
    let faults = Fault::ALL.iter().map(|fault| Mutant::Fault(*fault));
    faults.chain(mutations.iter().map(Mutant::Mutation))
}

fn find<'a>(name: &str, mutations: &'a [Mutation]) -> anyhow::Result<Mutant<'a>> {
    let names = || mutants(mutations).map(|mutant| mutant.name().to_owned()).collect::<Vec<_>>().join(", ");
    mutants(mutations)
        .find(|mutant| mutant.name() == name)
        .with_context(|| format!("no mutant is named {name}; the names are {}", names()))
}

fn first_violation(simulation: Simulation, campaign: Campaign) -> anyhow::Result<Option<Caught>> {
    let (seeds, violation) = match simulation {
        Simulation::Single => campaign.first_violation(&SingleInstance)?,
        Simulation::Cluster => campaign.first_violation(&Clusters::new()?)?,
    };
    Ok(violation.map(|violation| Caught::new(seeds, &violation)))
}

impl Mutant<'_> {
    fn name(&self) -> &str {
        match self {
            Mutant::Fault(fault) => fault.name(),
            Mutant::Mutation(mutation) => &mutation.name,
        }
    }

    fn breaks(&self) -> &str {
        match self {
            Mutant::Fault(fault) => fault.breaks(),
            Mutant::Mutation(mutation) => &mutation.breaks,
        }
    }

    fn catch(&self, campaign: Campaign, mutated: &Path) -> anyhow::Result<Option<Caught>> {
        match self {
            Mutant::Fault(fault) => {
                faults::wake(Some(*fault));
                let caught = first_violation(fault.simulation(), campaign);
                faults::wake(None);
                caught
            }
            Mutant::Mutation(mutation) => hunt_in(mutated, mutation.simulation, &mutation.name, campaign),
        }
    }
}

/// An edit that changes something while its switch is off would be caught for the wrong reason.
fn check_baseline(campaign: Campaign, mutated: &Path) -> anyhow::Result<()> {
    let campaign = Campaign { seeds: BASELINE_SEEDS, ..campaign };
    for simulation in [Simulation::Single, Simulation::Cluster] {
        let caught = hunt_in(mutated, simulation, "", campaign)
            .context("playing the mutated simulator with no mutation awake")?;
        if let Some(Caught { id, what, .. }) = caught {
            anyhow::bail!("the mutated simulator fails with no mutation awake: {id} {what}");
        }
    }
    println!("sim: with no mutation awake, {BASELINE_SEEDS} seeds of each simulation break nothing");
    Ok(())
}

/// Simulates seeds in another process, in which the named mutation is awake, until one fails.
fn hunt_in(
    mutated: &Path,
    simulation: Simulation,
    mutation: &str,
    campaign: Campaign,
) -> anyhow::Result<Option<Caught>> {
    let mut hunt = Command::new(mutated);
    hunt.arg("--hunt").env(mutations::SWITCH, mutation);
    hunt.arg(match simulation {
        Simulation::Single => "--alone",
        Simulation::Cluster => "--cluster",
    });
    hunt.args(["--from", &campaign.from.to_string(), "--seeds", &campaign.seeds.to_string()]);
    hunt.args(["--threads", &campaign.threads.to_string()]);
    let output = hunt.output().context("starting the mutated simulator")?;
    let printed = String::from_utf8_lossy(&output.stdout);
    if let Some(caught) = printed.lines().find_map(Caught::parse) {
        return Ok(Some(caught));
    }
    let error = String::from_utf8_lossy(&output.stderr);
    anyhow::ensure!(output.status.success(), "the mutated simulator: {}: {error}", output.status);
    Ok(None)
}

impl Caught {
    fn new(seeds: u64, violation: &Violation) -> Caught {
        let what = violation.what.chars().take(80).map(|char| if char == '\n' { ' ' } else { char });
        Caught { seeds, id: violation.id.to_owned(), what: what.collect() }
    }

    /// Reads what [`hunt`] prints.
    fn parse(line: &str) -> Option<Caught> {
        let mut words = line.strip_prefix(CAUGHT)?.trim_start().splitn(3, ' ');
        let seeds = words.next()?.parse().ok()?;
        Some(Caught { seeds, id: words.next()?.to_owned(), what: words.next()?.to_owned() })
    }
}

impl fmt::Display for Caught {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{CAUGHT} {} {} {}", self.seeds, self.id, self.what)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bugs that the first release of the simulator was measured with; none may get lost.
    const MUTANTS_MIN: usize = 74;

    #[test]
    fn every_mutant_has_a_name_of_its_own() {
        let mutations = mutations::all().unwrap();
        let names: std::collections::BTreeSet<String> =
            mutants(&mutations).map(|mutant| mutant.name().to_owned()).collect();
        assert_eq!(names.len(), mutants(&mutations).count());
        assert!(names.len() >= MUTANTS_MIN, "{} mutants", names.len());
        assert!(find("no-such-mutant", &mutations).is_err());
    }

    #[test]
    fn a_catch_is_read_back_as_it_was_printed() {
        let violation = Violation { id: "I1", what: "acknowledged,\nthen lost".to_owned() };
        let caught = Caught::new(7, &violation);
        assert_eq!(Caught::parse(&caught.to_string()), Some(caught));
        assert_eq!(Caught::parse("sim: 3 seeds"), None);
    }
}
