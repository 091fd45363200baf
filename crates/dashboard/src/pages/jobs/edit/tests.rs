//! Tests of the form of a job.

use super::*;

#[test]
fn nothing_typed_is_lost_and_the_problem_stands_beside_the_field() {
    let texts = [("uri", "\"><script>"), ("kind", "http"), ("mode", "cron"), ("cron", "nonsense")];
    let texts: Texts = texts.map(|(name, text)| (name.to_owned(), text.to_owned())).into();
    let error = FieldError {
        pointer: None,
        field: Some("properties.recurrence.cron".to_owned()),
        line: None,
        message: "write five fields".to_owned(),
    };
    let problem = Problem { errors: vec![error], ..Trouble::NotFound.problem() };
    let html = page(&Writing { texts, problem: Some(problem), ..empty(None) }).content().into_string();
    assert!(!html.contains("<script>"), "{html}");
    let at = html.find("id=\"cron\"").expect("the control is there");
    let control = html[at..].split("</div>").next().unwrap_or_default();
    assert!(control.contains("write five fields") && control.contains("value=\"nonsense\""), "{control}");
}

#[test]
fn a_document_may_be_whole_or_its_properties_alone() {
    for text in ["{\"properties\": {\"state\": \"disabled\"}}", "{\"state\": \"disabled\"}"] {
        let writing = Writing { json: Some(text.to_owned()), ..empty(None) };
        assert_eq!(read(&writing).expect("JSON"), json!({ "state": "disabled" }));
    }
    let broken = Writing { json: Some("{\n".to_owned()), ..empty(None) };
    assert_eq!(read(&broken).expect_err("no JSON").errors[0].line, Some(2));
}
