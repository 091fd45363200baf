//! What people read when a document is wrong: the exact words and the field.

use expect_test::expect_file;
use schedule::{
    FrontEnd, JobDocument, Limits, Problems, read_collection, read_job, read_job_patch, read_preview,
};
use serde_json::{Value, json};
use types::Timestamp;

/// 2016-03-30T19:36:08Z
const NOW: Timestamp = Timestamp(1_459_366_568_000);

/// Each section of the file is a title, a request and, after `==>`, what is said of it, one problem a line.
#[test]
fn an_error_in_a_document_says_what_is_wrong_and_where() {
    let table = include_str!("fixtures/bad-documents.txt");
    let mut shown = String::new();
    for section in table.split("### ").skip(1) {
        let (title, rest) = section.split_once('\n').expect("a title");
        let (source, _) = rest.split_once("\n==>\n").expect("an arrow after the document");
        let (method, body) = source.split_once(' ').expect("a method");
        let body: Value = serde_json::from_str(&expand(body)).expect(title);
        let Err(problems) = read(method, &body) else { panic!("{title}: nothing is wrong") };
        assert!(!problems.to_string().contains("hunter2"), "{title}: {problems}");
        let lines: String = problems.iter().map(|problem| format!("{problem}\n")).collect();
        shown.push_str(&format!("### {title}\n{source}\n==>\n{lines}\n"));
    }
    expect_file!["fixtures/bad-documents.txt"].assert_eq(&shown);
}

fn read(method: &str, body: &Value) -> Result<(), Problems> {
    let limits = Limits::default();
    match method {
        "PUT" => read_job(body, &limits, NOW).map(drop),
        "PATCH" => stored().patched(&read_job_patch(body)?, &limits, NOW).map(drop),
        "COLLECTION" => read_collection(body, FrontEnd::Azure).map(drop),
        "PREVIEW" => read_preview(body, &limits, NOW).map(drop),
        _ => panic!("{method}"),
    }
}

fn stored() -> JobDocument {
    let action = json!({"type": "Http", "request": {"uri": "http://a.test/", "method": "GET"}});
    read_job(&json!({"properties": {"action": action}}), &Limits::default(), NOW).expect("a job")
}

/// `x{2048}` stands for so many of that letter, and `"h": 51` for so many headers.
fn expand(text: &str) -> String {
    let headers: Vec<String> = (0..51).map(|n| format!(r#""h{n}": "v""#)).collect();
    let mut text = text.replace(r#""h": 51"#, &headers.join(", "));
    while let Some((start, end, count)) = counted(&text) {
        let letter = text[start..=start].repeat(count);
        text.replace_range(start..end, &letter);
    }
    text
}

/// The first letter that is followed by a number in braces: where it begins, where it ends, and the number.
fn counted(text: &str) -> Option<(usize, usize, usize)> {
    text.match_indices('{').find_map(|(open, _)| {
        let close = open + text[open..].find('}')?;
        let count = text[open + 1..close].parse().ok()?;
        Some((open.checked_sub(1)?, close + 1, count))
    })
}
