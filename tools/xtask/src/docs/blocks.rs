//! A page as steps: the fenced blocks of a document, sorted by what their first lines say.

use anyhow::{Context, bail, ensure};

/// One thing that a reader of the page does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    Write { line: usize, name: String, text: String },
    Run { line: usize, commands: String, how: How, output: Option<Output> },
    NotRun { line: usize, reason: String },
}

/// How a block of commands is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    Once,
    Wait,
    Background,
    Fails,
}

/// What a block of commands prints.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Output {
    Text(String),
    Json(String),
}

impl Output {
    /// The same, and whatever comes after it.
    pub fn begins_with(&self) -> Output {
        match self {
            Output::Text(text) => Output::Text(format!("{text}…\n")),
            Output::Json(text) => Output::Json(text.clone()),
        }
    }
}

impl Step {
    pub fn is_run(&self) -> bool {
        matches!(self, Step::Run { .. })
    }

    /// The line of the report about a block that is not run.
    pub fn left_out(&self, page: &str) -> Option<String> {
        match self {
            Step::NotRun { line, reason } => Some(format!("{page}:{line}: {reason}")),
            Step::Write { .. } | Step::Run { .. } => None,
        }
    }
}

/// The steps of a page, in its order.
pub fn steps(page: &str) -> anyhow::Result<Vec<Step>> {
    let mut steps: Vec<Step> = Vec::new();
    let mut after_commands = After::Nothing;
    for fence in fences(page)? {
        let place = || format!("line {}: ```{}", fence.line, fence.info);
        let (kind, words) = read_info(&fence.info).with_context(place)?;
        let next = match step(&fence, &kind, &words).with_context(place)? {
            Found::Step(step) => {
                let next = match &step {
                    Step::Run { .. } => After::Commands,
                    Step::NotRun { .. } => After::NotRun,
                    Step::Write { .. } => After::Nothing,
                };
                steps.push(step);
                next
            }
            Found::Output(output) => match (after_commands, steps.last_mut()) {
                (After::Commands, Some(Step::Run { output: expected, .. })) => {
                    *expected = Some(output);
                    After::Nothing
                }
                (After::NotRun, _) => After::Nothing,
                _ => {
                    bail!("line {}: no commands stand before this output; is it a `text figure`?", fence.line)
                }
            },
            Found::Shown => After::Nothing,
        };
        after_commands = next;
    }
    for step in &steps {
        if let Step::Run { line, how: How::Background | How::Wait, output: None, .. } = step {
            bail!("line {line}: only its output can say when it is ready, and there is none below it");
        }
    }
    Ok(steps)
}

#[derive(Clone, Copy)]
enum After {
    Nothing,
    Commands,
    NotRun,
}

enum Found {
    Step(Step),
    Output(Output),
    Shown,
}

fn step(fence: &Fence, kind: &str, words: &[(String, String)]) -> anyhow::Result<Found> {
    let line = fence.line;
    let words: Vec<(&str, &str)> =
        words.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let text = fence.text.clone();
    let run = |how| Ok(Found::Step(Step::Run { line, commands: text.clone(), how, output: None }));
    match (kind, words.as_slice()) {
        ("", _) => bail!("say what it is: sh, text, text figure, yaml, …"),
        ("sh", []) => run(How::Once),
        ("sh", [("wait", "")]) => run(How::Wait),
        ("sh", [("background", "")]) => run(How::Background),
        ("sh", [("fails", "")]) => run(How::Fails),
        ("sh", [("not-run", reason)]) if !reason.is_empty() => {
            Ok(Found::Step(Step::NotRun { line, reason: (*reason).to_owned() }))
        }
        ("text", []) => no_commands(&text).map(|()| Found::Output(Output::Text(text))),
        ("text", [("figure", "")]) => no_commands(&text).map(|()| Found::Shown),
        ("json", [("output", "")]) => Ok(Found::Output(Output::Json(text))),
        ("console" | "bash" | "shell", _) => bail!("commands are `sh`"),
        (_, []) => Ok(Found::Shown),
        (_, [("title", name)]) if is_file_name(name) => {
            Ok(Found::Step(Step::Write { line, name: (*name).to_owned(), text }))
        }
        (_, words) => bail!("{kind} takes no {words:?}"),
    }
}

/// Commands in a block that is not run would be commands that nobody has tried.
fn no_commands(text: &str) -> anyhow::Result<()> {
    const PROGRAMS: [&str; 5] = ["$ ", "curl ", "cargo ", "sortie ", "target/release/sortie "];
    let found = text.lines().find(|line| PROGRAMS.iter().any(|program| line.starts_with(program)));
    ensure!(found.is_none(), "this looks like a command: {:?}", found.unwrap_or_default());
    Ok(())
}

fn is_file_name(name: &str) -> bool {
    !name.is_empty() && !name.starts_with('/') && !name.split('/').any(|part| part == "..")
}

struct Fence {
    line: usize,
    info: String,
    text: String,
}

/// The fenced blocks of a page; one inside a list loses the list's indent.
fn fences(page: &str) -> anyhow::Result<Vec<Fence>> {
    let mut fences: Vec<Fence> = Vec::new();
    let mut open: Option<(String, usize)> = None;
    for (index, line) in page.lines().enumerate() {
        let bare = line.trim_start();
        let indent = line.len() - bare.len();
        let ticks = bare.len() - bare.trim_start_matches('`').len();
        match &open {
            None if ticks >= 3 => {
                let info = bare[ticks..].trim().to_owned();
                fences.push(Fence { line: index + 1, info, text: String::new() });
                open = Some(("`".repeat(ticks), indent));
            }
            Some((fence, _)) if bare.trim_end() == fence => open = None,
            Some((_, indent)) => {
                let cut = (line.len() - bare.len()).min(*indent);
                let fence = fences.last_mut().expect("an open block is the last one");
                fence.text.push_str(&line[cut..]);
                fence.text.push('\n');
            }
            None => {}
        }
    }
    ensure!(open.is_none(), "the last block has no end");
    Ok(fences)
}

/// `yaml title=order.yaml` as its kind and its words; values with spaces stand in quotes.
fn read_info(info: &str) -> anyhow::Result<(String, Vec<(String, String)>)> {
    let (kind, mut rest) = info.split_once(' ').unwrap_or((info, ""));
    let mut words = Vec::new();
    loop {
        rest = rest.trim_start();
        if rest.is_empty() {
            return Ok((kind.to_owned(), words));
        }
        let end = rest.find([' ', '=']).unwrap_or(rest.len());
        let name = rest[..end].to_owned();
        rest = &rest[end..];
        let mut value = "";
        if let Some(quoted) = rest.strip_prefix("=\"") {
            (value, rest) = quoted.split_once('"').context("a quote is not closed")?;
        } else if let Some(plain) = rest.strip_prefix('=') {
            (value, rest) = plain.split_at(plain.find(' ').unwrap_or(plain.len()));
        }
        words.push((name, value.to_owned()));
    }
}

#[cfg(test)]
mod tests;
