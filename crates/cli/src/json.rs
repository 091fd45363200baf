//! JSON on one line.

/// JSON without whitespace between its parts.
pub fn one_line(json: &str) -> String {
    let (mut in_text, mut escaped) = (false, false);
    let keep = |c: &char| {
        let starts_or_ends = *c == '"' && !escaped;
        escaped = in_text && *c == '\\' && !escaped;
        in_text ^= starts_or_ends;
        in_text || !c.is_ascii_whitespace()
    };
    json.chars().filter(keep).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_space_between_parts_goes() {
        let json = "{ \"b\": [1,\n 2], \"a\": \"x \\\" y\\\\\", \"c\" : \" \" }";
        assert_eq!(one_line(json), r#"{"b":[1,2],"a":"x \" y\\","c":" "}"#);
    }
}
