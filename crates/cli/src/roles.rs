//! The role that a command needs, for hints after a 401 or 403.

use clap::ArgMatches;

/// The words of the command that was given, without its options: `run`, `cancel`.
pub fn words(matches: &ArgMatches) -> Vec<String> {
    let mut words = Vec::new();
    let mut at = matches;
    while let Some((name, below)) = at.subcommand() {
        words.push(name.to_owned());
        at = below;
    }
    words
}

/// The lowest role that may run it; `None` for commands without a server.
pub fn needed(words: &[String]) -> Option<&'static str> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    Some(match words.as_slice() {
        ["run", "start"] | ["queue" | "topic", "send"] => "ingest",
        ["queue", "receive"] => "consumer",
        ["run", "cancel" | "retry" | "resolve" | "give-up"] | ["queue", "redrive" | "purge"] => "operator",
        ["bulk" | "service" | "parked", "list" | "show" | "watch"] => "viewer",
        ["bulk" | "service", ..] | ["job", "run"] => "operator",
        ["region", "promote" | "demote" | "drill"] => "admin",
        ["workflow", "apply" | "delete"]
        | ["job", "create" | "update" | "delete" | "enable" | "disable" | "import" | "apply"]
        | ["job", "collection", "create" | "update" | "delete" | "enable" | "disable"]
        | ["queue", "create" | "delete"]
        | ["topic", "create" | "delete" | "subscribe" | "unsubscribe"] => "editor",
        [
            "dev" | "serve" | "cluster" | "bench" | "completions" | "exit-codes" | "doctor" | "simulate",
            ..,
        ] => {
            return None;
        }
        ["workflow", "check"] => return None,
        _ => "viewer",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_command_asks_for_no_more_than_it_needs() {
        let role = |line: &str| needed(&line.split(' ').map(str::to_owned).collect::<Vec<_>>());
        for (line, expected) in [
            ("run list", "viewer"),
            ("run start", "ingest"),
            ("run give-up", "operator"),
            ("job diff", "viewer"),
            ("job collection delete", "editor"),
            ("queue receive", "consumer"),
            ("region status", "viewer"),
            ("region promote", "admin"),
        ] {
            assert_eq!(role(line), Some(expected), "{line}");
        }
        assert_eq!(role("workflow check"), None);
    }
}
