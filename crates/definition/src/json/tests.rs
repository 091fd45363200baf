//! Lookups and checks on JSON text.

use super::*;

fn find(text: &str, path: &[Segment]) -> Result<String, String> {
    Document::new(text).find(path).map(str::to_owned)
}

fn field(name: &str) -> Segment {
    Segment::Field(name.into())
}

#[test]
fn a_lookup_finds_the_text_as_it_was_sent() {
    let text = r#"{"a": {"b": [1.50, {"c": "x"}]}, "n": 12345678901234567890, "é\n": 1}"#;
    let path = [field("a"), field("b"), Segment::Item(0)];
    assert_eq!(find(text, &path).unwrap(), "1.50");
    let path = [field("a"), field("b"), Segment::Item(-1), field("c")];
    assert_eq!(find(text, &path).unwrap(), "\"x\"");
    assert_eq!(find(text, &[field("n")]).unwrap(), "12345678901234567890");
    assert_eq!(find(text, &[field("é\n")]).unwrap(), "1");
}

#[test]
fn what_is_missing_is_null_and_what_cannot_be_looked_into_is_an_error() {
    assert_eq!(find(r#"{"a": null}"#, &[field("a"), field("b")]).unwrap(), "null");
    assert_eq!(find("[1]", &[Segment::Item(5)]).unwrap(), "null");
    assert_eq!(find("[1]", &[Segment::Item(-2)]).unwrap(), "null");
    assert_eq!(find("[1]", &[field("a")]).unwrap_err(), "cannot look up 'a' in an array");
    assert_eq!(find("7", &[Segment::Item(0)]).unwrap_err(), "cannot take item 0 of a number");
}

#[test]
fn of_equal_names_the_last_counts() {
    assert_eq!(find(r#"{"a": 1, "a": 2}"#, &[field("a")]).unwrap(), "2");
}

#[test]
fn depth_is_counted_outside_of_text_only() {
    let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    assert!(check(nested(64).as_bytes()).is_ok());
    assert_eq!(check(nested(65).as_bytes()), Err(InvalidJson::TooDeep));
    let text = format!("\"{}\\\"{}\"", "[".repeat(100), "{".repeat(100));
    assert!(check(text.as_bytes()).is_ok());
}

#[test]
fn only_json_is_json() {
    for text in ["", " ", "{", "nul", "1 2", "\u{feff}1", "'a'", "NaN"] {
        assert!(matches!(check(text.as_bytes()), Err(InvalidJson::Malformed(_))), "{text:?}");
    }
    assert!(check(b"\"\xff\"").is_err());
    assert_eq!(check(b" \n[1] ").unwrap(), "[1]");
}

#[test]
fn half_a_character_is_no_text() {
    for text in [r#""\ud83d\ude80""#, r#"{"\u00fc": "\\ud800"}"#, r#""a\nb""#] {
        assert!(check(text.as_bytes()).is_ok(), "{text}");
    }
    for text in [
        r#""\ud800""#,
        r#""\udc00""#,
        r#""\ud800\n""#,
        r#""\ud800\u0041""#,
        r#"{"\uDBFF": 1}"#,
        r#""\ud83d\ude80\ud83d""#,
    ] {
        let problem = check(text.as_bytes()).unwrap_err().to_string();
        assert!(problem.contains("half a character"), "{text}: {problem}");
        assert!(serde_json::from_str::<serde_json::Value>(text).is_err(), "others refuse it as well: {text}");
    }
}
