//! Lookups and checks on JSON text.

pub(crate) mod random;

use super::*;

/// What a document finds, and a tree too.
fn find(text: &str, path: &[Segment]) -> Result<String, String> {
    let found = JsonDocument::new(text).find(path).map(str::to_owned);
    assert_eq!(Tree::new(text.as_bytes()).unwrap().find(path).map(str::to_owned), found);
    found
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
fn of_equal_names_of_many_the_last_counts() {
    let fields: Vec<String> = (0..100).map(|n| format!("\"f{}\": {n}", n % 60)).collect();
    let text = format!("{{{}, \"\\u0066\\u0037\": 1000}}", fields.join(","));
    assert_eq!(find(&text, &[field("f0")]).unwrap(), "60");
    assert_eq!(find(&text, &[field("f7")]).unwrap(), "1000");
    assert_eq!(find(&text, &[field("f59")]).unwrap(), "59");
    assert_eq!(find(&text, &[field("f60")]).unwrap(), "null");
    let tree = Tree::new(text.as_bytes()).unwrap();
    assert_eq!(tree.root().fields().unwrap().len(), 60);
}

#[test]
fn a_tree_refuses_in_the_words_of_the_check() {
    let deep = format!("{}x", "[".repeat(65));
    for text in [b"{\"a\":".as_slice(), b"\"\\ud800\"", b"\"\xff\"", b"01", b"[1,]", deep.as_bytes()] {
        assert_eq!(Tree::new(text).unwrap_err(), check(text).unwrap_err());
    }
}

#[test]
fn only_numbers_that_others_can_hold_are_in_range() {
    let nines = "9".repeat(309);
    for text in ["1e999", "-1E+309", "1.8e308", nines.as_str()] {
        let text = format!("\n [1, {text}]");
        let problem = Tree::new(text.as_bytes()).unwrap().check_range(text.as_bytes()).unwrap_err();
        assert!(
            problem.to_string().starts_with("not valid JSON: number out of range at line 2"),
            "{problem}"
        );
    }
    for text in ["1.7e308", "1e-999", "0e999", &nines[1..], "-0", "123456789012345678901234567890"] {
        assert_eq!(Tree::new(text.as_bytes()).unwrap().check_range(text.as_bytes()), Ok(()));
    }
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
fn half_a_surrogate_pair_is_refused() {
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
