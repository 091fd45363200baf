//! Line charts over time, rendered as SVG.

use maud::{Markup, html};

const WIDTH: f64 = 600.0;
const HEIGHT: f64 = 120.0;

/// A line of a chart: its name, its CSS class and its values, oldest first; `None` is a gap.
pub(crate) struct ChartLine<'a> {
    pub name: &'a str,
    pub class: &'static str,
    pub values: Vec<Option<f64>>,
}

/// Lines over the same period, with their latest and highest values as text.
pub(crate) fn lines(title: &str, unit: &dyn Fn(f64) -> String, lines: &[ChartLine<'_>]) -> Markup {
    let highest = lines.iter().flat_map(|line| line.values.iter().flatten()).fold(0.0_f64, |a, b| a.max(*b));
    let top = if highest > 0.0 { highest } else { 1.0 };
    html! {
        figure.chart {
            figcaption {
                strong { (title) }
                @for line in lines {
                    span.key.(line.class) {
                        (line.name) " "
                        b { (line.values.last().copied().flatten().map_or("–".to_owned(), unit)) }
                    }
                }
            }
            svg viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } preserveAspectRatio="none" role="img"
                aria-label={ (title) ", max " (unit(highest)) } {
                @for line in lines {
                    @for stretch in stretches(&line.values, top) {
                        polyline.(line.class) points=(stretch) fill="none" vector-effect="non-scaling-stroke" {}
                    }
                }
            }
            small.highest { "max " (unit(highest)) }
        }
    }
}

/// The points of each contiguous part of a line.
fn stretches(values: &[Option<f64>], top: f64) -> Vec<String> {
    let step = WIDTH / (values.len().max(2) - 1) as f64;
    let points = values.iter().enumerate().map(|(index, value)| {
        value.map(|value| {
            format!("{:.1},{:.1}", index as f64 * step, HEIGHT - 4.0 - value / top * (HEIGHT - 8.0))
        })
    });
    let points: Vec<Option<String>> = points.collect();
    let stretches = points.split(Option::is_none).filter(|stretch| !stretch.is_empty());
    let joined = |stretch: &[Option<String>]| {
        let points: Vec<&str> = stretch.iter().flatten().map(String::as_str).collect();
        // A line from a point to itself renders as a dot; a single point would be invisible.
        let end = if points.len() == 1 { points[0] } else { "" };
        format!("{} {end}", points.join(" ")).trim_end().to_owned()
    };
    stretches.map(joined).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_parts_a_line() {
        let drawn = stretches(&[Some(0.0), Some(2.0), None, Some(1.0)], 2.0);
        assert_eq!(drawn, ["0.0,116.0 200.0,4.0", "600.0,60.0 600.0,60.0"]);
    }
}
