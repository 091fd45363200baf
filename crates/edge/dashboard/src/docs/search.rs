//! Full-text search of the documentation: matches in titles rank first, then headings, then body text.

use maud::{Markup, html};

use super::library::{self, DocPage};
use super::render::Heading;

const RESULTS_MAX: usize = 40;

/// One match.
struct SearchHit {
    rank: usize,
    document: &'static DocPage,
    heading: Option<&'static Heading>,
}

/// The results as a list, with the query as the user typed it.
pub(super) fn results(asked: &str) -> Markup {
    let hits = find(asked);
    html! {
        p { (hits.len()) @if hits.len() == RESULTS_MAX { " or more" } " results for “" (asked) "”" }
        ul.results {
            @for hit in &hits {
                li {
                    @match hit.heading {
                        Some(heading) => {
                            a href={ (hit.document.address) "#" (heading.anchor) } { (heading.text) }
                            " " small { "in " (hit.document.title) }
                        },
                        None => a href=(hit.document.address) { (hit.document.title) },
                    }
                }
            }
        }
    }
}

fn find(asked: &str) -> Vec<SearchHit> {
    let words: Vec<String> = asked.split_whitespace().map(str::to_lowercase).collect();
    let has = |text: &str| {
        let text = text.to_lowercase();
        !words.is_empty() && words.iter().all(|word| text.contains(word))
    };
    let mut hits = Vec::new();
    for document in library::all() {
        if has(&document.title) {
            hits.push(SearchHit { rank: 0, document, heading: None });
        }
        let before = hits.len();
        let headings = document.headings.iter().filter(|heading| has(&heading.text));
        hits.extend(headings.map(|heading| SearchHit { rank: 1, document, heading: Some(heading) }));
        if hits.len() == before && !has(&document.title) && has(&document.text) {
            hits.push(SearchHit { rank: 2, document, heading: None });
        }
    }
    hits.sort_by_key(|hit| hit.rank);
    hits.truncate(RESULTS_MAX);
    hits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_come_before_headings_and_text() {
        let hits = find("queues topics");
        let first = hits.first().expect("there is a document about them");
        assert_eq!(first.document.address, "/docs/reference/queues");
        assert!(find("no-such-word-anywhere").is_empty());
        assert!(find("").is_empty());
    }

    #[test]
    fn the_query_stays_text() {
        let shown = results("<script>alert(1)</script>").into_string();
        assert!(!shown.contains("<script>"), "{shown}");
    }
}
