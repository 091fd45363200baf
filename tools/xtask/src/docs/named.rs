//! Commands that pages name in their text: each must be one that the binary has.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use anyhow::Context;

/// The commands that the text of a page names, like `sortie run list`; what stands in blocks is run anyway.
pub fn commands(page: &str) -> BTreeSet<Vec<String>> {
    let mut fenced = false;
    let prose = page.lines().filter(|line| {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        !fenced && !fence
    });
    let spans = prose.flat_map(|line| line.split('`').skip(1).step_by(2));
    let named = spans.filter_map(|span| span.strip_prefix("sortie "));
    named
        .map(|rest| rest.split_whitespace().take_while(|word| is_verb(word)).map(str::to_owned).collect())
        .collect()
}

/// Words that could be commands: names of things have capitals, digits, dots or slashes.
fn is_verb(word: &str) -> bool {
    !word.starts_with('-') && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-')
}

/// Those commands that the binary does not have, with the pages that name them.
pub fn unknown(named: &BTreeMap<Vec<String>, String>, sortie: &Path) -> anyhow::Result<Vec<String>> {
    let mut helps = BTreeMap::new();
    let mut unknown = Vec::new();
    for (words, page) in named {
        for length in 1..=words.len() {
            let asked = words[..length].to_vec();
            if !helps.contains_key(&asked) {
                helps.insert(asked.clone(), help(sortie, &asked)?);
            }
            match &helps[&asked] {
                None => unknown.push(format!("{page}: there is no `sortie {}`", asked.join(" "))),
                // What follows is the name of another command.
                Some(help) if help.contains("<COMMAND>") => continue,
                Some(_) => {}
            }
            break;
        }
    }
    Ok(unknown)
}

fn help(sortie: &Path, words: &[String]) -> anyhow::Result<Option<String>> {
    let output = Command::new(sortie).arg("help").args(words).output();
    let output = output.with_context(|| format!("starting {}", sortie.display()))?;
    Ok(output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_taken_from_the_text_up_to_the_first_name() {
        let page = "See `sortie run show ID`, `sortie run list --all`, `other run` and `sortie dev`.\n```sh\n`sortie no`\n```\n";
        let found: Vec<String> = commands(page).iter().map(|words| words.join(" ")).collect();
        assert_eq!(found, ["dev", "run list", "run show"]);
    }
}
