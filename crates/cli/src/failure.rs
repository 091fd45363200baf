//! Why a command failed, in words for people and as an exit code for scripts.

use std::process::ExitCode;

use wire::{FieldError, Problem};

use crate::table::clean;

/// A failure whose kind a script can tell by the exit code. Every other error is 1, or 75 if it is of I/O.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The server said no.
    #[error("{}", clean(&.0.detail))]
    Refused(Box<Problem>),
    /// Nothing was wrong with the command, but it did not come to what was asked.
    #[error("{0}")]
    No(String),
    #[error("{0}")]
    Usage(String),
    /// Definitions with problems, one line each: `file:line: field: message`.
    #[error("{}", .0.join("\n"))]
    Definition(Vec<String>),
    #[error("no server answers at {url} ({cause}); start one with 'sortie dev', or name another with --url")]
    Unreachable { url: String, cause: String },
    #[error("{0}")]
    Config(String),
    /// The server cannot start; it names its own exit code.
    #[error("{message}")]
    Start { message: String, code: u8 },
}

impl Failure {
    fn code(&self) -> u8 {
        match self {
            Failure::Refused(_) | Failure::No(_) => 1,
            Failure::Usage(_) => code::USAGE,
            Failure::Definition(_) => code::DEFINITION,
            Failure::Unreachable { .. } => code::UNREACHABLE,
            Failure::Config(_) => code::CONFIG,
            Failure::Start { code, .. } => *code,
        }
    }
}

/// The exit codes, after sysexits.h.
pub mod code {
    pub const USAGE: u8 = 64;
    pub const DEFINITION: u8 = 65;
    pub const UNREACHABLE: u8 = 69;
    pub const IO: u8 = 75;
    pub const CONFIG: u8 = 78;
}

/// Prints what the command line's reader has to say: help, the version, or what was not understood.
pub fn usage(error: &clap::Error) -> ExitCode {
    // Nobody is left to tell when stderr is closed.
    let _ = error.print();
    if error.use_stderr() { ExitCode::from(code::USAGE) } else { ExitCode::SUCCESS }
}

/// Says on stderr what went wrong and gives the exit code for it.
pub fn report(error: &anyhow::Error) -> ExitCode {
    eprint!("{}", describe(error));
    ExitCode::from(code_of(error))
}

/// One line for the error, then one for each field of the request that it does not mention.
pub fn describe(error: &anyhow::Error) -> String {
    if let Some(Failure::Definition(lines)) = error.downcast_ref() {
        return lines.iter().map(|line| format!("{line}\n")).collect();
    }
    let mut text = format!("sortie: {error:#}\n");
    if let Some(Failure::Refused(problem)) = error.downcast_ref() {
        // A detail that quotes its fields has said them already.
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

fn code_of(error: &anyhow::Error) -> u8 {
    let is_io = || error.chain().any(|cause| cause.downcast_ref::<std::io::Error>().is_some());
    match error.downcast_ref::<Failure>() {
        Some(failure) => failure.code(),
        None if is_io() => code::IO,
        None => 1,
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
        assert_eq!(code_of(&error), 1);
    }

    #[test]
    fn exit_codes_tell_the_kind_through_added_context() {
        let missing = || anyhow::Error::from(std::io::Error::from(std::io::ErrorKind::NotFound));
        let unreachable = Failure::Unreachable { url: "http://x".to_owned(), cause: "refused".to_owned() };
        let wrapped = Err::<(), _>(unreachable).context("listing runs").unwrap_err();
        assert_eq!(code_of(&wrapped), code::UNREACHABLE);
        assert_eq!(code_of(&missing().context("reading a.yaml")), code::IO);
        assert_eq!(code_of(&anyhow::anyhow!("else")), 1);
        assert!(describe(&wrapped).contains("start one with 'sortie dev'"), "{}", describe(&wrapped));
    }
}
