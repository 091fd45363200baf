//! The documentation menu: documents by group, in reading order.

use maud::{Markup, html};

use super::library::{self, DocPage};

/// The groups of the menu and their documents: files, or whole folders.
const GROUPS: [(&str, &[&str]); 6] = [
    (
        "Getting started",
        &[
            "docs/index.md",
            "docs/start.md",
            "docs/tour.md",
            "docs/concepts.md",
            "docs/trade-offs.md",
            "docs/glossary.md",
        ],
    ),
    ("Recipes", &["docs/recipes/"]),
    ("Operating", &["docs/operating/"]),
    ("Reference", &["docs/reference/"]),
    ("Reliability and performance", &["docs/reliability.md", "docs/performance.md"]),
    (
        "Internals",
        &["docs/internals/", "ARCHITECTURE.md", "docs/adr/", "CONTRIBUTING.md", "STYLE.md", "CHANGELOG.md"],
    ),
];

/// The menu, with the open document marked, and the search field.
pub(super) fn navigation(here: &str) -> Markup {
    let here = if here.is_empty() { "/docs".to_owned() } else { format!("/docs/{here}") };
    html! {
        div.map {
            form.find method="get" action="/docs/search" role="search" {
                label for="q" { "Search the docs" }
                input #q type="search" name="q" required;
            }
            nav aria-label="Documents" {
                @for (name, files) in GROUPS {
                    @let documents = documents_of(files);
                    @let open = documents.iter().any(|document| document.address == here);
                    details open[open || name == "Getting started" || name == "Recipes"] {
                        summary { (name) }
                        ul {
                            @for document in documents {
                                li {
                                    a href=(document.address) aria-current=[(document.address == here).then_some("page")] {
                                        (document.title)
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// A list of the documents in a folder.
pub(super) fn listing(folder: &str) -> Markup {
    let folder = format!("docs/{folder}/");
    html! {
        ul { @for document in documents_of(&[&folder]) { li { a href=(document.address) { (document.title) } } } }
    }
}

/// In the order of the list; a folder's index comes first.
fn documents_of(files: &[&str]) -> Vec<&'static DocPage> {
    let of_one = |file: &&str| {
        let mut found: Vec<&DocPage> =
            library::all().iter().filter(|document| is_in(document, file)).collect();
        found.sort_by_key(|document| !document.file.ends_with("/index.md"));
        found
    };
    files.iter().flat_map(of_one).collect()
}

fn is_in(document: &DocPage, file: &str) -> bool {
    document.file == file || (file.ends_with('/') && document.file.starts_with(file))
}

/// Documents that no group lists, so that no reader would find them.
#[cfg(test)]
pub(super) fn unlisted() -> Vec<&'static str> {
    let all = library::all().iter();
    let in_a_group =
        |document: &&DocPage| GROUPS.iter().any(|(_, files)| files.iter().any(|file| is_in(document, file)));
    all.filter(|document| !in_a_group(document)).map(|document| document.file).collect()
}
