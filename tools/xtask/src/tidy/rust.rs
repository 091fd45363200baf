//! Rust files: what each is for, how long it and its functions are, and words that do not land.

use super::mask::{Masked, is_word, mask};
use super::{File, Finding};

const FILE_LINES_MAX: usize = 1000;
const FILE_LINES_SMELL: usize = 500;
const FUNCTION_LINES_MAX: usize = 70;

pub(crate) fn check(file: &File) -> Vec<Finding> {
    let masked = mask(&file.text);
    let mut findings = Vec::new();
    if !file.text.starts_with("//! ") {
        findings.push(Finding::refused(file, 1, "the first line says what the file is for: //! …"));
    }
    if !is_test_file(&file.path) {
        let tests = test_regions(&masked.code);
        findings.extend(check_length(file, &tests));
        findings.extend(check_functions(file, &masked.code, &tests));
    }
    findings.extend(check_words(file, &masked));
    findings
}

/// Whether a whole file is tests: they may be as long as their stories.
pub(crate) fn is_test_file(path: &str) -> bool {
    let mut parts = path.split('/');
    let name = parts.next_back().unwrap_or(path);
    name == "tests.rs" || parts.any(|part| matches!(part, "tests" | "benches"))
}

fn check_length(file: &File, tests: &[Region]) -> Option<Finding> {
    let in_tests: usize = tests.iter().map(|region| region.lines()).sum();
    let lines = file.text.lines().count() - in_tests;
    if lines > FILE_LINES_MAX {
        return Some(Finding::refused(file, 0, format!("{lines} lines; the limit is {FILE_LINES_MAX}")));
    }
    let smell = || format!("{lines} lines; beyond {FILE_LINES_SMELL} a file has two ideas");
    (lines > FILE_LINES_SMELL).then(|| Finding::warning(file, 0, smell()))
}

fn check_functions(file: &File, code: &str, tests: &[Region]) -> Vec<Finding> {
    let too_long = |function: &Function| {
        function.region.lines() > FUNCTION_LINES_MAX
            && !tests.iter().any(|test| test.covers(&function.region))
    };
    let refuse = |function: Function| {
        let lines = function.region.lines();
        let message = format!("fn {} has {lines} lines; the limit is {FUNCTION_LINES_MAX}", function.name);
        Finding::refused(file, function.region.first, message)
    };
    functions(code).into_iter().filter(too_long).map(refuse).collect()
}

fn check_words(file: &File, masked: &Masked) -> Vec<Finding> {
    let in_code = [
        ("dbg!", "dbg! is for the moment of debugging"),
        ("todo!", "todo! does not land"),
        ("unimplemented!", "unimplemented! does not land"),
        ("#[ignore]", "an ignored test says why: #[ignore = \"…\"]"),
    ];
    let in_comments = [
        ("TODO", "a TODO does not land: do it, or leave it out"),
        ("FIXME", "a FIXME does not land: fix it, or leave it out"),
        ("XXX", "an XXX does not land: say what it is about"),
    ];
    let code = in_code.iter().map(|rule| (&masked.code, rule));
    let comments = in_comments.iter().map(|rule| (&masked.comments, rule));
    let mut findings = Vec::new();
    for (text, (word, why)) in code.chain(comments) {
        for (index, line) in text.lines().enumerate() {
            if has_word(line, word) {
                findings.push(Finding::refused(file, index + 1, *why));
            }
        }
    }
    findings
}

fn has_word(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].chars().next_back().is_some_and(is_word);
        let after = word.ends_with(is_word) && line[at + word.len()..].chars().next().is_some_and(is_word);
        !before && !after
    })
}

/// A stretch of lines, from 1, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Region {
    first: usize,
    last: usize,
}

impl Region {
    fn lines(&self) -> usize {
        self.last - self.first + 1
    }

    pub(crate) fn contains(&self, line: usize) -> bool {
        (self.first..=self.last).contains(&line)
    }

    fn covers(&self, other: &Region) -> bool {
        self.first <= other.first && other.last <= self.last
    }
}

struct Function {
    name: String,
    region: Region,
}

fn functions(code: &str) -> Vec<Function> {
    let mut found = Vec::new();
    for (at, _) in code.match_indices("fn ") {
        let name: String = code[at + 3..].trim_start().chars().take_while(|char| is_word(*char)).collect();
        let alone = !code[..at].chars().next_back().is_some_and(is_word);
        if alone
            && !name.is_empty()
            && let Some(region) = block_after(code, at)
        {
            found.push(Function { name, region });
        }
    }
    found
}

pub(crate) fn test_regions(code: &str) -> Vec<Region> {
    let marks = code.match_indices("#[cfg(test)]");
    marks
        .filter_map(|(at, mark)| block_after(code, at + mark.len()).map(|region| from(code, at, region)))
        .collect()
}

fn from(code: &str, at: usize, region: Region) -> Region {
    Region { first: line_of(code, at), ..region }
}

/// The lines from here to the end of the block that the item beginning here has; none if it has no block.
fn block_after(code: &str, from: usize) -> Option<Region> {
    let mut nesting = 0usize;
    let mut braces = 0usize;
    for (offset, char) in code[from..].char_indices() {
        match char {
            '(' | '[' => nesting += 1,
            ')' | ']' => nesting = nesting.saturating_sub(1),
            ';' if nesting == 0 && braces == 0 => return None,
            '{' => braces += 1,
            '}' if braces == 1 => {
                return Some(Region { first: line_of(code, from), last: line_of(code, from + offset) });
            }
            '}' => braces = braces.checked_sub(1)?,
            _ => {}
        }
    }
    None
}

fn line_of(code: &str, at: usize) -> usize {
    code[..at].bytes().filter(|byte| *byte == b'\n').count() + 1
}

#[cfg(test)]
mod tests {
    use super::super::tests::file;
    use super::*;

    fn findings(path: &str, text: &str) -> Vec<String> {
        check(&file(path, text)).iter().map(ToString::to_string).collect()
    }

    fn function(lines: usize) -> String {
        format!("fn long(x: [u8; 3]) {{\n{}}}\n", "    let brace = '{';\n".repeat(lines - 2))
    }

    #[test]
    fn a_file_without_its_purpose_is_refused() {
        let refused = ["refused: a.rs:1: the first line says what the file is for: //! …"];
        assert_eq!(findings("a.rs", "fn main() {}\n"), refused);
    }

    #[test]
    fn a_function_may_have_70_lines_and_not_one_more() {
        assert_eq!(findings("a.rs", &format!("//! A.\n{}", function(70))), [""; 0]);
        let refused = ["refused: a.rs:2: fn long has 71 lines; the limit is 70"];
        assert_eq!(findings("a.rs", &format!("//! A.\n{}", function(71))), refused);
    }

    #[test]
    fn tests_may_be_long() {
        let text = format!("//! A.\n#[cfg(test)]\nmod tests {{\n{}{}}}\n", function(80), "\n".repeat(2000));
        assert_eq!(findings("a.rs", &text), [""; 0]);
        assert_eq!(findings("a/tests.rs", &format!("//! A.\n{}", function(80))), [""; 0]);
    }

    #[test]
    fn a_long_file_is_warned_of_and_a_very_long_one_refused() {
        let text = |lines: usize| format!("//! A.\n{}", "\n".repeat(lines - 1));
        assert_eq!(findings("a.rs", &text(500)), [""; 0]);
        assert_eq!(
            findings("a.rs", &text(501)),
            ["warning: a.rs: 501 lines; beyond 500 a file has two ideas"]
        );
        assert_eq!(findings("a.rs", &text(1001)), ["refused: a.rs: 1001 lines; the limit is 1000"]);
    }

    #[test]
    fn words_that_do_not_land_are_refused_where_they_mean_it() {
        let text = "//! A.\n// TODO: later\nfn f() { dbg!(1); }\n#[ignore]\nconst T: &str = \"TODO dbg!\";\n";
        let lines: Vec<usize> = check(&file("a.rs", text)).iter().map(|finding| finding.line).collect();
        assert_eq!(lines, [3, 4, 2]);
        assert_eq!(findings("a.rs", "//! A.\n#[ignore = \"slow\"]\nfn not_a_todo() {}\n"), [""; 0]);
    }
}
