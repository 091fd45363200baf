//! `sortie help exit-codes`: the meaning of the exit codes.

use std::process::ExitCode;

use clap::Args;

use crate::screen;

/// The exit codes, for scripts.
///
/// The low codes are our own, those from 64 on come from sysexits.h.
pub const TEXT: &str =
    "   0  it was done; also when --watch, `run tail` of many runs or `top` was ended by Ctrl-C
   1  the server said no, or what was asked for is not so: nothing has that name, `run wait` and
      `job run --wait` came to another end than completed, `job diff` found something, `doctor` warns
  10  `run tail` of one run: it was undone
  11  `run tail` of one run: it was given up
  64  the command line cannot be read, or an option's value makes no sense
  65  a definition or a file of jobs has problems, each has a line with its place; or a server that
      starts finds its data damaged
  69  no server answers
  75  reading or writing failed, or a server that starts must be started again later
  77  the token is missing, unknown, or its role does not allow it
  78  the server's settings are wrong
 130  `run tail` of one run: Ctrl-C came before its end
";

/// Print what the exit codes mean
#[derive(Debug, Args)]
#[command(long_about = format!("What the exit codes mean\n\n{TEXT}"), after_help = "Example:\n  sortie run wait delivery-7; echo $?")]
pub struct ExitCodes {}

impl ExitCodes {
    pub fn run(self) -> anyhow::Result<ExitCode> {
        screen::print(TEXT)?;
        Ok(ExitCode::SUCCESS)
    }
}

#[cfg(test)]
mod tests {
    use crate::failure::code;

    #[test]
    fn every_code_is_explained() {
        let all = [
            0,
            1,
            code::UNDONE,
            code::GIVEN_UP,
            code::USAGE,
            code::DEFINITION,
            code::UNREACHABLE,
            code::IO,
            code::DENIED,
            code::CONFIG,
            code::INTERRUPTED,
        ];
        for code in all {
            let line = format!("{code:>4}  ");
            assert!(super::TEXT.lines().any(|known| known.starts_with(&line)), "{code}");
        }
    }
}
