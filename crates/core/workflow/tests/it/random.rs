//! Whatever the text and whatever the request: an answer, never a panic.

use crate::common::{Run, call, drone, drone_source};
use bytes::Bytes;
use http::HeaderMap;
use proptest::prelude::*;
use serde_json::Value;
use types::{StepIndex, Work};
use workflow::Definition;

fn json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_filter("finite", |f| f.is_finite()).prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
        prop_oneof![Just(".."), Just("%2e"), Just("\r\n"), Just("/"), Just("")].prop_map(Value::from),
    ];
    let name = || {
        prop_oneof![
            "[a-c]",
            Just("ownerId".to_owned()),
            Just("packageInfo".to_owned()),
            Just("packageId".to_owned()),
            Just("pickupLocation".to_owned()),
            ".{0,4}",
        ]
    };
    leaf.prop_recursive(4, 48, 8, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::btree_map(name(), inner, 0..6)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn any_text_is_a_definition_or_a_list_of_problems(text in "\\PC{0,200}|[ a-z:{}\\[\\]\"'&*!|>%#,\n-]{0,200}") {
        if let Err(problems) = Definition::parse(&text) {
            prop_assert!(problems.iter().count() >= 1);
        }
    }

    #[test]
    fn a_damaged_definition_is_a_definition_or_a_list_of_problems(
        at in any::<prop::sample::Index>(), cut in 0usize..40, put in "\\PC{0,6}",
    ) {
        let source = drone_source();
        let mut chars: Vec<char> = source.chars().collect();
        let at = at.index(chars.len());
        let end = (at + cut).min(chars.len());
        chars.splice(at..end, put.chars());
        let source: String = chars.into_iter().collect();
        if let Err(problems) = Definition::parse(&source) {
            prop_assert!(problems.iter().count() >= 1);
        }
    }

    #[test]
    fn any_expression_compiles_or_says_why_and_ends(
        source in "[.|,\\[\\]{}()a-c0-9\"$+*/<=?: -]{1,40}|(\\.request|\\.run|map\\(|select\\(|\\||,|\\.a|\\[|\\]|\\)|1|\\+|as \\$x|\\$x|if|then|else|end|reduce|range\\(1e9\\)| ){1,12}",
        request in json(),
    ) {
        let quoted = serde_json::to_string(&format!("${{{source}}}")).unwrap();
        let text = format!(
            "name: w\nservices: {{ a: {{ url: 'http://a.test' }} }}\nsteps:\n  one:\n    call: {{ service: a, method: POST, path: /x, body: {quoted} }}\n"
        );
        if let Ok(definition) = Definition::parse(&text) {
            let run = Run::new(&request.to_string());
            let rendered = definition.render(Work::Do(StepIndex(0)), &run.context());
            if let Ok(Some(body)) = rendered.map(|rendered| call(rendered).body) {
                prop_assert!(body.len() <= workflow::limits::BODY_BYTES_MAX);
            }
        }
    }

    #[test]
    fn any_request_renders_within_its_service_or_says_why(request in json(), output in json()) {
        let definition = drone();
        let mut run = Run::new(&request.to_string());
        run.outputs = vec![None, None, None, Some(Bytes::from(output.to_string()))];
        for step in 0..5 {
            let rendered = definition.render(Work::Do(StepIndex(step)), &run.context());
            let Ok(rendered) = rendered.map(call) else { continue };
            let port = 7101 + step;
            let url = rendered.url.strip_prefix(&format!("http://127.0.0.1:{port}/api/"));
            let rest = url.expect("the host and the start of the path never change");
            prop_assert_eq!(rest.matches('/').count(), 1, "{}", rendered.url);
            prop_assert!(rest.bytes().all(|b| b.is_ascii_graphic()), "{}", rendered.url);
            if let Some(body) = &rendered.body {
                let json = rendered.headers.iter().any(|(_, value)| value == "application/json");
                prop_assert!(!json || serde_json::from_slice::<Value>(body).is_ok());
            }
        }
        let _ = definition.take(&run.request);
    }

    #[test]
    fn any_answer_is_judged(body in prop_oneof![json().prop_map(|v| v.to_string().into_bytes()), prop::collection::vec(any::<u8>(), 0..64)]) {
        let (definition, run) = (drone(), Run::new("{}"));
        for step in 0..5 {
            let work = Work::Do(StepIndex(step));
            let verdict = definition.judge(work, &run.context(), 200, &HeaderMap::new(), &Bytes::from(body.clone()));
            if let workflow::ResponseVerdict::Done { output } = verdict {
                prop_assert!(serde_json::from_slice::<Value>(&output).is_ok());
            }
        }
    }
}
