//! Actions as they are stored: the recorded ones, and broken ones.

use serde_json::{Value, json};

use super::*;

/// The bodies that were sent to Azure Scheduler and accepted by it, from a recording.
fn recorded_actions(name: &str) -> Vec<Value> {
    let path = format!("{}/../../../testdata/azure-scheduler/{name}.json", env!("CARGO_MANIFEST_DIR"));
    let recording: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let steps = recording["steps"].as_array().unwrap();
    let actions = steps.iter().map(|step| step["request"]["body"]["properties"]["action"].clone());
    actions.filter(|action| action["type"].is_string()).collect()
}

fn parse(json: &Value) -> Result<Action, ActionError> {
    Action::parse(&json.to_string(), ActionPart::Main)
}

fn http(json: &Value) -> HttpAction {
    match parse(json).unwrap() {
        Action::Http(action) => action,
        other => panic!("{other:?}"),
    }
}

#[test]
fn recorded_actions_are_understood() {
    let basic = http(&recorded_actions("06_job_http_auth_basic")[0]);
    assert_eq!((basic.uri.as_str(), basic.method), ("http://www.bing.com/", Method::GET));
    assert_eq!(basic.body.unwrap(), "some body message!");
    assert_eq!(basic.headers["content-type"], "application/xml");
    let expected =
        Authentication::Basic { username: "username".to_owned(), sealed_password: "<redacted>".to_owned() };
    assert_eq!(basic.authentication, expected);

    let certificate = http(&recorded_actions("07_job_http_auth_clientcert")[0]);
    assert!(matches!(
        certificate.authentication,
        Authentication::ClientCertificate { sealed_password: Some(_), .. }
    ));
    let oauth = http(&recorded_actions("08_job_http_auth_oauth")[0]);
    assert!(matches!(oauth.authentication, Authentication::ActiveDirectoryOAuth { .. }), "{oauth:?}");

    let queue = &stored(&recorded_actions("09_job_servicebus_queue_erroraction_topic")[0]);
    let Action::Message(main) = parse(queue).unwrap() else { panic!("the recorded action sends") };
    assert!(matches!(main.target, schedule::ActionTarget::ServiceBusQueueMessage(_)), "{main:?}");
    let topic = Action::parse(&queue.to_string(), ActionPart::Error).unwrap();
    let Action::Message(topic) = topic else { panic!("the recorded errorAction sends") };
    assert!(matches!(topic.target, schedule::ActionTarget::ServiceBusTopicMessage(_)), "{topic:?}");

    let with_error_action = &recorded_actions("18_job_once_with_http_erroraction")[0];
    let main = http(with_error_action);
    let Action::Http(error) = Action::parse(&with_error_action.to_string(), ActionPart::Error).unwrap()
    else {
        panic!("the recorded errorAction is http")
    };
    assert_eq!((main.method, error.method), (Method::GET, Method::POST));
    assert_eq!(error.body.unwrap(), "HelloError");
}

/// An action as it is kept: messages are read in that form alone.
fn stored(action: &Value) -> Value {
    let body = json!({ "properties": { "action": action } });
    let document = schedule::read_job(&body, &schedule::Limits::default(), types::Timestamp(0)).unwrap();
    serde_json::from_str(&document.action_json()).unwrap()
}

#[test]
fn types_and_methods_are_understood_in_any_case() {
    for kind in ["http", "HTTP", "Https"] {
        let json = serde_json::json!({ "type": kind, "request": { "uri": "u", "method": "pAtCh" } });
        assert_eq!(http(&json).method, Method::PATCH);
    }
    let json = |kind: &str| {
        serde_json::json!({ "type": "http", "request": { "uri": "u", "method": "GET",
            "authentication": { "type": kind, "password": "p" } } })
    };
    assert_eq!(http(&json("NotSpecified")).authentication, Authentication::None);
    assert!(matches!(http(&json("bASIC")).authentication, Authentication::Basic { .. }));
}

#[test]
fn a_workflow_gets_its_body_as_written() {
    let text = r#"{"type":"Workflow","workflow":{"name":"ship","body":{"b":1.0,"a":[]},"id":"x"}}"#;
    let Action::Workflow(action) = Action::parse(text, ActionPart::Main).unwrap() else {
        panic!("a workflow")
    };
    assert_eq!((action.name.as_str(), action.id.as_deref()), ("ship", Some("x")));
    assert_eq!(action.body, r#"{"b":1.0,"a":[]}"#);
    let text = r#"{"type":"workflow","workflow":{"name":"ship"}}"#;
    let Action::Workflow(action) = Action::parse(text, ActionPart::Main).unwrap() else {
        panic!("a workflow")
    };
    assert_eq!((action.id, action.body), (None, Bytes::from_static(b"null")));
}

#[test]
fn errors_in_an_action_name_the_member_and_quote_no_value() {
    let request =
        |members: &str| format!(r#"{{"type":"http","request":{{"uri":"u","method":"GET",{members}}}}}"#);
    for (text, error) in [
        (String::new(), "its stored form is damaged at line 1, column 0"),
        (r#"{"type":7}"#.to_owned(), "its stored form is damaged at line 1, column 9"),
        (r#"{"type":"ftp"}"#.to_owned(), "its type is not known"),
        (r#"{"type":"http"}"#.to_owned(), r#"it has no "request""#),
        (r#"{"type":"workflow"}"#.to_owned(), r#"it has no "workflow""#),
        (request(r#""headers":{"a b":"hush"}"#), r#"its header "a b" cannot be sent"#),
        (request(r#""headers":{"a":"hu\nsh"}"#), r#"its header "a" cannot be sent"#),
        (request(r#""authentication":{"type":"digest"}"#), "its authentication type is not known"),
        (request(r#""authentication":{"type":"Basic"}"#), r#"it has no "password""#),
        (
            request(
                r#""authentication":{"type":"ActiveDirectoryOAuth","tenant":"t","audience":"a","secret":"s"}"#,
            ),
            r#"it has no "clientId""#,
        ),
    ] {
        assert_eq!(Action::parse(&text, ActionPart::Main).unwrap_err().to_string(), error, "{text}");
    }
    for method in ["", "GE T", "connect", "G\u{e4}T"] {
        let json = serde_json::json!({ "type": "http", "request": { "uri": "u", "method": method } });
        assert_eq!(parse(&json).unwrap_err(), ActionError::BadMethod);
    }
    let error = Action::parse(&request(r#""body":"b""#), ActionPart::Error).unwrap_err();
    assert_eq!(error, ActionError::NoErrorAction);
}
