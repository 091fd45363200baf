//! `sortie doctor`: checks whether this machine can uphold Sortie's guarantees.

mod checks;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use serde::Serialize;

use crate::screen::{Screen, Tone};
use crate::session::Session;

/// Check whether this machine can uphold Sortie's guarantees
///
/// Checks the disk, its sync latency, space, memory, limits, the clock and the server. The exit code is 1
/// if there are warnings.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  sortie doctor --data /var/lib/sortie")]
pub struct Doctor {
    /// The data directory of the server; by default the one that `sortie serve` would use
    #[arg(long, value_name = "DIR", env = "SORTIE_DATA")]
    data: Option<PathBuf>,
}

/// The result of one check.
#[derive(Debug, Serialize)]
struct Finding {
    what: &'static str,
    level: Severity,
    text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Severity {
    Ok,
    /// Worth knowing, no action needed.
    Note,
    Warning,
}

impl Doctor {
    pub async fn run(self, mut session: Session) -> anyhow::Result<ExitCode> {
        let data = self.data.unwrap_or_else(|| server::Config::default().data);
        let mut findings = checks::machine(&data);
        findings.push(checks::server(&mut session.client).await);
        session.show_value(&findings, || render(&findings, &session.screen))?;
        let well = findings.iter().all(|finding| finding.level != Severity::Warning);
        Ok(if well { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}

fn render(findings: &[Finding], screen: &Screen) -> String {
    let mut out = String::new();
    for finding in findings {
        let (tone, word) = match finding.level {
            Severity::Ok => (Tone::Good, "ok"),
            Severity::Note => (Tone::Plain, "note"),
            Severity::Warning => (Tone::Attention, "warning"),
        };
        let word = screen.paint(tone, &format!("{word:7}"));
        out += &format!("{word}  {:11}  {}\n", finding.what, finding.text);
    }
    let warnings = findings.iter().filter(|finding| finding.level == Severity::Warning).count();
    out += &match warnings {
        0 => "\nThis machine can uphold the guarantees.\n".to_owned(),
        1 => "\n1 warning.\n".to_owned(),
        count => format!("\n{count} warnings.\n"),
    };
    out
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn findings_line_up_and_warnings_are_counted() {
        let finding = |what, level, text: &str| Finding { what, level, text: text.to_owned() };
        let findings = [
            finding("file system", Severity::Ok, "ext4 on /dev/vda"),
            finding("sync", Severity::Warning, "p50 12 µs: implausibly fast"),
            finding("server", Severity::Note, "no response"),
        ];
        expect![[r#"
            ok       file system  ext4 on /dev/vda
            warning  sync         p50 12 µs: implausibly fast
            note     server       no response

            1 warning.
        "#]]
        .assert_eq(&render(&findings, &Screen { colour: false, width: None }));
    }
}
