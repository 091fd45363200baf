//! Names that people get almost right.

/// The nearest of the known names, when it is near enough to be what was meant.
pub(crate) fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let near = known.map(|other| (distance(name, other), other));
    near.filter(|(distance, other)| *distance <= 1 + other.len() / 4).min().map(|(_, other)| other)
}

/// How many letters must be changed, added or taken away to make one name of the other.
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (i, a) in one.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, b) in other.iter().enumerate() {
            let change = diagonal + usize::from(a != *b);
            diagonal = row[j + 1];
            row[j + 1] = change.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_recognised_and_a_stranger_is_not() {
        let known = || ["drone-delivery", "drone-reschedule"].into_iter();
        assert_eq!(nearest("dron-delivery", known()), Some("drone-delivery"));
        assert_eq!(nearest("invoice", known()), None);
    }
}
