//! Subjects of commits: short enough for one line of a log.

use std::path::Path;
use std::process::Command;

use super::{Finding, Weight};

const LENGTH_MAX: usize = 72;

/// Up to this commit subjects stay as they are.
const RANGE: &str = "8f5cbbf32d9996029e3db11eec815bb883526850..HEAD";

/// Without git, or outside of a checkout, there is nothing to check.
pub(crate) fn check(root: &Path) -> Vec<Finding> {
    let log =
        Command::new("git").args(["log", "--no-merges", "--format=%h %s", RANGE]).current_dir(root).output();
    let Ok(log) = log else { return Vec::new() };
    too_long(&String::from_utf8_lossy(&log.stdout))
}

fn too_long(log: &str) -> Vec<Finding> {
    let commits = log.lines().filter_map(|line| line.split_once(' '));
    let long = commits.filter(|(_, subject)| subject.chars().count() > LENGTH_MAX);
    long.map(|(commit, subject)| {
        let length = subject.chars().count();
        let message = format!("the subject has {length} characters; the limit is {LENGTH_MAX}");
        Finding { weight: Weight::Refused, path: format!("commit {commit}"), line: 0, message }
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subject_may_have_72_characters_and_not_one_more() {
        let log = |length: usize| format!("abc123 {}\n", "s".repeat(length));
        assert_eq!(too_long(&log(72)), []);
        assert_eq!(
            too_long(&log(73))[0].to_string(),
            "refused: commit abc123: the subject has 73 characters; the limit is 72"
        );
    }
}
