//! The repository's documentation as pages under `/docs`: compiled into the binary, readable without signing in.

mod library;
mod menu;
mod render;
mod search;

use axum::body::Body;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderValue, Response, StatusCode};
use maud::{Markup, PreEscaped, html};

use crate::context::{PageContext, decoded};
use crate::page::{NavSection, Page};
use crate::{assets, components, response};
use library::{DocLookup, DocPage};

/// Serves a path under `/docs`.
pub(crate) fn answer(ctx: &PageContext, path: &[&str]) -> Response<Body> {
    let path: Option<Vec<String>> = path.iter().map(|part| decoded(part).ok()).collect();
    let path = path.unwrap_or_default().join("/");
    if path == "search" {
        let asked = ctx.query_value("q").unwrap_or_default();
        return response::html(ctx, page("Search", "", search::results(&asked)));
    }
    match library::find(&path) {
        DocLookup::Document(document) => response::html(ctx, document_page(document)),
        DocLookup::Folder(folder) => {
            response::html(ctx, page(&format!("Documents in {folder}"), &folder, menu::listing(&folder)))
        }
        DocLookup::Image { kind, bytes } => image(kind, bytes),
        DocLookup::NotFound { near } => {
            response::html_with(ctx, page("Page not found", "", nothing(&path, &near)), StatusCode::NOT_FOUND)
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

/// A page with the documentation menu beside it; `here` is the entry that the menu marks as current.
fn page(title: &str, here: &str, content: Markup) -> Page {
    Page::new(title, NavSection::Docs).part(html! {
        link rel="stylesheet" href=(assets::address("docs.css"));
        div.docs {
            div.document { (content) }
            (menu::navigation(here))
        }
    })
}

fn nothing(path: &str, near: &[&DocPage]) -> Markup {
    html! {
        (components::empty("Page not found", html! { "There is no page at /docs/" (path) "." }))
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
    response::with_security_headers(response)
}

#[cfg(test)]
mod tests;
