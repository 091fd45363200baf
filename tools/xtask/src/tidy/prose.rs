//! Words that mislead a reader of English, in prose and in names.

use super::mask::{is_word, mask};
use super::names::words_of;
use super::{File, Finding};

/// Phrases, in lower case, and what to write instead. They are matched at the borders of words.
const PHRASES: [(&str, &str); 15] = [
    ("anew", "again"),
    ("mend", "fix, repair"),
    ("mends", "fixes, repairs"),
    ("mended", "fixed, repaired"),
    ("mending", "fixing, repairing"),
    ("befell", "happened to"),
    ("is told", "is notified, learns"),
    ("are told", "are notified, learn"),
    ("was told", "was notified, learned"),
    ("were told", "were notified, learned"),
    ("be told", "be notified, be reported"),
    ("of others", "external, other"),
    ("a yes", "an acknowledgement"),
    ("behind the tail", "past the tail"),
    ("one that may more", "a higher role"),
];

/// Words of the household that stood for technical roles; refused in names.
const METAPHORS: [&str; 10] =
    ["desk", "errand", "passage", "seat", "hands", "keeper", "pulse", "ground", "shelf", "standing"];

/// What an identifier may be in spite of its words: members of JSON and parameters that clients use.
const NAMES_OF_CLIENTS: [&str; 1] = ["standing"];

/// What may stand directly before `behind`: then it means lagging.
const LAGGING: [&str; 21] = [
    "lag", "lags", "lagging", "lagged", "fall", "falls", "fell", "falling", "fallen", "far", "stay", "stays",
    "left", "bytes", "frames", "messages", "seconds", "ms", "how", "still", "not",
];
/// What may follow `behind`: then it means hidden by.
const HIDING: [&str; 9] = [
    "a proxy",
    "a load balancer",
    "a firewall",
    "a reverse proxy",
    "an ingress",
    "a feature",
    "nat",
    "tls",
    "https",
];

pub(crate) fn check(file: &File) -> Vec<Finding> {
    let mut findings = Vec::new();
    if is_exempt(&file.path) {
        return findings;
    }
    let code = file.path.ends_with(".rs").then(|| mask(&file.text).code);
    let text = code.as_ref().map_or_else(|| file.text.clone(), |code| without_code(&file.text, code));
    for (index, line) in text.lines().enumerate() {
        let problems = problems_of(&line.to_lowercase());
        findings.extend(problems.into_iter().map(|problem| Finding::refused(file, index + 1, problem)));
    }
    // Scripts are not masked: what is wrong in a name there is found in a string of the same words as well.
    findings.extend(check_names(file, code.as_ref().unwrap_or(&file.text)));
    findings
}

/// What a sentence in lower case says that it should not.
fn problems_of(line: &str) -> Vec<String> {
    let phrases = PHRASES.iter().filter(|(phrase, _)| occurs(line, phrase));
    let mut problems: Vec<String> =
        phrases.map(|(phrase, better)| format!("{phrase:?}: write {better}")).collect();
    if says_is_no(line) {
        problems.push("\"is no\": write \"is not a\"".to_owned());
    }
    if misuses_behind(line) {
        problems.push("\"behind\" means lagging or hidden by: write after, past or following".to_owned());
    }
    problems
}

/// Recordings and inputs of tests, whose words are not ours; and the pages that list the words.
fn is_exempt(path: &str) -> bool {
    let ours = [".rs", ".md", ".toml", ".yaml", ".yml", ".sh"].iter().any(|end| path.ends_with(end));
    !(ours || is_script(path))
        || path.starts_with("testdata/")
        || path.ends_with("xtask/src/tidy/prose.rs")
        || path.ends_with("0013-the-words-of-the-field.md")
        || path == "STYLE.md"
}

fn is_script(path: &str) -> bool {
    [".mjs", ".cjs", ".js", ".ts", ".py"].iter().any(|end| path.ends_with(end))
}

/// Comments and literals: what a person may read.
fn without_code(text: &str, code: &str) -> String {
    let chars = text.chars().zip(code.chars());
    chars.map(|(char, code)| if char == code && char != '\n' { ' ' } else { char }).collect()
}

fn occurs(line: &str, phrase: &str) -> bool {
    line.match_indices(phrase).any(|(at, _)| {
        let before = line[..at].chars().next_back().is_some_and(is_word);
        let after = line[at + phrase.len()..].chars().next().is_some_and(is_word);
        !before && !after
    })
}

/// `X is no Y` for `X is not a Y`; `there is no Y` and `is no longer` are English.
fn says_is_no(line: &str) -> bool {
    ["is no ", "are no "].iter().any(|phrase| {
        line.match_indices(phrase).any(|(at, _)| {
            let (before, after) = (&line[..at], &line[at + phrase.len()..]);
            let stands_alone = !before.chars().next_back().is_some_and(is_word);
            let there = before.trim_end().ends_with("there");
            let english = [
                "longer", "more", "less", "such", "larger", "smaller", "higher", "lower", "later", "earlier",
                "newer", "older",
            ]
            .iter()
            .any(|word| after.starts_with(word));
            stands_alone && !there && !english
        })
    })
}

fn misuses_behind(line: &str) -> bool {
    line.match_indices("behind").any(|(at, word)| {
        let (before, after) = (&line[..at], &line[at + word.len()..]);
        if before.chars().next_back().is_some_and(is_word) || after.chars().next().is_some_and(is_word) {
            return false;
        }
        let previous = before.trim_end().rsplit(|char: char| !is_word(char)).next().unwrap_or_default();
        let hides = HIDING.iter().any(|word| after.trim_start().starts_with(word));
        let counted = previous.is_empty() && before.ends_with("} ")
            || previous.starts_with(|char: char| char.is_ascii_digit());
        !LAGGING.contains(&previous) && !hides && !counted
    })
}

/// Names in code: metaphors, and the words of the name as if they were a sentence.
fn check_names(file: &File, code: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    if !(file.path.ends_with(".rs") || is_script(&file.path)) {
        return findings;
    }
    for (index, line) in code.lines().enumerate() {
        for name in line.split(|char| !is_word(char)).filter(|name| !name.is_empty()) {
            let words = words_of(name);
            let metaphor = metaphor_in(&words)
                .filter(|_| file.path.ends_with(".rs") && !NAMES_OF_CLIENTS.contains(&name))
                .map(|word| format!("{word:?} is a metaphor: use the field's name for the role"));
            // One word alone is read as prose where it is prose.
            let sentence = words.join(" ");
            let problems = if name.contains('_') { problems_of(sentence.trim()) } else { Vec::new() };
            let refuse = |problem: String| Finding::refused(file, index + 1, format!("{name}: {problem}"));
            findings.extend(metaphor.into_iter().chain(problems).map(refuse));
        }
    }
    findings
}

/// A region that stands by is a standby: that is the field's word.
fn metaphor_in(words: &[String]) -> Option<&'static str> {
    METAPHORS.into_iter().find(|metaphor| {
        let stands_by =
            |at: usize| *metaphor == "standing" && words.get(at + 1).is_some_and(|next| next == "by");
        words.iter().enumerate().any(|(at, word)| word == metaphor && !stands_by(at))
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::file;
    use super::*;

    fn refused(path: &str, text: &str) -> Vec<usize> {
        check(&file(path, text)).iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn listed_phrases_are_refused_in_documents_comments_and_literals() {
        assert_eq!(refused("a.md", "It begins anew.\nManew is a name.\nThe owner is told.\n"), [1, 3]);
        assert_eq!(refused("a.rs", "// Mended.\nlet anew = \"the body is no JSON\";\n"), [1, 2]);
    }

    #[test]
    fn there_is_no_and_is_no_longer_are_english() {
        assert_eq!(refused("a.md", "There is no file.\nIt is no longer there.\nIt is no file.\n"), [3]);
    }

    #[test]
    fn behind_may_mean_lagging_or_hidden_by() {
        let text = "The mirror lags behind.\nIt runs behind a proxy.\nRecords behind the mark.\nThree frames behind.\n";
        assert_eq!(refused("a.md", text), [3]);
    }

    #[test]
    fn listed_phrases_are_refused_in_names() {
        let tests = "fn the_owner_is_told() {}\nfn a_lag_is_no_loss() {}\nfn it_begins_anew() {}\nfn a_mended_link() {}\n\
                     fn rows_of_others() {}\nfn a_claim_behind_the_mark() {}\n";
        assert_eq!(refused("a.rs", tests), [1, 2, 3, 4, 5, 6]);
        assert_eq!(refused("a.py", "def test_it_is_told():\n    pass\n"), [1]);
        assert_eq!(
            refused("a.mjs", "test(\"it begins anew\", () => {});\ntest(\"it begins again\", f);\n"),
            [1]
        );
        let fine = "fn there_is_no_terminal() {}\nfn it_is_no_longer_active() {}\nfn a_server_behind_https() {}\n\
                    fn an_inbox_that_lags_behind() {}\n";
        assert_eq!(refused("a.rs", fine), [0; 0]);
    }

    #[test]
    fn metaphors_are_refused_in_names_alone() {
        assert_eq!(
            refused(
                "a.rs",
                "//! A call that hands over.\nstruct RegionDesk;\nlet background = 1;\nlet job_standing = standing_by();\n"
            ),
            [2, 4]
        );
    }
}
