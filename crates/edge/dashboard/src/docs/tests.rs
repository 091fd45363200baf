//! Properties of every document and every link.

use std::collections::BTreeSet;

use super::library::{self, DocLookup};
use super::{menu, render};

/// The values of an attribute in a page.
fn values<'a>(html: &'a str, attribute: &str) -> Vec<&'a str> {
    let start = format!(" {attribute}=\"");
    html.split(start.as_str()).skip(1).filter_map(|rest| rest.split('"').next()).collect()
}

#[test]
fn every_document_renders_with_a_title() {
    for document in library::all() {
        assert!(!document.title.ends_with(".md"), "{} has no title", document.file);
        assert!(document.html.len() > 100, "{} is empty", document.file);
    }
}

// guards: 59
#[test]
fn every_link_leads_to_a_page_and_an_anchor_that_exist() {
    let mut wrong = Vec::new();
    for document in library::all() {
        for link in values(&document.html, "href").into_iter().chain(values(&document.html, "src")) {
            let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
            if path.contains("://") || path.starts_with("mailto:") {
                continue;
            }
            let target = match path.strip_prefix("/docs") {
                None if path.is_empty() => DocLookup::Document(document),
                None => DocLookup::NotFound { near: Vec::new() },
                Some(path) => library::find(path.trim_start_matches('/')),
            };
            let leads = match target {
                DocLookup::Document(target) => {
                    anchor.is_empty() || values(&target.html, "id").contains(&anchor)
                }
                DocLookup::Folder(_) | DocLookup::Image { .. } => anchor.is_empty(),
                DocLookup::NotFound { .. } => false,
            };
            if !leads {
                wrong.push(format!("{}: {link}", document.file));
            }
        }
    }
    assert_eq!(wrong, [""; 0]);
}

#[test]
fn nothing_is_styled_inline() {
    let styled = library::all().iter().filter(|document| document.html.contains(" style=")).map(|it| it.file);
    assert_eq!(styled.collect::<Vec<_>>(), [""; 0]);
}

#[test]
fn every_document_is_on_the_map() {
    assert_eq!(menu::unlisted(), [""; 0]);
}

#[test]
fn no_anchor_is_there_twice() {
    for document in library::all() {
        let mut seen = BTreeSet::new();
        for id in values(&document.html, "id") {
            assert!(seen.insert(id), "{}: {id}", document.file);
        }
    }
}

#[test]
fn the_type_of_a_problem_leads_to_its_code() {
    let DocLookup::Document(errors) = library::find("errors") else { panic!("/docs/errors is a document") };
    let ids = values(&errors.html, "id");
    for code in ["unauthorized", "unknown_workflow", "unknown_job", "not_json", "queue_full"] {
        assert!(ids.contains(&code), "{code}");
    }
}

// guards: 54
#[test]
fn foreign_characters_stay_text() {
    let markdown = "# A <b>\n\n<script>alert(1)</script> & <i onclick=x>\n\n```sh title=\"<u>\n<s>\n```\n\n## <h> \"q\"\n\n[a](javascript:alert)\n";
    let document = render::document("docs/index.md", markdown);
    for tag in ["<script", "<i ", "<s>", "<b>", "<u>", "javascript:"] {
        assert!(!document.html.contains(tag), "{tag} in {}", document.html);
    }
    assert!(document.html.contains("&lt;script&gt;"), "{}", document.html);
}

#[test]
fn comments_are_not_shown() {
    let document =
        render::document("docs/index.md", "# A\n\n<!-- one\ntwo -->\n\nshown <!-- three --> too\n");
    for word in ["one", "two", "three", "--"] {
        assert!(!document.html.contains(word), "{}", document.html);
    }
    assert!(document.html.contains("shown  too"), "{}", document.html);
}

#[test]
fn links_follow_documents_to_where_they_are_served() {
    let address = |link: &str| render::address("docs/reference/jobs.md", link);
    assert_eq!(address("config.md#x").as_deref(), Some("/docs/reference/config#x"));
    assert_eq!(address("../glossary.md").as_deref(), Some("/docs/glossary"));
    assert_eq!(address("../../ARCHITECTURE.md#invariants").as_deref(), Some("/docs/architecture#invariants"));
    assert_eq!(address("../adr").as_deref(), Some("/docs/adr"));
    assert_eq!(address("../../crates/kernel/src/lib.rs"), None);
    assert_eq!(address("https://example.com/a").as_deref(), Some("https://example.com/a"));
}

#[test]
fn a_wrong_address_suggests_similar_pages() {
    let DocLookup::NotFound { near } = library::find("reference/jbos") else {
        panic!("there is no such document")
    };
    assert!(near.iter().any(|document| document.address == "/docs/reference/jobs"), "nothing near");
}

#[test]
fn folders_lead_to_their_documents() {
    let files = library::all().iter().filter_map(|document| document.file.strip_prefix("docs/"));
    let folders: BTreeSet<&str> =
        files.filter_map(|file| file.rsplit_once('/')).map(|(folder, _)| folder).collect();
    for folder in folders {
        let found = matches!(library::find(folder), DocLookup::Document(_) | DocLookup::Folder(_));
        assert!(found, "{folder}");
    }
}
