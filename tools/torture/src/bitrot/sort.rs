//! Classifies an opened directory: the damage was detected, it is harmless, or something is wrong.

use super::damage::{Damage, FileKind};
use super::inventory::Examined;

/// How much of a finding is printed.
const QUOTED_CHARS: usize = 600;

/// The result of an opening.
pub enum OpenResult {
    /// The directory was not opened at all.
    Refused {
        message: String,
    },
    Opened(Examined),
    /// It ended in a way that it never should: a panic, a hang, too much memory.
    Died(String),
}

#[derive(Debug, PartialEq, Eq)]
pub enum DamageClass {
    /// Refused, stopped or withheld, with the name of the file.
    Detected,
    /// Everything that was acknowledged is present and unchanged.
    Harmless,
    Broken(String),
}

impl DamageClass {
    pub fn worse(self, other: DamageClass) -> DamageClass {
        match (self, other) {
            (DamageClass::Broken(why), _) | (_, DamageClass::Broken(why)) => DamageClass::Broken(why),
            (DamageClass::Detected, _) | (_, DamageClass::Detected) => DamageClass::Detected,
            (DamageClass::Harmless, DamageClass::Harmless) => DamageClass::Harmless,
        }
    }
}

/// Classifies the result. `log` is everything that the server logged.
pub fn sort(damage: &Damage, result: OpenResult, log: &str, life: u32) -> DamageClass {
    let broken = |why: String| {
        let why: String = why.chars().take(QUOTED_CHARS).collect();
        DamageClass::Broken(if life > 1 { format!("in life {life}: {why}") } else { why })
    };
    if let Some(panic) = log.lines().find(|line| line.contains("panicked at")) {
        return broken(format!("it panicked: {panic}"));
    }
    let examined = match result {
        OpenResult::Died(how) => return broken(how),
        OpenResult::Refused { message } => {
            let said = format!("{message}\n{log}");
            return match is_named(damage, &said) {
                true => DamageClass::Detected,
                false => broken(format!("it was refused without the name of the file: {}", end_of(&said))),
            };
        }
        OpenResult::Opened(examined) => examined,
    };
    if let Some(wrong) = examined.wrong.first() {
        return broken(format!(
            "{} wrong, {} withheld, {} stopped: {wrong}",
            examined.wrong.len(),
            examined.withheld.len(),
            examined.stopped.len()
        ));
    }
    if examined.stopped.is_empty() && examined.withheld.is_empty() {
        return DamageClass::Harmless;
    }
    let said = format!("{}\n{}\n{log}", examined.stopped.join("\n"), examined.withheld.join("\n"));
    match is_named(damage, &said) {
        true => DamageClass::Detected,
        false => broken(format!("it was detected without the name of the file: {}", end_of(&said))),
    }
}

/// Whether the file is named, or what identifies it: a key of the secrets is not known to be another one until a
/// secret is opened with it, and a missing snapshot is reported by its directory and number.
fn is_named(damage: &Damage, said: &str) -> bool {
    if said.contains(&*damage.file.to_string_lossy()) {
        return true;
    }
    match damage.kind {
        FileKind::Secrets => said.contains("unsealed"),
        FileKind::Snapshot | FileKind::ControlSnapshot => {
            damage.bytes.is_none() && said.contains("is missing") && said.contains("snapshots directory")
        }
        _ => false,
    }
}

fn end_of(text: &str) -> String {
    let text = text.trim();
    let from = text.char_indices().rev().nth(QUOTED_CHARS - 1).map_or(0, |(at, _)| at);
    text[from..].to_owned()
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::super::damage::DamageKind;
    use super::*;

    fn class(result: OpenResult, log: &str) -> &'static str {
        let file = PathBuf::from("journal/0000000001.segment");
        let damage =
            Damage { file, kind: FileKind::Segment, way: DamageKind::Bit, place: String::new(), bytes: None };
        match sort(&damage, result, log, 1) {
            DamageClass::Detected => "detected",
            DamageClass::Harmless => "harmless",
            DamageClass::Broken(_) => "broken",
        }
    }

    fn text(text: &str) -> Vec<String> {
        vec![text.to_owned()]
    }

    #[test]
    fn only_an_error_that_names_the_file_counts_as_detected() {
        let named = "data/journal/0000000001.segment at 4096";
        assert_eq!(class(OpenResult::Refused { message: named.to_owned() }, ""), "detected");
        assert_eq!(class(OpenResult::Refused { message: "no".to_owned() }, ""), "broken");
        assert_eq!(
            class(OpenResult::Opened(Examined { stopped: text(named), ..Examined::default() }), ""),
            "detected"
        );
        assert_eq!(
            class(OpenResult::Opened(Examined { withheld: text("503"), ..Examined::default() }), named),
            "detected"
        );
        assert_eq!(
            class(OpenResult::Opened(Examined { withheld: text("503"), ..Examined::default() }), ""),
            "broken"
        );
    }

    #[test]
    fn a_loss_or_a_wrong_answer_fails_whatever_else_was_reported() {
        let named = "data/journal/0000000001.segment at 4096";
        assert_eq!(class(OpenResult::Opened(Examined::default()), ""), "harmless");
        let wrong = Examined { wrong: text("404"), stopped: text(named), ..Examined::default() };
        assert_eq!(class(OpenResult::Opened(wrong), named), "broken");
        assert_eq!(class(OpenResult::Died("by a signal".to_owned()), named), "broken");
        assert_eq!(class(OpenResult::Opened(Examined::default()), "thread 'x' panicked at src"), "broken");
    }
}
