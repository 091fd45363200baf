//! Round numbers for the axes of a chart.

/// From 0 to the first round number that is not below the highest value, in about five steps.
pub fn linear_ticks(highest: f64) -> Vec<f64> {
    let highest = if highest > 0.0 { highest } else { 1.0 };
    let rough = highest / 5.0;
    let power = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].map(|factor| factor * power).into_iter().find(|step| *step >= rough);
    let step = step.unwrap_or(10.0 * power);
    let steps = (highest / step).ceil() as u32;
    (0..=steps).map(|number| f64::from(number) * step).collect()
}

/// Powers of ten from below the lowest value to above the highest; at least two.
pub fn log_ticks(lowest: f64, highest: f64) -> Vec<f64> {
    let low = lowest.log10().floor() as i32;
    let high = (highest.log10().ceil() as i32).max(low + 1);
    (low..=high).map(|power| 10f64.powi(power)).collect()
}

/// A number as it stands on an axis.
pub fn label(number: f64) -> String {
    match number {
        number if number >= 1e6 => format!("{} M", trim(number / 1e6)),
        number if number >= 1e4 => format!("{} k", trim(number / 1e3)),
        number => trim(number),
    }
}

fn trim(number: f64) -> String {
    let text = format!("{number:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_round_and_reach_the_highest_value() {
        assert_eq!(linear_ticks(47_000.0), [0.0, 10_000.0, 20_000.0, 30_000.0, 40_000.0, 50_000.0]);
        assert_eq!(linear_ticks(3.0), [0.0, 1.0, 2.0, 3.0]);
        assert_eq!(linear_ticks(0.0).last(), Some(&1.0));
        assert_eq!(log_ticks(0.4, 130.0), [0.1, 1.0, 10.0, 100.0, 1000.0]);
        assert_eq!(log_ticks(1.0, 1.0), [1.0, 10.0]);
    }

    #[test]
    fn labels_are_short() {
        assert_eq!([0.1, 250.0, 5000.0, 25_000.0, 1.5e6].map(label), ["0.1", "250", "5000", "25 k", "1.5 M"]);
    }
}
