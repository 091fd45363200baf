//! A tree takes what the check takes, and holds what others read.

use proptest::prelude::*;
use serde_json::{Map, Value};

use super::*;

/// JSON text, mostly valid: repeated names, names and texts with escapes, every kind of number, space.
pub(crate) fn json_text() -> impl Strategy<Value = String> {
    let whole = prop_oneof![Just("null"), Just("true"), Just("false"), Just("\"\""), Just("{}"), Just("[]")];
    let number = prop_oneof![
        "-?(0|[1-9][0-9]{0,25})(\\.[0-9]{1,20})?([eE][+-]?[0-9]{1,3})?",
        any::<f64>().prop_filter("finite", |f| f.is_finite()).prop_map(|f| format!("{f:e}")),
        any::<i64>().prop_map(|n| n.to_string()),
        any::<u64>().prop_map(|n| n.to_string()),
        Just("9".repeat(310)),
    ];
    let text = prop_oneof![
        ".{0,20}".prop_map(|text| serde_json::to_string(&text).unwrap()),
        "(a|\\\\u0061|\\\\n|\\\\ud83d\\\\ude80|\\\\/|é|🚀|\\\\\\\\|\\\\\"){0,8}"
            .prop_map(|text| format!("\"{text}\"")),
    ];
    let wrong = prop_oneof![
        Just("nul"),
        Just("01"),
        Just("1."),
        Just("-"),
        Just(".5"),
        Just("1e"),
        Just("+1"),
        Just("'a'"),
        Just("\"\\x\""),
        Just("\"\\ud800\""),
        Just("\"\\udc00\\ud800\""),
        Just("\"\t\""),
        Just("\""),
        Just("[,]"),
        Just("{\"a\"}"),
        Just("{1:2}"),
        Just("\u{feff}1"),
        Just("\u{c}1"),
        Just("True"),
    ];
    let name = || prop_oneof![4 => "\"[ab]{0,2}\"", 1 => Just("\"\\u0061\"".to_owned()), 1 => Just("\"é\"".to_owned())];
    let space = || prop_oneof![4 => Just(""), 1 => Just(" "), 1 => Just("\r\n\t")];
    let leaf = prop_oneof![
        8 => whole.prop_map(str::to_owned), 12 => number, 12 => text, 1 => wrong.prop_map(str::to_owned),
    ];
    leaf.prop_recursive(5, 120, 60, move |inner| {
        let item = (space(), inner.clone(), space()).prop_map(|(a, item, b)| format!("{a}{item}{b}"));
        let field =
            (space(), name(), space(), item.clone()).prop_map(|(a, name, b, v)| format!("{a}{name}{b}:{v}"));
        let list = |brackets: [char; 2]| {
            move |parts: Vec<String>| format!("{}{}{}", brackets[0], parts.join(","), brackets[1])
        };
        prop_oneof![
            4 => prop::collection::vec(item, 1..6).prop_map(list(['[', ']'])),
            4 => prop::collection::vec(field.clone(), 1..8).prop_map(list(['{', '}'])),
            1 => prop::collection::vec(field, 30..60).prop_map(list(['{', '}'])),
        ]
    })
}

/// The value at a place, made of its parts.
fn value_of(place: NodeRef<'_>) -> Value {
    match place.shape() {
        Shape::Null => Value::Null,
        Shape::Bool(value) => Value::Bool(value),
        Shape::Number(digits) => Value::Number(digits.parse().unwrap()),
        Shape::Text(text) => Value::String(text.to_owned()),
        Shape::Array(items) => {
            let list: Vec<Value> = items.iter().map(value_of).collect();
            assert_eq!(list.len(), items.len());
            Value::Array(list)
        }
        Shape::Object(fields) => {
            let object: Map<String, Value> =
                fields.iter().map(|(name, field)| (name.to_owned(), value_of(field))).collect();
            assert_eq!(object.len(), fields.len(), "no name is there twice");
            for (name, field) in fields.iter() {
                assert_eq!(fields.get(name).unwrap().identity(), field.identity());
            }
            assert!(fields.get("no such name").is_none());
            Value::Object(object)
        }
    }
}

fn check_tree(bytes: &[u8]) {
    let tree = match (Tree::new(bytes), check(bytes)) {
        (Ok(tree), Ok(text)) => {
            assert_eq!(tree.root().json(), text);
            tree
        }
        (Err(problem), Err(expected)) => {
            assert_eq!(problem, expected);
            return;
        }
        (tree, check) => {
            panic!("a tree says {:?}, the check {check:?}", tree.map(|tree| tree.root().json().len()))
        }
    };
    match (tree.check_range(bytes), serde_json::from_slice::<Value>(bytes)) {
        (Ok(()), Ok(value)) => {
            assert_eq!(value_of(tree.root()), value);
            assert_eq!(tree.root().to_value(), value);
        }
        (Err(problem), Err(expected)) => {
            assert_eq!(problem.to_string(), format!("not valid JSON: {expected}"))
        }
        (range, value) => panic!("a tree says {range:?}, others {value:?}"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn a_tree_is_what_others_read(text in json_text()) {
        check_tree(text.as_bytes());
    }

    #[test]
    fn a_tree_of_damaged_text_is_what_others_read(
        text in json_text(), at in any::<prop::sample::Index>(), cut in 0usize..4, put in prop::collection::vec(any::<u8>(), 0..3),
    ) {
        let mut bytes = text.into_bytes();
        let at = at.index(bytes.len());
        bytes.splice(at..(at + cut).min(bytes.len()), put);
        check_tree(&bytes);
    }

    #[test]
    fn a_tree_of_any_text_is_what_others_read(text in "[\\[\\]{}\",:\\\\0-9eE+.utfnld8c \\t-]{0,24}|\"[ -~é🚀\\u0000-\\u001f]{0,30}\"") {
        check_tree(text.as_bytes());
    }
}
