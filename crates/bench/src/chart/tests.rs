//! A chart is well-formed whatever is in it.

use super::*;

fn chart(points: Vec<(f64, f64)>) -> String {
    let line = |name, colour| Line::new(name, colour, points.clone());
    let panel =
        |scale| Panel { title: "a", unit: "ms", scale, lines: vec![line("p50", "blue"), line("p99", "red")] };
    let bands = vec![(1.0, 2.0, "spike".to_owned())];
    let panels = vec![panel(Scale::Linear), panel(Scale::Log)];
    Chart { title: "5 < 6 & 7".to_owned(), subtitle: String::new(), bands, panels }.render()
}

/// Every element that is opened is closed, in order.
fn check_well_formed(svg: &str) {
    let mut open = Vec::new();
    for part in svg.split('<').skip(1) {
        let (tag, _) = part.split_once('>').unwrap_or_else(|| panic!("no end: {part}"));
        let name = tag.split([' ', '/']).find(|word| !word.is_empty()).unwrap();
        match tag {
            tag if tag.starts_with('/') => assert_eq!(open.pop(), Some(name)),
            tag if tag.ends_with('/') => {}
            _ => open.push(name),
        }
        assert_eq!(tag.matches('"').count() % 2, 0, "{tag}");
    }
    assert!(open.is_empty(), "{open:?}");
}

#[test]
fn a_chart_is_well_formed() {
    let svg = chart(vec![(0.0, 1.0), (1.0, 250.0), (2.0, 3.5)]);
    check_well_formed(&svg);
    assert!(svg.contains("5 &lt; 6 &amp; 7") && svg.contains(">spike<") && svg.contains("a (ms)"), "{svg}");
    assert_eq!(svg.matches("<polyline").count(), 4);
}

#[test]
fn nothing_and_nothing_but_zero_can_be_drawn() {
    for points in [vec![], vec![(0.0, 0.0)], vec![(1.0, 0.0), (2.0, 0.0)]] {
        let svg = chart(points);
        check_well_formed(&svg);
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
    }
}

#[test]
fn higher_values_are_higher_up_and_none_is_outside() {
    for scale in [Scale::Linear, Scale::Log] {
        let lines = vec![Line::new("a", "blue", vec![(0.0, 0.2), (1.0, 90.0)])];
        let frame = Frame::of(&Panel { title: "", unit: "", scale, lines }, 100.0, 1.0);
        let (low, high) = (frame.y(0.2), frame.y(90.0));
        assert!(high < low && high >= 100.0 && low <= 100.0 + PANEL, "{scale:?}: {low} {high}");
    }
}
