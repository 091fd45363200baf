//! The steps of a workflow as a graph: where each stands, and how it is drawn.

use api_types::StepOutline;
use maud::{Markup, html};

const BOX_WIDTH: f64 = 168.0;
const BOX_HEIGHT: f64 = 46.0;
const PASS_HEIGHT: f64 = 8.0;
const GAP_X: f64 = 56.0;
const GAP_Y: f64 = 18.0;
const MARGIN: f64 = 8.0;
/// Characters of a name that fit into a box.
const NAME_CHARS: usize = 21;
/// Times that the rows are put in order, forth and back; more make no graph of this size better.
const SWEEPS: usize = 6;

/// A graph with its places.
#[derive(Debug, PartialEq)]
struct Graph {
    /// The corner of each step's box, in the order of the steps.
    boxes: Vec<(f64, f64)>,
    /// The points that each arrow goes through, from one box to another.
    arrows: Vec<Vec<(f64, f64)>>,
    width: f64,
    height: f64,
}

/// A slot of a layer: a step, or the point where the arrows of a step pass through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LayerSlot {
    Step(usize),
    Pass { from: usize },
}

/// Computes the layout: a step is one layer after the last of its predecessors, and arrows that span several
/// layers pass between the boxes.
fn layout(steps: &[StepOutline]) -> Graph {
    let edges = edges(steps);
    let layer_of = layers(steps.len(), &edges);
    let mut layers: Vec<Vec<LayerSlot>> =
        vec![Vec::new(); layer_of.iter().map(|layer| layer + 1).max().unwrap_or(0)];
    for (step, layer) in layer_of.iter().enumerate() {
        layers[*layer].push(LayerSlot::Step(step));
    }
    for (from, to) in &edges {
        for layer in &mut layers[layer_of[*from] + 1..layer_of[*to]] {
            let pass = LayerSlot::Pass { from: *from };
            if !layer.contains(&pass) {
                layer.push(pass);
            }
        }
    }
    put_in_order(&mut layers, &edges);
    place(steps.len(), &layers, &edges)
}

/// The edges. Unknown names and cycles, which no applied workflow has, are ignored.
fn edges(steps: &[StepOutline]) -> Vec<(usize, usize)> {
    let index = |name: &str| steps.iter().position(|step| step.name == name);
    let pairs = steps.iter().enumerate().flat_map(|(to, step)| {
        step.after.iter().filter_map(move |name| index(name)).map(move |from| (from, to))
    });
    let mut kept: Vec<(usize, usize)> = Vec::new();
    for (from, to) in pairs {
        if from != to && !kept.contains(&(from, to)) && !leads(&kept, to, from) {
            kept.push((from, to));
        }
    }
    kept
}

/// Whether there is a path from one step to another.
fn leads(edges: &[(usize, usize)], from: usize, to: usize) -> bool {
    let mut reached = vec![from];
    let mut next = 0;
    while let Some(step) = reached.get(next).copied() {
        next += 1;
        for (_, after) in edges.iter().filter(|(before, _)| *before == step) {
            if !reached.contains(after) {
                reached.push(*after);
            }
        }
    }
    reached.contains(&to)
}

fn layers(count: usize, edges: &[(usize, usize)]) -> Vec<usize> {
    let mut layers = vec![0; count];
    // No path is longer than the number of steps.
    for _ in 0..count {
        for (from, to) in edges {
            layers[*to] = layers[*to].max(layers[*from] + 1);
        }
    }
    layers
}

/// Moves connected slots close together: each slot moves to the median of its neighbours in the previous layer, then
/// in the next layer, a few times.
fn put_in_order(layers: &mut [Vec<LayerSlot>], edges: &[(usize, usize)]) {
    let near = |a: LayerSlot, b: LayerSlot| match (a, b) {
        (LayerSlot::Step(a), LayerSlot::Step(b)) => edges.contains(&(a, b)) || edges.contains(&(b, a)),
        (LayerSlot::Step(step), LayerSlot::Pass { from })
        | (LayerSlot::Pass { from }, LayerSlot::Step(step)) => from == step || edges.contains(&(from, step)),
        (LayerSlot::Pass { from: a }, LayerSlot::Pass { from: b }) => a == b,
    };
    for sweep in 0..SWEEPS {
        for step in 1..layers.len() {
            let (at, other) = if sweep % 2 == 0 {
                (step, step - 1)
            } else {
                (layers.len() - 1 - step, layers.len() - step)
            };
            let beside = layers[other].clone();
            let middle = |slot: LayerSlot, own: usize| {
                let rows: Vec<usize> = (0..beside.len()).filter(|row| near(slot, beside[*row])).collect();
                // A slot without neighbours keeps its position.
                let sum: usize = rows.iter().sum();
                if rows.is_empty() { own as f64 } else { sum as f64 / rows.len() as f64 }
            };
            let mut keyed: Vec<(f64, LayerSlot)> =
                layers[at].iter().enumerate().map(|(row, slot)| (middle(*slot, row), *slot)).collect();
            keyed.sort_by(|a, b| a.0.total_cmp(&b.0));
            layers[at] = keyed.into_iter().map(|(_, slot)| slot).collect();
        }
    }
}

impl LayerSlot {
    fn height(self) -> f64 {
        match self {
            LayerSlot::Step(_) => BOX_HEIGHT,
            LayerSlot::Pass { .. } => PASS_HEIGHT,
        }
    }
}

fn place(count: usize, layers: &[Vec<LayerSlot>], edges: &[(usize, usize)]) -> Graph {
    let tall = |slots: &[LayerSlot]| slots.iter().map(|slot| slot.height() + GAP_Y).sum::<f64>() - GAP_Y;
    let tallest = layers.iter().map(|slots| tall(slots)).fold(BOX_HEIGHT, f64::max);
    let (width, height) =
        (layers.len() as f64 * (BOX_WIDTH + GAP_X) - GAP_X + 2.0 * MARGIN, tallest + 2.0 * MARGIN);
    let mut boxes = vec![(0.0, 0.0); count];
    // The points that a step's arrows pass through, from left to right.
    let mut passes: Vec<Vec<(f64, f64)>> = vec![Vec::new(); count];
    for (layer, slots) in layers.iter().enumerate() {
        let x = MARGIN + layer as f64 * (BOX_WIDTH + GAP_X);
        let mut y = (height - tall(slots)) / 2.0;
        for slot in slots {
            match slot {
                LayerSlot::Step(step) => boxes[*step] = (x, y),
                LayerSlot::Pass { from } => {
                    let middle = y + PASS_HEIGHT / 2.0;
                    passes[*from].extend([(x, middle), (x + BOX_WIDTH, middle)]);
                }
            }
            y += slot.height() + GAP_Y;
        }
    }
    let arrows = edges.iter().map(|(from, to)| {
        let middle = |step: usize, side: f64| (boxes[step].0 + side, boxes[step].1 + BOX_HEIGHT / 2.0);
        let mut points = vec![middle(*from, BOX_WIDTH)];
        points.extend(passes[*from].iter().filter(|(x, _)| *x < boxes[*to].0));
        points.push(middle(*to, 0.0));
        points
    });
    Graph { arrows: arrows.collect(), boxes, width: width.max(2.0 * MARGIN), height }
}

/// The graph as SVG, and as a list for screen readers.
pub(super) fn drawn(steps: &[StepOutline]) -> Markup {
    let graph = layout(steps);
    html! {
        div.scroll.graph tabindex="0" role="region" aria-label="Graph of the steps" {
            svg width=(graph.width) height=(graph.height) viewBox={ "0 0 " (graph.width) " " (graph.height) }
                role="img" aria-label={ "Graph of " (steps.len()) " steps; the list below has the same information" } {
                defs {
                    marker #arrow-head viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" orient="auto" {
                        path d="M0 0 L8 4 L0 8 z" {}
                    }
                }
                @for arrow in &graph.arrows { path.arrow d=(curve(arrow)) marker-end="url(#arrow-head)" {} }
                @for (step, (x, y)) in steps.iter().zip(&graph.boxes) { (step_box(step, *x, *y)) }
            }
        }
        details #steps-as-list {
            summary { "Steps as a list" }
            ol { @for step in steps { li { (in_words(step)) } } }
        }
    }
}

fn step_box(step: &StepOutline, x: f64, y: f64) -> Markup {
    let marks = marks(step);
    html! {
        g.step.pivot[step.pivot] {
            title { (in_words_text(step)) }
            rect x=(x) y=(y) width=(BOX_WIDTH) height=(BOX_HEIGHT) rx="7" {}
            text.name x=(x + 10.0) y=(y + if marks.is_empty() { 28.0 } else { 20.0 }) { (shortened(&step.name)) }
            @if !marks.is_empty() { text.marks x=(x + 10.0) y=(y + 37.0) { (marks.join(" · ")) } }
        }
    }
}

fn marks(step: &StepOutline) -> Vec<&'static str> {
    let marks = [(step.pivot, "◆ pivot"), (step.undo, "↶ undo"), (step.alternative, "⤳ alternative")];
    marks.into_iter().filter(|(there, _)| *there).map(|(_, mark)| mark).collect()
}

fn shortened(name: &str) -> String {
    if name.chars().count() <= NAME_CHARS {
        return name.to_owned();
    }
    name.chars().take(NAME_CHARS - 1).chain(['…']).collect()
}

/// A curve through the points, horizontal at both ends.
fn curve(points: &[(f64, f64)]) -> String {
    let Some((first, rest)) = points.split_first() else { return String::new() };
    let mut path = format!("M{} {}", first.0, first.1);
    let mut from = *first;
    for to in rest {
        let middle = (from.0 + to.0) / 2.0;
        path += &format!(" C{middle} {} {middle} {} {} {}", from.1, to.1, to.0, to.1);
        from = *to;
    }
    path
}

fn in_words(step: &StepOutline) -> Markup {
    html! { strong { (step.name) } (in_words_text(step).strip_prefix(step.name.as_str()).unwrap_or_default()) }
}

fn in_words_text(step: &StepOutline) -> String {
    let after = if step.after.is_empty() {
        "starts immediately".to_owned()
    } else {
        format!("after {}", step.after.join(", "))
    };
    let facts = [
        (step.undo, "; can be undone"),
        (step.alternative, "; has an alternative"),
        (step.pivot, "; pivot: after this step the run is not rolled back"),
    ];
    let facts: String = facts.into_iter().filter(|(there, _)| *there).map(|(_, fact)| fact).collect();
    format!("{}: {after}{facts}", step.name)
}

#[cfg(test)]
mod tests;
