//! A custom message property, as NAME=VALUE.

use std::str::FromStr;

use serde_json::{Number, Value};

/// A property: numbers and booleans keep their type, and quoted text is always text.
#[derive(Debug, Clone, PartialEq)]
pub struct Property {
    pub name: String,
    pub value: Value,
}

impl FromStr for Property {
    type Err = String;

    fn from_str(text: &str) -> Result<Property, String> {
        let (name, value) = text
            .split_once('=')
            .filter(|(name, _)| !name.is_empty())
            .ok_or_else(|| "the format of a property is NAME=VALUE".to_owned())?;
        let quoted = value.starts_with('"').then(|| serde_json::from_str::<String>(value).ok()).flatten();
        let value = match (quoted, value) {
            (Some(text), _) => Value::from(text),
            (None, "true") => true.into(),
            (None, "false") => false.into(),
            (None, text) => serde_json::from_str::<Number>(text).map_or_else(|_| text.into(), Value::Number),
        };
        Ok(Property { name: name.to_owned(), value })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_what_they_look_like() {
        for (text, value) in [
            ("a=b", json!("b")),
            ("a=5", json!(5)),
            ("a=true", json!(true)),
            ("a=\"5\"", json!("5")),
            ("a=b=c", json!("b=c")),
            ("a=", json!("")),
        ] {
            assert_eq!(text.parse(), Ok(Property { name: "a".to_owned(), value }), "{text}");
        }
        assert!("=b".parse::<Property>().is_err());
        assert!("b".parse::<Property>().is_err());
    }
}
