//! The command line: every command with its options, and how each is run.

use std::ffi::OsString;
use std::future::Future;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::session::{Options, Session};
use crate::{
    bulk, cluster, completions, dev, doctor, exit_codes, job, parked, partition, queue, reference, region,
    roles, run, screen, serve, service, signals, simulate, top, topic, workflow,
};

/// Runs work across services reliably.
///
/// Sortie accepts requests, persists them, calls the services that the work needs, retries what can be
/// retried and undoes what must be undone.
#[derive(Debug, Parser)]
#[command(
    name = "sortie",
    version,
    after_help = "Examples:\n  sortie dev          start everything on this machine\n  sortie run list     list runs\n  \
                  sortie top          live overview of the server\n\n\
                  What the exit codes mean: sortie help exit-codes"
)]
pub struct Arguments {
    #[command(flatten)]
    options: Options,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Dev(dev::Dev),
    Serve(serve::Serve),
    #[command(subcommand)]
    Cluster(cluster::ClusterCommand),
    #[command(subcommand)]
    Workflow(workflow::WorkflowCommand),
    #[command(subcommand)]
    Run(run::RunCommand),
    #[command(subcommand)]
    Job(job::JobCommand),
    #[command(subcommand)]
    Queue(queue::QueueCommand),
    #[command(subcommand)]
    Topic(topic::TopicCommand),
    Parked(parked::ParkedArgs),
    #[command(subcommand)]
    Bulk(bulk::BulkCommand),
    #[command(subcommand)]
    Partition(partition::PartitionCommand),
    #[command(subcommand)]
    Region(region::RegionCommand),
    #[command(subcommand)]
    Service(service::Service),
    Top(top::Top),
    Simulate(simulate::Simulate),
    Doctor(doctor::Doctor),
    #[command(subcommand)]
    Bench(bench::Bench),
    Completions(completions::Completions),
    #[command(hide = true)]
    ExitCodes(exit_codes::ExitCodes),
    Reference(reference::Reference),
}

impl Arguments {
    /// The parsed command line, and the words of its command.
    pub fn read() -> Result<(Arguments, Vec<String>), clap::Error> {
        let matches = Arguments::command().try_get_matches()?;
        let arguments = Arguments::from_arg_matches(&matches)?;
        Ok((arguments, roles::words(&matches)))
    }

    /// Runs the command.
    pub fn run(self) -> anyhow::Result<ExitCode> {
        let options = self.options;
        screen::choose(options.color);
        match self.command {
            Command::Dev(dev) => on_all_cores(dev.run(options.json)),
            Command::Serve(serve) => on_all_cores(serve.run()),
            Command::Cluster(cluster) => on_all_cores(cluster.run(options)),
            Command::Workflow(command) => on_one_core(async { command.run(Session::new(&options)?).await }),
            Command::Run(command) => on_one_core(async { command.run(Session::new(&options)?).await }),
            Command::Job(command) => on_one_core(async { command.run(Session::new(&options)?).await }),
            Command::Queue(command) => on_one_core(async { command.run(Session::new(&options)?).await }),
            Command::Topic(command) => on_one_core(async { command.run(Session::new(&options)?).await }),
            Command::Parked(command) => on_one_core(async { command.run(Session::new(&options)?).await }),
            Command::Bulk(command) => on_one_core(async { command.run(Session::new(&options)?).await }),
            Command::Partition(command) => on_one_core(async { command.run(Session::new(&options)?).await }),
            Command::Region(command) => on_one_core(async { command.run(Session::new(&options)?).await }),
            Command::Service(command) => on_one_core(async { command.run(Session::new(&options)?).await }),
            Command::Top(top) => on_one_core(async { top.run(Session::new(&options)?).await }),
            Command::Doctor(doctor) => on_one_core(async { doctor.run(Session::new(&options)?).await }),
            Command::Simulate(simulate) => simulate.run(options.json),
            Command::Bench(bench) => {
                on_all_cores(signals::unless_interrupted(bench.run(options.json, options.token.as_deref())))
            }
            Command::Completions(completions) => completions.run::<Arguments>(),
            Command::ExitCodes(exit_codes) => exit_codes.run(),
            Command::Reference(reference) => reference.run::<Arguments>(),
        }
    }
}

/// The help of a noun that was given without a verb, to show its verbs.
pub fn help_of_noun(words: impl IntoIterator<Item = OsString>) -> Option<String> {
    let asked = words.into_iter().chain(["--help".into()]);
    let help = Arguments::command().try_get_matches_from(asked).err()?;
    (help.kind() == ErrorKind::DisplayHelp).then(|| help.to_string())
}

fn on_one_core(command: impl Future<Output = anyhow::Result<ExitCode>>) -> anyhow::Result<ExitCode> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(command)
}

fn on_all_cores(command: impl Future<Output = anyhow::Result<ExitCode>>) -> anyhow::Result<ExitCode> {
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(command)
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, Parser};

    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn every_command_has_an_example() {
        fn check(command: &clap::Command, path: &str) {
            let path = format!("{path} {}", command.get_name());
            for below in command.get_subcommands() {
                check(below, &path);
            }
            if !command.has_subcommands() || command.get_name() == "parked" {
                let help = command.clone().render_long_help().to_string();
                let example = help.find("Example").map(|at| &help[at..]).unwrap_or_default();
                let words: Vec<&str> = path.split_whitespace().collect();
                // Commands whose output other programs read have their own kind of examples.
                let own = ["bench", "exit-codes", "reference"].iter().any(|word| words.contains(word));
                assert!(own || example.contains(&words.join(" ")), "{path}: {help}");
            }
        }
        check(&Arguments::command(), "");
    }

    #[test]
    fn every_command_takes_what_its_help_promises() {
        for line in [
            "dev --data d --port 0 --drone-port-base 0 --json",
            "serve --config c.toml --data d --listen 127.0.0.1:0",
            "cluster dev --regions --data d --port 0 --nats-port 0 --partitions 4 --nats-server n",
            "workflow apply a.yaml b.yaml --if-version 3",
            "workflow show a --version 2 --source",
            "workflow check a.yaml",
            "run start a --id x --file -",
            "run start a -",
            "run list --workflow a --status parked --key k --from 1h --to 2026-03-01T12:00:00Z --limit 5",
            "run list --all",
            "run list --json --url http://h:1 --token t",
            "run retry x --step s --note n",
            "run retry x --from s --note n",
            "run resolve x --step s --skip --note n",
            "run resolve x --step s --by-hand --output {} --note n",
            "run resolve x --step s --instead {} --note n",
            "run give-up x --note n",
            "run wait x --timeout 5s",
            "run tail x --json",
            "run tail --workflow w --status parked",
            "run list --watch",
            "run list --watch 5 --color always",
            "run show x --watch=0.5",
            "workflow list --limit 3 --watch",
            "workflow show a --watch",
            "partition show 3 --watch",
            "service show http://h:1",
            "job collection list --all",
            "job collection show ops",
            "job collection update ops --max-jobs 9",
            "job history ops/a --all",
            "job list ops --status faulted",
            "parked --workflow w --all --watch",
            "queue list --all --watch",
            "topic show events --watch",
            "region show --watch",
            "cluster show",
            "cluster dev --json",
            "top",
            "top --every 5",
            "exit-codes",
            "job list",
            "job list ops --state faulted --limit 5",
            "job show ops/a",
            "job create ops/a --uri http://h/ --method put --header a=b --header c:d --body x --every 5m",
            "job create ops/a --workflow w --cron @daily --time-zone Europe/Berlin --create-collection",
            "job create ops/a --uri http://h/ --at +10m --retry-count 2 --retry-interval 15s --error-uri http://h/",
            "job create ops/a --uri http://h/ --every 1mo --start 2026-03-01 --end +90d --count 3 --jitter 10s",
            "job create ops/a --uri http://h/ --missed all --overlap queue --disabled",
            "job create s~g~ops/a --file -",
            "job update ops/a --every 1h --clear time-zone --clear retry",
            "job delete ops/a",
            "job enable ops/a",
            "job disable ops/a",
            "job run ops/a --wait --timeout 5s",
            "job history ops/a --failed --limit 3",
            "job preview ops/a --count 3",
            "job preview --every 5m --count 3 --now 2026-03-01T12:00:00Z",
            "job export ops -o f.json",
            "job import ops f.json --dry-run --prune",
            "job import ops --crontab f --uri-template http://h/{line}",
            "job apply ops f.json --prune",
            "job diff ops f.json",
            "job collections",
            "job collection create ops --plan p20premium --max-jobs 9 --location westeurope",
            "job collection delete ops",
            "job collection enable ops",
            "job collection disable ops",
            "queue list",
            "queue create orders --lock 30s --ttl 1d --max-deliveries 5 --dead-letter-expired --sessions",
            "queue create orders --duplicate-window 1h --max-messages 9 --max-bytes 1048576 --replace",
            "queue show orders",
            "queue show events/audit",
            "queue delete orders",
            "queue send orders hello --id m --label l --session s --correlation c --property a=b --property c=5",
            "queue send orders @file --ttl 5m --in 10s --content-type text/plain --reply-to r --to-whom t",
            "queue send orders - --at 2026-03-01T12:00:00Z",
            "queue receive orders --max 5 --wait 10s --lock 30s --session s",
            "queue receive events/audit --keep --dead",
            "queue receive orders --delete",
            "queue peek orders --dead --from 5 --limit 3",
            "queue redrive orders --max 5",
            "queue purge orders --dead --max 5",
            "topic list",
            "topic create events --ttl 1d --duplicate-window 1h",
            "topic show events",
            "topic delete events",
            "topic subscribe events/audit --label paid --correlation c --property country=NO --lock 30s",
            "topic unsubscribe events/audit",
            "topic send events hello --label paid",
            "parked",
            "parked list --limit 3",
            "bulk retry",
            "bulk retry --workflow w --key k --from 2h --to 1h --reason text --rate 5 --note n --yes --detach",
            "bulk retry --id a --id b --dry-run",
            "bulk cancel --status running --from 10m",
            "bulk resolve --step s --skip --note n",
            "bulk resolve --step s --by-hand",
            "bulk resolve --give-up --id a",
            "bulk rerun --status undone",
            "bulk rerun --id a",
            "bulk list --json",
            "bulk show x",
            "bulk stop x",
            "partition list",
            "region status",
            "region promote --force",
            "region demote",
            "region drill --switch",
            "region tail --json",
            "region tail --requests",
            "run start --lines -",
            "service list",
            "simulate --workflow w.yaml --request {} --services s.yaml --from 2026-03-01 --seed 2 --quiet",
            "simulate --job j.yaml --from 2026-03-01T12:00:00Z --to +14d --services s.yaml --json",
            "doctor --data d",
            "bench ingest --rate 1000 --seconds 3 --json",
            "bench workflow --runs 100",
            "bench workflow --cluster http://127.0.0.1:7070 --cluster http://127.0.0.1:7071 --token t",
            "bench schedule --jobs 1000 --rate 100 --seconds 2",
            "completions bash",
            "reference metrics-cluster",
        ] {
            let words = std::iter::once("sortie").chain(line.split(' '));
            assert!(Arguments::try_parse_from(words).is_ok(), "sortie {line}");
        }
    }

    #[test]
    fn a_noun_alone_shows_its_verbs() {
        for noun in ["sortie run", "sortie job", "sortie job collection --json"] {
            let words: Vec<OsString> = noun.split(' ').map(OsString::from).collect();
            let help = help_of_noun(words).unwrap();
            assert!(help.contains("  list"), "{help}");
        }
        assert!(Arguments::try_parse_from(["sortie", "parked"]).is_ok());
    }

    #[test]
    fn what_contradicts_itself_is_refused() {
        for line in [
            "run resolve x --step s --note n",
            "run resolve x --step s --skip --by-hand --note n",
            "run resolve x --step s --skip --output {} --note n",
            "run resolve x --step s --skip",
            "run retry x --step s --from s --note n",
            "run retry x --from s",
            "run give-up x",
            "run list --status asleep",
            "run tail x --workflow w",
            "run show --watch x",
            "run list --watch 0",
            "run list --color blue",
            "job collection update ops",
            "partition show all",
            "run list --limit 5 --all",
            "run list --from yesterday",
            "run start a - --file f",
            "bulk retry --id a --workflow w",
            "bulk retry --rate 0",
            "bulk retry --dry-run --yes",
            "bulk resolve --skip",
            "bulk resolve --step s",
            "bulk resolve --step s --give-up",
            "bulk resolve --step s --skip --by-hand",
            "bulk rerun",
            "bulk show",
            "workflow apply",
            "job show ops",
            "job show a/b/c",
            "job create ops/a --uri http://h/ --every 5m --cron @daily",
            "job create ops/a --uri http://h/ --at +1m --every 5m",
            "job create ops/a --uri http://h/ --every soon",
            "job create ops/a --uri http://h/ --at tomorrow",
            "job create ops/a --uri http://h/ --workflow w",
            "job create ops/a --uri http://h/ --header h",
            "job create ops/a --uri http://h/ --missed never",
            "job update ops/a --clear name",
            "job run ops/a --timeout 5s",
            "job list --state asleep",
            "job preview ops/a --every 5m",
            "job import ops",
            "job import ops f.json --crontab g",
            "job collection create ops --plan gold",
            "queue create events/audit",
            "queue send events/audit hello",
            "queue send orders hello --in 5s --at 2026-03-01T12:00:00Z",
            "queue send orders hello --property novalue",
            "queue receive orders --keep --delete",
            "queue receive orders --max 0",
            "queue receive orders --max 257",
            "queue receive orders --wait 10m",
            "queue receive a/b/c",
            "topic subscribe events",
            "cluster dev --partitions 0",
            "bench ingest --rate 0",
            "bench schedule --jobs 0",
        ] {
            let words = std::iter::once("sortie").chain(line.split(' '));
            assert!(Arguments::try_parse_from(words).is_err(), "sortie {line}");
        }
    }
}
