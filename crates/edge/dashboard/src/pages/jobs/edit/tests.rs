//! Tests of the job editor.

use super::*;
use crate::pages::fake_api::{self, now, refused};

#[test]
fn nothing_typed_is_lost_and_the_problem_stands_beside_the_field() {
    let texts = [("uri", "\"><script>"), ("kind", "http"), ("mode", "cron"), ("cron", "nonsense")];
    let texts: FieldValues = texts.map(|(name, text)| (name.to_owned(), text.to_owned())).into();
    let error = FieldError {
        pointer: None,
        field: Some("properties.recurrence.cron".to_owned()),
        line: None,
        message: "write five fields".to_owned(),
    };
    let problem = Problem { errors: vec![error], ..PageError::NotFound.problem() };
    let html = page(&JobEditor { texts, problem: Some(problem), ..empty(None) }).content().into_string();
    assert!(!html.contains("<script>"), "{html}");
    let at = html.find("id=\"cron\"").expect("the control is there");
    let control = html[at..].split("</div>").next().unwrap_or_default();
    assert!(control.contains("write five fields") && control.contains("value=\"nonsense\""), "{control}");
}

#[test]
fn a_document_may_be_whole_or_its_properties_alone() {
    for text in ["{\"properties\": {\"state\": \"disabled\"}}", "{\"state\": \"disabled\"}"] {
        let writing = JobEditor { json: Some(text.to_owned()), ..empty(None) };
        assert_eq!(read(&writing).expect("JSON"), json!({ "state": "disabled" }));
    }
    let broken = JobEditor { json: Some("{\n".to_owned()), ..empty(None) };
    assert_eq!(read(&broken).expect_err("no JSON").errors[0].line, Some(2));
}

#[test]
fn a_change_of_somebody_else_is_shown_and_can_be_saved_over() {
    let mine = r#"{"action": {"type": "Http", "request": {"uri": "http://mine", "authentication":
        {"type": "Basic", "username": "u", "password": "hush-hush"}}}}"#;
    let fields = [("as", "json"), ("json", mine), ("version", "\"3\""), ("do", "save")];
    let (ctx, _) = fake_api::context("/ui/jobs/c/j/edit", &fields, |(method, _, _)| match method.as_str() {
        "GET" => {
            let action = json!({ "type": "Http", "request": { "uri": "http://theirs" } });
            (200, json!({ "name": "j", "collection": "c", "version": 4, "properties": { "action": action } }))
        }
        _ => refused(412, "version mismatch"),
    });
    let at = JobAddress { collection: "c".to_owned(), job: "j".to_owned() };
    let Ok(FormOutcome::Invalid(page)) = now(act(&ctx, Some(&at))) else { panic!("not shown again") };
    let html = page.content().into_string();
    assert!(html.contains("name=\"version\" value=\"&quot;4&quot;\""), "{html}");
    assert!(html.contains("Changed by someone else") && html.contains("Overwrite"), "{html}");
    let shown =
        html.split("<pre").nth(1).and_then(|rest| rest.split("</pre>").next()).expect("the difference");
    assert!(shown.contains("http://theirs") && shown.contains("http://mine"), "{shown}");
    assert!(!shown.contains("hush-hush"), "{shown}");
}
