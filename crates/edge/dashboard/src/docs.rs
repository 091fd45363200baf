//! The documents of the repository as pages: in the binary, under `/docs`, for everybody.

mod library;
mod map;
mod render;
mod search;

use axum::body::Body;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderValue, Response, StatusCode};
use maud::{Markup, PreEscaped, html};

use crate::page::{NavSection, Page};
use crate::visit::{Visit, decoded};
use crate::{answer, assets, pieces};
use library::{DocLookup, DocPage};

/// Answers a path under `/docs`.
pub(crate) fn answer(visit: &Visit, path: &[&str]) -> Response<Body> {
    let path: Option<Vec<String>> = path.iter().map(|part| decoded(part).ok()).collect();
    let path = path.unwrap_or_default().join("/");
    if path == "search" {
        let asked = visit.query_value("q").unwrap_or_default();
        return answer::html(visit, page("Search", "", search::results(&asked)));
    }
    match library::find(&path) {
        DocLookup::Document(document) => answer::html(visit, document_page(document)),
        DocLookup::Folder(folder) => {
            answer::html(visit, page(&format!("Documents in {folder}"), &folder, map::listing(&folder)))
        }
        DocLookup::Image { kind, bytes } => image(kind, bytes),
        DocLookup::NotFound { near } => {
            answer::html_with(visit, page("No such page", "", nothing(&path, &near)), StatusCode::NOT_FOUND)
        }
    }
}

fn document_page(document: &DocPage) -> Page {
    let contents = html! {
        @if document.headings.len() > 2 {
            nav.contents aria-label="On this page" {
                h2 { "On this page" }
                ul {
                    @for heading in document.headings.iter().filter(|heading| heading.level <= 3) {
                        li.(if heading.level > 2 { "deep" } else { "top" }) {
                            a href={ "#" (heading.anchor) } { (heading.text) }
                        }
                    }
                }
            }
        }
    };
    page(
        &document.title,
        document.address.trim_start_matches("/docs").trim_start_matches('/'),
        html! {
            (contents)
            article { (PreEscaped(&document.html)) }
        },
    )
}

/// A page with the map beside it; `here` is the place that the map marks.
fn page(title: &str, here: &str, content: Markup) -> Page {
    Page::new(title, NavSection::Docs).part(html! {
        link rel="stylesheet" href=(assets::address("docs.css"));
        div.docs {
            div.document { (content) }
            (map::navigation(here))
        }
    })
}

fn nothing(path: &str, near: &[&DocPage]) -> Markup {
    html! {
        (pieces::empty("There is no such page", html! { "Nothing is at /docs/" (path) "." }))
        @if !near.is_empty() {
            p { "Did you mean:" }
            ul { @for document in near { li { a href=(document.address) { (document.title) } } } }
        }
    }
}

fn image(kind: &'static str, bytes: &'static [u8]) -> Response<Body> {
    let mut response = Response::new(Body::from(bytes));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("public, max-age=3600"));
    answer::with_security_headers(response)
}

#[cfg(test)]
mod tests;
