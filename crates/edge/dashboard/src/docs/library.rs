//! All documents, rendered once, and the address of each.

use std::sync::LazyLock;

use super::render::{self, Heading};

/// Documents and images that the build script embedded, by their paths in the repository.
mod files {
    include!(concat!(env!("OUT_DIR"), "/docs.rs"));
}

/// A rendered document.
pub(super) struct DocPage {
    /// Its path in the repository: `docs/reference/jobs.md`.
    pub file: &'static str,
    /// Its path on the server: `/docs/reference/jobs`.
    pub address: String,
    pub title: String,
    pub headings: Vec<Heading>,
    pub html: String,
    /// Its plain text, for the search.
    pub text: String,
}

/// What a path under `/docs` refers to.
pub(super) enum DocLookup {
    Document(&'static DocPage),
    Folder(String),
    Image { kind: &'static str, bytes: &'static [u8] },
    NotFound { near: Vec<&'static DocPage> },
}

static DOCUMENTS: LazyLock<Vec<DocPage>> =
    LazyLock::new(|| files::TEXTS.iter().map(|(file, text)| render::document(file, text)).collect());

pub(super) fn all() -> &'static [DocPage] {
    &DOCUMENTS
}

/// Addresses that the API promises: the `type` of every problem is `/docs/errors#code`.
const ALIASES: [(&str, &str); 1] = [("errors", "reference/errors")];

/// Looks up `/docs/{path}`. File names work too: `reference/jobs.md`.
pub(super) fn find(path: &str) -> DocLookup {
    let path = path.strip_suffix(".md").unwrap_or(path);
    let path = ALIASES.iter().find(|(alias, _)| *alias == path).map_or(path, |(_, real)| *real);
    let address = if path.is_empty() { "/docs".to_owned() } else { format!("/docs/{path}") };
    if let Some(document) = all().iter().find(|document| document.address == address) {
        return DocLookup::Document(document);
    }
    if let Some((name, bytes)) =
        files::IMAGES.iter().find(|(name, _)| name.strip_prefix("docs/") == Some(path))
    {
        return DocLookup::Image { kind: kind_of(name), bytes };
    }
    if all().iter().any(|document| document.address.starts_with(&format!("{address}/"))) {
        return DocLookup::Folder(path.to_owned());
    }
    DocLookup::NotFound { near: near(path) }
}

/// The address that serves a file of the repository; none unless it is a document, an image or a folder of documents.
pub(super) fn address_of(file: &str) -> Option<String> {
    if files::TEXTS.iter().any(|(name, _)| *name == file) {
        return Some(address_of_text(file));
    }
    let below = format!("{file}/");
    let folder = files::TEXTS.iter().any(|(name, _)| name.starts_with(&below)) && file.starts_with("docs");
    let image = files::IMAGES.iter().any(|(name, _)| *name == file);
    (folder || image).then(|| format!("/{file}"))
}

/// `docs/recipes/index.md` is served as its folder; files at the root of the repository get a lower-case name.
pub(super) fn address_of_text(file: &str) -> String {
    let name = file.strip_suffix(".md").unwrap_or(file);
    match name.strip_prefix("docs/") {
        Some(name) => {
            let name = name.strip_suffix("index").unwrap_or(name);
            format!("/docs/{name}").trim_end_matches('/').to_owned()
        }
        None => format!("/docs/{}", name.to_lowercase()),
    }
}

fn kind_of(name: &str) -> &'static str {
    match name.rsplit_once('.').map_or("", |(_, kind)| kind) {
        "png" => "image/png",
        "svg" => "image/svg+xml",
        "webp" => "image/webp",
        _ => "image/jpeg",
    }
}

/// Documents whose address contains the last part of the path, or nearly does.
fn near(path: &str) -> Vec<&'static DocPage> {
    let wanted = path.rsplit('/').next().unwrap_or_default().to_lowercase();
    let likeness = |document: &DocPage| {
        let name = document.address.rsplit('/').next().unwrap_or_default().to_owned();
        if name.contains(&wanted) || wanted.contains(&name) { 0 } else { distance(&name, &wanted) }
    };
    let mut found: Vec<(usize, &DocPage)> =
        all().iter().map(|document| (likeness(document), document)).collect();
    found.retain(|(distance, _)| *distance <= 2 && wanted.len() > 2);
    found.sort_by_key(|(distance, document)| (*distance, document.address.clone()));
    found.into_iter().map(|(_, document)| document).take(5).collect()
}

/// The Levenshtein distance between two words.
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (index, letter) in one.chars().enumerate() {
        let mut corner = row[0];
        row[0] = index + 1;
        for column in 0..other.len() {
            let change = corner + usize::from(letter != other[column]);
            corner = row[column + 1];
            row[column + 1] = change.min(corner + 1).min(row[column] + 1);
        }
    }
    row[other.len()]
}
