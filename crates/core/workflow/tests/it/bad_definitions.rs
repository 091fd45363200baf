//! What people read when a definition is wrong: the exact words, line and field.

use expect_test::{expect, expect_file};
use workflow::Definition;

fn problems(source: &str) -> String {
    match Definition::parse(source) {
        Ok(_) => "nothing is wrong".to_owned(),
        Err(problems) => problems.to_string(),
    }
}

/// Each section of the file is a title, a definition and, after `==>`, what is said of it.
#[test]
fn an_error_in_a_definition_says_what_is_wrong_and_where() {
    let table = include_str!("../fixtures/bad-definitions.txt");
    let mut shown = String::new();
    for section in table.split("### ").skip(1) {
        let (title, rest) = section.split_once('\n').expect("a title");
        let (source, _) = rest.split_once("==>\n").expect("an arrow after the definition");
        let problems = problems(source);
        assert_ne!(problems, "nothing is wrong", "{title}");
        shown.push_str(&format!("### {title}\n{source}==>\n{problems}\n\n"));
    }
    expect_file!["../fixtures/bad-definitions.txt"].assert_eq(&shown);
}

#[test]
fn an_empty_text_is_not_a_definition() {
    expect!["the definition is empty"].assert_eq(&problems(""));
}

#[test]
fn more_than_64_steps_are_refused() {
    let step = |n| format!("  s{n}: {{ call: {{ service: a, method: GET, path: /x }} }}\n");
    let steps: String = (0..65).map(step).collect();
    let source = format!("name: w\nservices: {{ a: {{ url: 'http://a.test' }} }}\nsteps:\n{steps}");
    expect!["line 4: steps: a workflow has at most 64 steps, not 65"].assert_eq(&problems(&source));
}

#[test]
fn a_source_of_more_than_256_kib_is_refused() {
    expect!["the definition is larger than 262144 bytes"]
        .assert_eq(&problems(&format!("name: w # {}", "x".repeat(256 * 1024))));
}

#[test]
fn deep_nesting_is_refused_without_using_up_the_stack() {
    for (open, close) in [("[", "]"), ("{a: ", "}"), ("- ", ""), ("? ", "")] {
        let source = format!("name: {}{}", open.repeat(20_000), close.repeat(20_000));
        assert_ne!(problems(&source), "nothing is wrong", "{open}");
    }
    expect!["line 1: recursion limit exceeded"].assert_eq(&problems(&format!(
        "name: {}{}",
        "[".repeat(60),
        "]".repeat(60)
    )));
}

fn output_problem(output: &str) -> String {
    let source = format!(
        "name: w\nservices: {{ a: {{ url: 'http://a.test' }} }}\nsteps:\n  one:\n    \
         call: {{ service: a, method: GET, path: /x }}\n    output: '{output}'\n"
    );
    let problems = problems(&source);
    problems.rsplit("': ").next().unwrap_or(&problems).to_owned()
}

#[test]
fn expressions_have_a_length_and_a_depth() {
    expect!["an expression has at most 2048 bytes"]
        .assert_eq(&output_problem(&format!(".a + {}1", "1 + ".repeat(600))));
    expect!["an expression nests at most 64 levels"].assert_eq(&output_problem(&format!(
        ".a | {}{}",
        "[".repeat(70),
        "]".repeat(70)
    )));
    expect!["an expression nests at most 64 levels"]
        .assert_eq(&output_problem(&format!(".a{}", " + 1".repeat(100))));
    expect!["an expression nests at most 64 levels"]
        .assert_eq(&output_problem(&format!(". as $x | {}1", "try ".repeat(400))));
}

#[test]
fn at_most_50_problems_are_listed() {
    let fields: String = (0..80).map(|n| format!("field{n}: 1\n")).collect();
    let problems = problems(&fields);
    assert_eq!(problems.lines().count(), 51);
    expect!["and 32 more problems"].assert_eq(problems.lines().last().unwrap_or_default());
}
