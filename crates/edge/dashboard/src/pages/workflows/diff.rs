//! A line-by-line diff of two texts.

/// Pairs of lines compared at most; above that, the differing middle is shown as replaced.
const PAIRS_MAX: usize = 4_000_000;

/// A line of either text, or of both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DiffLine<'a> {
    Same(&'a str),
    Gone(&'a str),
    New(&'a str),
}

/// The lines of both texts, with as few removed and added lines as possible.
pub(super) fn lines<'a>(before: &'a str, after: &'a str) -> Vec<DiffLine<'a>> {
    let (before, after): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    let head = before.iter().zip(&after).take_while(|(a, b)| a == b).count();
    let (old, new) = (&before[head..], &after[head..]);
    let tail = old.iter().rev().zip(new.iter().rev()).take_while(|(a, b)| a == b).count();
    let (old, new) = (&old[..old.len() - tail], &new[..new.len() - tail]);
    let mut all: Vec<DiffLine<'a>> = before[..head].iter().map(|line| DiffLine::Same(line)).collect();
    if old.len().saturating_mul(new.len()) > PAIRS_MAX {
        all.extend(old.iter().map(|line| DiffLine::Gone(line)));
        all.extend(new.iter().map(|line| DiffLine::New(line)));
    } else {
        all.extend(middle(old, new));
    }
    all.extend(before[before.len() - tail..].iter().map(|line| DiffLine::Same(line)));
    all
}

/// Diffs by longest common subsequence.
fn middle<'a>(old: &[&'a str], new: &[&'a str]) -> Vec<DiffLine<'a>> {
    let wide = new.len() + 1;
    // longest[i * wide + j]: how many lines old[i..] and new[j..] have in common.
    let mut longest = vec![0_u32; (old.len() + 1) * wide];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            longest[i * wide + j] = if old[i] == new[j] {
                longest[(i + 1) * wide + j + 1] + 1
            } else {
                longest[(i + 1) * wide + j].max(longest[i * wide + j + 1])
            };
        }
    }
    let (mut i, mut j, mut found) = (0, 0, Vec::new());
    while i < old.len() || j < new.len() {
        if i < old.len() && j < new.len() && old[i] == new[j] {
            found.push(DiffLine::Same(old[i]));
            (i, j) = (i + 1, j + 1);
        } else if j == new.len()
            || (i < old.len() && longest[(i + 1) * wide + j] >= longest[i * wide + j + 1])
        {
            found.push(DiffLine::Gone(old[i]));
            i += 1;
        } else {
            found.push(DiffLine::New(new[j]));
            j += 1;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(before: &str, after: &str, expected: &str) {
        let found = lines(before, after);
        let text = |line: &DiffLine<'_>| match line {
            DiffLine::Same(line) => format!(" {line}"),
            DiffLine::Gone(line) => format!("-{line}"),
            DiffLine::New(line) => format!("+{line}"),
        };
        assert_eq!(found.iter().map(text).collect::<Vec<_>>().join("|"), expected);
        let side = |new: bool| {
            let kept = found.iter().filter_map(|line| match line {
                DiffLine::Same(line) => Some(*line),
                DiffLine::Gone(line) => (!new).then_some(*line),
                DiffLine::New(line) => new.then_some(*line),
            });
            kept.collect::<Vec<_>>().join("\n")
        };
        assert_eq!((side(false).as_str(), side(true).as_str()), (before, after), "both texts are in it");
    }

    #[test]
    fn what_changed_is_reported_and_nothing_else() {
        check("a\nb\nc", "a\nb\nc", " a| b| c");
        check("a\nb\nc", "a\nx\nc", " a|-b|+x| c");
        check("", "a", "+a");
        check("a", "", "-a");
        check("a\nb\nc\nd", "b\nc\nd\ne", "-a| b| c| d|+e");
        check("a\nb\na\nb", "b\na", "-a| b| a|-b");
    }

    #[test]
    fn long_texts_are_compared_without_running_away() {
        let long = |word: &str| (0..5000).map(|n| format!("{word}{n}")).collect::<Vec<_>>().join("\n");
        assert_eq!(lines(&long("a"), &long("b")).len(), 10_000);
    }
}
