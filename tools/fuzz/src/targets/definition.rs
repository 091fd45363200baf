//! Workflow files: a definition or a list of problems, each with a place in the file; and what it renders.

use bytes::Bytes;
use http::HeaderMap;
use types::plan::Notice;
use types::{Key, RunId, RunStatus, StepIndex, Work};
use workflow::{Definition, Ending, ExpressionContext, Problems, RenderedAction};

use crate::input::text;
use crate::{Target, files};

pub const TARGET: Target = Target {
    name: "definition",
    run,
    seeds,
    words: &[
        "name",
        "accept",
        "route",
        "id",
        "key",
        "change",
        "schema",
        "services",
        "url",
        "timeout",
        "concurrency",
        "steps",
        "call",
        "service",
        "type",
        "queue",
        "topic",
        "storage_queue",
        "service_bus",
        "rabbitmq",
        "routing_key",
        "nats",
        "kafka",
        "message",
        "properties",
        "scheduled_at",
        "time_to_live",
        "feed",
        "secret",
        "amqp://a.test",
        "method",
        "path",
        "body",
        "headers",
        "query",
        "accept_if",
        "output",
        "undo",
        "retry",
        "after",
        "otherwise",
        "notices",
        "completed",
        "undone",
        "parked",
        "${",
        "${.request}",
        ".run.id",
        "exponential",
        "fixed",
        "first",
        "patience",
        "http://a.test",
        "- ",
        "&a",
        "*a",
        "<<: ",
        "|\n  ",
        "!!int",
        "? ",
    ],
    inputs: 1200,
};

fn run(bytes: &[u8]) {
    let Some(source) = text(bytes) else { return };
    match Definition::parse(source) {
        Ok(definition) => {
            let again = Definition::parse(definition.source()).expect("what was read is read again");
            assert_eq!(format!("{:?}", again.plan()), format!("{:?}", definition.plan()));
            assert_eq!(definition.step_names().len(), definition.plan().steps.len());
            let _ = definition.describe();
            use_it(&definition);
        }
        Err(problems) => check_problems(&problems, source),
    }
}

/// There is at least one; each says something, and its line is one of the file.
pub(super) fn check_problems(problems: &Problems, source: &str) {
    let lines = source.split(['\n', '\r']).count() as u32;
    assert!(problems.iter().count() > 0, "a refusal has a reason");
    for problem in problems.iter() {
        assert!(!problem.message.is_empty(), "a problem says something");
        assert!(
            problem.line.is_none_or(|line| (1..=lines + 1).contains(&line)),
            "{problem} of {lines} lines"
        );
    }
}

/// Renders and judges everything that the definition declares, over a request that it may not expect.
pub(super) fn use_it(definition: &Definition) {
    let request = Bytes::from_static(
        br#"{"deliveryId":"d-1","a":{"b":["c",1.5,null]},"packageInfo":{"packageId":"../x"}}"#,
    );
    let id = RunId::new("d-1").expect("a valid id");
    let key = Key::new("k").expect("a valid key");
    let outputs = [Some(Bytes::from_static(b"{\"x\":[1]}")), None, Some(Bytes::from_static(b"\"text\""))];
    let ending = Ending {
        status: RunStatus::Undone,
        reason: Some("refused"),
        steps_done: &definition.step_names()[..1.min(definition.step_names().len())],
        steps_undone: &[],
    };
    let context =
        ExpressionContext { run: &id, key: &key, request: &request, outputs: &outputs, ending: Some(ending) };
    // A refusal is as good an answer as a rendered call: neither may panic.
    let _ = definition.take(&request);
    let steps = (0..definition.step_names().len() as u16).map(StepIndex);
    let works = steps.flat_map(|step| [Work::Do(step), Work::Alternative(step), Work::Undo(step)]);
    let notices = [Notice::Completed, Notice::Undone, Notice::Parked].map(Work::Notice);
    for work in works.chain(notices) {
        if let Ok(RenderedAction::Call(request)) = definition.render(work, &context) {
            let scheme = request.url.starts_with("http://") || request.url.starts_with("https://");
            assert!(scheme, "a call has an absolute URL: {}", request.url);
            assert!(!request.url.contains(char::is_whitespace), "{}", request.url);
        }
        let _ =
            definition.judge(work, &context, 200, &HeaderMap::new(), &outputs[0].clone().unwrap_or_default());
    }
}

fn seeds() -> Vec<Vec<u8>> {
    let delivery = files::text("crates/core/workflow/tests/fixtures/drone-delivery.yaml")
        .replace("schema: delivery-request.schema.json", "schema: { type: object, required: [deliveryId] }");
    let bad = files::cases("crates/core/workflow/tests/fixtures/bad-definitions.txt");
    let messages = files::text("crates/core/workflow/tests/fixtures/messages.yaml");
    [delivery, messages].into_iter().chain(bad).map(String::into_bytes).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The others are the fixtures of errors.
    #[test]
    fn the_first_two_seeds_are_accepted() {
        for seed in &seeds()[..2] {
            Definition::parse(text(seed).expect("seeds are text")).unwrap();
        }
    }
}
