//! What becomes of the blocks of a page.

use super::*;

fn error(page: &str) -> String {
    format!("{:#}", steps(page).expect_err("this page is wrong"))
}

#[test]
fn commands_files_and_outputs_become_steps_in_order() {
    let page = "\
```yaml title=a.yaml
name: a
```
Then:
```sh
cat a.yaml
```
It says:
```text
name: a
```
```sh not-run=\"needs Kubernetes\"
kubectl get pods
```
```text
what is shown after it
```
```toml
shown = true
```
```sh background
serve
```
```text
ready
```
";
    let steps = steps(page).expect("this page is right");
    let expected = [
        Step::Write { line: 1, name: "a.yaml".to_owned(), text: "name: a\n".to_owned() },
        Step::Run {
            line: 5,
            commands: "cat a.yaml\n".to_owned(),
            how: How::Once,
            output: Some(Output::Text("name: a\n".to_owned())),
        },
        Step::NotRun { line: 12, reason: "needs Kubernetes".to_owned() },
        Step::Run {
            line: 21,
            commands: "serve\n".to_owned(),
            how: How::Background,
            output: Some(Output::Text("ready\n".to_owned())),
        },
    ];
    assert_eq!(steps, expected);
}

#[test]
fn a_block_in_a_list_loses_the_indent_of_the_list() {
    let steps = steps("1. Do it:\n\n   ```sh\n   if true\n     then true\n   fi\n   ```\n").expect("right");
    let commands = "if true\n  then true\nfi\n".to_owned();
    assert_eq!(steps, [Step::Run { line: 3, commands, how: How::Once, output: None }]);
}

#[test]
fn no_command_hides_in_a_block_that_is_not_run() {
    assert!(error("```\nsortie run list\n```\n").contains("say what it is"));
    assert!(error("```text figure\ncurl -s localhost\n```\n").contains("looks like a command"));
    assert!(error("```bash\ncurl -s localhost\n```\n").contains("commands are `sh`"));
    assert!(error("```sh not-run=\"\"\ntrue\n```\n").contains("sh takes no"));
}

#[test]
fn words_that_nobody_knows_are_refused() {
    assert!(error("```sh backround\ntrue\n```\n").contains("line 1: ```sh backround: sh takes no"));
    assert!(error("```yaml title=../a.yaml\na: 1\n```\n").contains("yaml takes no"));
}

#[test]
fn an_output_belongs_to_commands() {
    assert!(error("```text\nhello\n```\n").contains("no commands stand before this output"));
    assert!(error("```sh\ntrue\n```\n```toml\na = 1\n```\n```text\nhello\n```\n").contains("line 7"));
    assert!(error("```sh background\nserve\n```\n").contains("only its output can say"));
    assert!(error("```sh\ntrue\n").contains("has no end"));
}
