//! Why a command failed: a message for people and an exit code for scripts.

use std::process::ExitCode;

use api_types::{FieldError, Problem};
use clap::error::ErrorKind;

use crate::arguments::help_of_noun;
use crate::roles;
use crate::table::clean;

/// A failure with its own exit code. Every other error is 1, or 75 if it is an I/O error.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The server rejected the request.
    #[error("{}", clean(&.0.detail))]
    Refused(Box<Problem>),
    /// The command was valid but did not achieve what was requested.
    #[error("{0}")]
    No(String),
    #[error("{0}")]
    Usage(String),
    /// Definitions with problems, one line each: `file:line: field: message`.
    #[error("{}", .0.join("\n"))]
    Definition(Vec<String>),
    #[error(
        "no server responds at {url} ({cause}); start one with 'sortie dev', or choose another with --url"
    )]
    Unreachable { url: String, cause: String },
    #[error("{0}")]
    Config(String),
    /// The server cannot start; the error has its own exit code.
    #[error("{message}")]
    Start { message: String, code: u8 },
}

impl Failure {
    fn code(&self) -> u8 {
        match self {
            Failure::Refused(problem) if matches!(problem.status, 401 | 403) => code::DENIED,
            Failure::Refused(_) | Failure::No(_) => 1,
            Failure::Usage(_) => code::USAGE,
            Failure::Definition(_) => code::DEFINITION,
            Failure::Unreachable { .. } => code::UNREACHABLE,
            Failure::Config(_) => code::CONFIG,
            Failure::Start { code, .. } => *code,
        }
    }
}

/// The stable error code of the API.
pub fn code_of(error: &anyhow::Error) -> Option<&str> {
    match error.downcast_ref::<Failure>() {
        Some(Failure::Refused(problem)) => Some(problem.code.as_str()),
        _ => None,
    }
}

/// The exit codes, the larger ones after sysexits.h; `exit_codes` explains them.
pub mod code {
    pub const UNDONE: u8 = 10;
    pub const GIVEN_UP: u8 = 11;
    pub const USAGE: u8 = 64;
    pub const DEFINITION: u8 = 65;
    pub const UNREACHABLE: u8 = 69;
    pub const IO: u8 = 75;
    pub const DENIED: u8 = 77;
    pub const CONFIG: u8 = 78;
    pub const INTERRUPTED: u8 = 130;
}

/// Prints the output of the argument parser: help, the version, or a usage error.
pub fn usage(error: &clap::Error) -> ExitCode {
    if error.kind() == ErrorKind::MissingSubcommand
        && let Some(help) = help_of_noun(std::env::args_os())
    {
        eprint!("{help}");
        return ExitCode::from(code::USAGE);
    }
    // If stderr is closed, nobody can read the message.
    let _ = error.print();
    if error.use_stderr() { ExitCode::from(code::USAGE) } else { ExitCode::SUCCESS }
}

/// Reports an error and a hint on stderr, and returns the exit code.
pub fn report(error: &anyhow::Error, words: &[String]) -> ExitCode {
    eprint!("{}{}", describe(error), advice(error, words));
    ExitCode::from(exit_code(error))
}

/// One line for the error, then one for each invalid field that it does not mention.
pub fn describe(error: &anyhow::Error) -> String {
    if let Some(Failure::Definition(lines)) = error.downcast_ref() {
        return lines.iter().map(|line| format!("{line}\n")).collect();
    }
    let mut text = format!("sortie: {error:#}\n");
    if let Some(Failure::Refused(problem)) = error.downcast_ref() {
        // A detail that quotes its fields needs no further lines.
        let unsaid = problem.errors.iter().filter(|error| !problem.detail.contains(&error.message));
        text.extend(unsaid.map(|error| format!("  {}\n", describe_field(error))));
    }
    text
}

/// `line 3: steps.drone: message`, with the parts that are known.
pub fn describe_field(error: &FieldError) -> String {
    let line = error.line.map(|line| format!("line {line}: "));
    let place = error.field.as_ref().or(error.pointer.as_ref()).filter(|place| !place.is_empty());
    let place = place.map(|place| format!("{place}: "));
    clean(&format!("{}{}{}", line.unwrap_or_default(), place.unwrap_or_default(), error.message))
}

/// A hint in terms of commands, which the server does not know about.
fn advice(error: &anyhow::Error, words: &[String]) -> String {
    let Some(Failure::Refused(problem)) = error.downcast_ref() else { return String::new() };
    let command = words.join(" ");
    let role = roles::needed(words);
    let text = match (problem.code.as_str(), problem.status) {
        (_, 401) => {
            let role = role.map(|role| format!("; '{command}' needs the role {role} or higher"));
            format!("pass a token with --token or SORTIE_TOKEN{}", role.unwrap_or_default())
        }
        (_, 403) => match role {
            Some(role) => format!("'{command}' needs a token with the role {role} or higher"),
            None => return String::new(),
        },
        ("exists", _) if matches!(words.first().map(String::as_str), Some("queue" | "topic")) => {
            "add --replace to change the existing settings".to_owned()
        }
        ("changed", _) => {
            "it was changed concurrently; check the current version, then repeat the command".to_owned()
        }
        ("not_parked", _) => {
            "only a parked run can be resolved; cancel a live run with: sortie run cancel ID".to_owned()
        }
        ("run_parked", _) => "resolve it: sortie parked lists the commands".to_owned(),
        ("standby", _) => "use a server of the active region, with --url".to_owned(),
        (
            "backlog_full" | "memory_full" | "disk_full" | "not_held" | "incomplete" | "journal_unavailable",
            _,
        ) => "nothing was accepted; try again later".to_owned(),
        ("wrong_role", _) => "choose another instance with --url; sortie cluster show lists them".to_owned(),
        _ => return String::new(),
    };
    format!("  {text}\n")
}

fn exit_code(error: &anyhow::Error) -> u8 {
    let is_io = || error.chain().any(|cause| cause.downcast_ref::<std::io::Error>().is_some());
    if let Some(failure) = error.downcast_ref::<Failure>() {
        return failure.code();
    }
    // Benches use the client directly and know nothing of exit codes.
    match error.downcast_ref::<client::Error>() {
        Some(client::Error::Unreachable { .. }) => code::UNREACHABLE,
        Some(client::Error::Problem(problem)) if matches!(problem.status, 401 | 403) => code::DENIED,
        _ if error.is::<bench::UsageError>() => code::USAGE,
        _ if is_io() => code::IO,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use anyhow::Context;
    use expect_test::expect;

    use super::*;

    fn problem() -> Problem {
        let field = |pointer: Option<&str>, field: Option<&str>, line, message: &str| FieldError {
            pointer: pointer.map(str::to_owned),
            field: field.map(str::to_owned),
            line,
            message: message.to_owned(),
        };
        Problem {
            kind: "/docs/errors#body_invalid".to_owned(),
            title: "The body is not what the workflow takes".to_owned(),
            status: 400,
            code: "body_invalid".to_owned(),
            detail: "2 things are wrong with the request".to_owned(),
            errors: vec![
                field(Some("/packageInfo/size"), None, None, "\"Huge\" is not one of Small, Medium, Large"),
                field(None, Some("steps.drone.after"), Some(12), "no step 'dron'; did you mean 'drone'?"),
                field(Some(""), None, None, "a \u{1b}[31mred\u{1b}[0m herring"),
            ],
        }
    }

    #[test]
    fn a_problem_is_one_line_and_one_for_each_field() {
        let error = anyhow::Error::new(Failure::Refused(Box::new(problem())));
        expect![[r#"
            sortie: 2 things are wrong with the request
              /packageInfo/size: "Huge" is not one of Small, Medium, Large
              line 12: steps.drone.after: no step 'dron'; did you mean 'drone'?
              a  [31mred [0m herring
        "#]]
        .assert_eq(&describe(&error));
        assert_eq!(exit_code(&error), 1);
    }

    #[test]
    fn a_refusal_comes_with_what_helps() {
        let advice = |status, code: &str, line: &str| {
            let problem = Problem { status, code: code.to_owned(), ..problem() };
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            let error = anyhow::Error::new(Failure::Refused(Box::new(problem)));
            (advice(&error, &words), exit_code(&error))
        };
        let (text, code) = advice(403, "forbidden", "run cancel");
        assert_eq!(text, "  'run cancel' needs a token with the role operator or higher\n");
        assert_eq!(code, code::DENIED);
        assert!(advice(401, "unauthorized", "run list").0.contains("--token"));
        assert!(advice(412, "exists", "queue create").0.contains("--replace"));
        assert!(advice(412, "changed", "workflow apply").0.contains("check the current version"));
        assert_eq!(advice(404, "not_found", "run show"), (String::new(), 1));
    }

    #[test]
    fn exit_codes_survive_added_context() {
        let no_bench = anyhow::Error::new(client::Error::Unreachable {
            url: "http://x".to_owned(),
            cause: "refused".to_owned(),
            sent: false,
        });
        assert_eq!(exit_code(&no_bench.context("applying the workflow")), code::UNREACHABLE);
        let missing = || anyhow::Error::from(std::io::Error::from(std::io::ErrorKind::NotFound));
        let unreachable = Failure::Unreachable { url: "http://x".to_owned(), cause: "refused".to_owned() };
        let wrapped = Err::<(), _>(unreachable).context("listing runs").unwrap_err();
        assert_eq!(exit_code(&wrapped), code::UNREACHABLE);
        assert_eq!(exit_code(&missing().context("reading a.yaml")), code::IO);
        assert_eq!(exit_code(&anyhow::anyhow!("else")), 1);
        assert!(describe(&wrapped).contains("start one with 'sortie dev'"), "{}", describe(&wrapped));
    }
}
