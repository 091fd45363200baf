//! Templates: text, expressions and their ends.

use super::*;

fn parts(text: &str) -> String {
    match Template::parse(text) {
        Ok(template) => format!("{:?}", template.parts),
        Err(message) => message,
    }
}

#[test]
fn templates_are_text_and_expressions() {
    assert_eq!(parts("a ${ .b } c"), r#"[Text("a "), Value(.b), Text(" c")]"#);
    assert_eq!(parts("${.a}${.b}"), "[Value(.a), Value(.b)]");
    assert_eq!(parts("$${.a} costs $5"), r#"[Text("${.a} costs $5")]"#);
    assert_eq!(parts(""), "[]");
}

#[test]
fn an_expression_ends_at_its_own_brace() {
    assert_eq!(parts("x${ {a: {b: 1}} | .a }y"), r#"[Text("x"), Value({a: {b: 1}} | .a), Text("y")]"#);
    assert_eq!(parts("${\"}\"}"), r#"[Value("}")]"#);
    assert_eq!(parts("${\"\\({a: \"}\"}.a)\"}!"), r#"[Value("\({a: "}"}.a)"), Text("!")]"#);
}
