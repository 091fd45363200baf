//! What is printed to a terminal.

use expect_test::{Expect, expect};

use super::*;

fn check(picture: &mut Frame, text: &str, size: Size, expected: Expect) {
    expected.assert_eq(&picture.draw(text, "heading", size).replace('\u{1b}', "^").replace('\r', "<"));
}

#[test]
fn a_picture_replaces_the_one_before_line_by_line() {
    let size = Size { columns: 12, rows: 10 };
    let mut picture = Frame::default();
    check(
        &mut picture,
        "one\ntwo\n",
        size,
        expect![[r#"
        ^[?2026h<heading^[K
        <one^[K
        <two^[K
        ^[J^[?2026l"#]],
    );
    check(
        &mut picture,
        "a line that is too long\n",
        size,
        expect![[r#"
        ^[?2026h^[3A<heading^[K
        <a line that…^[K
        ^[J^[?2026l"#]],
    );
    check(
        &mut picture,
        "three\n",
        size,
        expect![[r#"
        ^[?2026h^[2A<heading^[K
        <three^[K
        ^[J^[?2026l"#]],
    );
}

#[test]
fn a_picture_never_scrolls() {
    let mut picture = Frame::default();
    let text = "1\n2\n3\n4\n5\n6\n";
    check(
        &mut picture,
        text,
        Size { columns: 40, rows: 5 },
        expect![[r#"
        ^[?2026h<heading^[K
        <1^[K
        <2^[K
        <… and 4 more lines^[K
        ^[J^[?2026l"#]],
    );
    // The terminal was made smaller.
    check(
        &mut picture,
        text,
        Size { columns: 40, rows: 3 },
        expect![[r#"
        ^[?2026h^[2A<heading^[K
        <… and 6 more lines^[K
        ^[J^[?2026l"#]],
    );
}

#[test]
fn the_pace_is_seconds_within_reason() {
    assert_eq!(seconds("0.5").unwrap(), Duration::from_millis(500));
    for text in ["0", "-1", "delivery-7", "NaN", "1e9"] {
        assert!(seconds(text).unwrap_err().contains("seconds from 0.1"), "{text}");
    }
}
