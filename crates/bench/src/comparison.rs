//! Sortie and the bare loop beside it, measured in the same run, perhaps more than once.

use serde::Serialize;
use terminal::screen::Screen;
use terminal::table::{Cell, Column, TextTable};

use super::figures::thousands;

/// One measured side: Sortie, or the bare loop beside it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Side {
    pub throughput: f64,
    pub p50_ms: f64,
    pub p99_ms: f64,
    pub p999_ms: f64,
}

/// Both sides: medians of all repeats.
#[derive(Debug, Serialize)]
pub struct Comparison {
    #[serde(flatten)]
    sortie: Side,
    /// The throughput of the bare loop.
    limit: f64,
    /// The median of the ratios of each repeat.
    ratio_to_limit: f64,
    /// The bare loop in full.
    bare: Side,
    repeats: usize,
    /// With more than one repeat: the lowest and highest of each figure.
    #[serde(skip_serializing_if = "Option::is_none")]
    spread: Option<Spread>,
    #[serde(skip)]
    unit: &'static str,
    #[serde(skip)]
    bare_name: &'static str,
}

#[derive(Debug, Serialize)]
struct Spread {
    lowest: Side,
    highest: Side,
    ratio_lowest: f64,
    ratio_highest: f64,
    bare_lowest: Side,
    bare_highest: Side,
}

impl Comparison {
    /// Compares what was measured in each repeat: Sortie first, then the bare loop. There is at least one.
    pub fn new(unit: &'static str, bare_name: &'static str, pairs: Vec<(Side, Side)>) -> Comparison {
        let (sorties, bares): (Vec<Side>, Vec<Side>) = pairs.iter().copied().unzip();
        let ratio = |(sortie, bare): &(Side, Side)| {
            if bare.throughput > 0.0 { sortie.throughput / bare.throughput } else { 0.0 }
        };
        let ratios: Vec<f64> = pairs.iter().map(ratio).collect();
        let bare = each(&bares, median);
        let spread = (pairs.len() > 1).then(|| Spread {
            lowest: each(&sorties, lowest),
            highest: each(&sorties, highest),
            ratio_lowest: lowest(&ratios),
            ratio_highest: highest(&ratios),
            bare_lowest: each(&bares, lowest),
            bare_highest: each(&bares, highest),
        });
        Comparison {
            sortie: each(&sorties, median),
            limit: bare.throughput,
            ratio_to_limit: median(&ratios),
            bare,
            repeats: pairs.len(),
            spread,
            unit,
            bare_name,
        }
    }

    pub fn render(&self, screen: &Screen) -> String {
        let mut columns = vec![Column::whole("")];
        columns.extend(["THROUGHPUT", "P50", "P99", "P99.9"].map(Column::number));
        let mut table = TextTable::new(columns).indented(2);
        let mut row = |name: &str, side: &Side| {
            table.row([
                Cell::new(name),
                Cell::new(format!("{} {}", thousands(side.throughput), self.unit)),
                Cell::new(format!("{:.2} ms", side.p50_ms)),
                Cell::new(format!("{:.2} ms", side.p99_ms)),
                Cell::new(format!("{:.2} ms", side.p999_ms)),
            ]);
        };
        row("sortie", &self.sortie);
        if let Some(spread) = &self.spread {
            row("  lowest", &spread.lowest);
            row("  highest", &spread.highest);
        }
        row(self.bare_name, &self.bare);
        if let Some(spread) = &self.spread {
            row("  lowest", &spread.bare_lowest);
            row("  highest", &spread.bare_highest);
        }
        table.render(screen)
    }

    pub fn describe_ratio(&self) -> String {
        let ratio = format!("{:.2} of the {}", self.ratio_to_limit, self.bare_name);
        match &self.spread {
            None => ratio,
            Some(Spread { ratio_lowest, ratio_highest, .. }) => {
                format!("{ratio}, {ratio_lowest:.2} to {ratio_highest:.2} in {} repeats", self.repeats)
            }
        }
    }
}

/// A side of which each figure is made of that figure of all sides.
fn each(sides: &[Side], make: impl Fn(&[f64]) -> f64) -> Side {
    let of = |figure: fn(&Side) -> f64| make(&sides.iter().map(figure).collect::<Vec<_>>());
    Side {
        throughput: of(|side| side.throughput),
        p50_ms: of(|side| side.p50_ms),
        p99_ms: of(|side| side.p99_ms),
        p999_ms: of(|side| side.p999_ms),
    }
}

/// The figure in the middle, or between the two in the middle.
pub fn median(figures: &[f64]) -> f64 {
    let mut sorted = figures.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => 0.0,
        count if count.is_multiple_of(2) => f64::midpoint(sorted[middle - 1], sorted[middle]),
        _ => sorted[middle],
    }
}

fn lowest(figures: &[f64]) -> f64 {
    figures.iter().copied().min_by(f64::total_cmp).unwrap_or(0.0)
}

fn highest(figures: &[f64]) -> f64 {
    figures.iter().copied().max_by(f64::total_cmp).unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    fn side(throughput: f64) -> Side {
        Side { throughput, p50_ms: throughput / 10.0, p99_ms: 9.0, p999_ms: 10.0 }
    }

    #[test]
    fn figures_are_medians_beside_the_lowest_and_highest() {
        let pairs =
            [(30.0, 60.0), (10.0, 50.0), (20.0, 100.0)].map(|(sortie, bare)| (side(sortie), side(bare)));
        let comparison = Comparison::new("requests/s", "bare loop", pairs.to_vec());
        assert_eq!((comparison.sortie.throughput, comparison.limit), (20.0, 60.0));
        assert_eq!(comparison.ratio_to_limit, 0.2, "the median of 0.5, 0.2 and 0.2");
        expect![[r#"
            Figures:
                             THROUGHPUT       P50      P99     P99.9
              sortie      20 requests/s   2.00 ms  9.00 ms  10.00 ms
                lowest    10 requests/s   1.00 ms  9.00 ms  10.00 ms
                highest   30 requests/s   3.00 ms  9.00 ms  10.00 ms
              bare loop   60 requests/s   6.00 ms  9.00 ms  10.00 ms
                lowest    50 requests/s   5.00 ms  9.00 ms  10.00 ms
                highest  100 requests/s  10.00 ms  9.00 ms  10.00 ms
        "#]]
        .assert_eq(&format!(
            "Figures:
{}",
            comparison.render(&Screen { colour: false, width: Some(100) })
        ));
        assert_eq!(comparison.describe_ratio(), "0.20 of the bare loop, 0.20 to 0.50 in 3 repeats");
    }

    #[test]
    fn the_median_of_an_even_number_is_between_two() {
        assert_eq!((median(&[4.0, 1.0, 3.0, 2.0]), median(&[7.0]), median(&[])), (2.5, 7.0, 0.0));
    }
}
