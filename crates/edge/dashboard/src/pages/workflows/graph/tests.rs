//! Tests of the layout.

use super::*;

/// Steps written as `a b<a c<a,b`.
fn steps(text: &str) -> Vec<StepOutline> {
    let step = |word: &str| {
        let (name, after) = word.split_once('<').unwrap_or((word, ""));
        StepOutline {
            name: name.to_owned(),
            after: after.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect(),
            alternative: false,
            undo: false,
            pivot: false,
        }
    };
    text.split_whitespace().map(step).collect()
}

/// Properties of every layout: boxes do not overlap, arrows run from left to right between the right boxes and cross
/// no box, and nothing is outside the figure.
fn check(text: &str) -> Graph {
    let steps = steps(text);
    let graph = layout(&steps);
    assert_eq!(graph.boxes.len(), steps.len());
    let inside = |x: f64, y: f64| (0.0..=graph.width).contains(&x) && (0.0..=graph.height).contains(&y);
    for (index, (x, y)) in graph.boxes.iter().enumerate() {
        assert!(inside(*x, *y) && inside(x + BOX_WIDTH, y + BOX_HEIGHT), "{text}: box {index} is outside");
        for (other_x, other_y) in &graph.boxes[..index] {
            let apart = (x - other_x).abs() >= BOX_WIDTH || (y - other_y).abs() >= BOX_HEIGHT;
            assert!(apart, "{text}: box {index} is over another");
        }
    }
    for arrow in &graph.arrows {
        for pair in arrow.windows(2) {
            assert!(pair[0].0 < pair[1].0, "{text}: an arrow goes back");
            let level = pair[0].1 == pair[1].1;
            let crosses = |(x, y): &(f64, f64)| {
                pair[0].0 < x + BOX_WIDTH && pair[1].0 > *x && (y..=&(y + BOX_HEIGHT)).contains(&&pair[0].1)
            };
            assert!(!level || !graph.boxes.iter().any(crosses), "{text}: an arrow goes through a box");
        }
    }
    graph
}

#[test]
fn one_step_is_one_box() {
    let graph = check("only");
    assert_eq!((graph.boxes, graph.arrows.len()), (vec![(MARGIN, MARGIN)], 0));
}

#[test]
fn no_steps_are_an_empty_picture() {
    assert_eq!(check("").boxes, []);
}

#[test]
fn a_step_is_placed_after_all_of_its_predecessors() {
    let graph = check("account package transport drone<account,package,transport delivery<drone");
    let xs: Vec<f64> = graph.boxes.iter().map(|(x, _)| *x).collect();
    assert!(xs[0] == xs[1] && xs[1] == xs[2] && xs[2] < xs[3] && xs[3] < xs[4], "{xs:?}");
    assert_eq!(graph.arrows.len(), 4);
}

#[test]
fn an_arrow_over_several_layers_passes_between_the_boxes() {
    let graph = check("a b<a c<b d<c,a");
    let long = graph.arrows.last().expect("there are arrows");
    assert_eq!(long.len(), 6, "it has a place in both layers between");
}

#[test]
fn straight_ways_side_by_side_do_not_cross() {
    let graph = check("a b c d<c e<b f<a");
    for arrow in &graph.arrows {
        assert_eq!(arrow[0].1, arrow[1].1, "{arrow:?}");
    }
}

#[test]
fn rings_unknown_names_and_doubles_do_no_harm() {
    let graph = check("a<c,a,ghost b<a,a c<b");
    assert_eq!(graph.arrows.len(), 2);
}

#[test]
fn forty_steps_fit() {
    let chain: Vec<String> =
        (0..40).map(|n| if n == 0 { "s0".to_owned() } else { format!("s{n}<s{}", n - 1) }).collect();
    check(&chain.join(" "));
    let fan: Vec<String> =
        (0..40).map(|n| if n == 0 { "s0".to_owned() } else { format!("s{n}<s0") }).collect();
    check(&fan.join(" "));
    let dense: Vec<String> = (0..40)
        .map(|n| {
            let after: Vec<String> =
                (0..n).filter(|m| (n * 7 + m * 3) % 5 == 0).map(|m| format!("s{m}")).collect();
            format!("s{n}<{}", after.join(","))
        })
        .collect();
    check(&dense.join(" "));
}

#[test]
fn names_stay_text_and_marks_are_words() {
    let mut steps = steps("a b<a");
    steps[0].name = "<script>alert(1)</script>".to_owned();
    (steps[1].pivot, steps[1].undo, steps[1].alternative) = (true, true, true);
    let drawn = drawn(&steps).into_string();
    assert!(!drawn.contains("<script>") && !drawn.contains("style="), "{drawn}");
    for mark in ["pivot", "undo", "alternative", "can be undone"] {
        assert!(drawn.contains(mark), "{mark}");
    }
}
