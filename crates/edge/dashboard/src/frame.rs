//! The layout around every page: head, navigation and content area.

use http::Method;
use maud::{DOCTYPE, Markup, html};

use crate::assets;
use crate::context::PageContext;
use crate::page::{NavSection, Page};

const NAVIGATION: [(NavSection, &str, &str); 10] = [
    (NavSection::Overview, "/", "Overview"),
    (NavSection::Runs, "/ui/runs", "Runs"),
    (NavSection::Parked, "/ui/parked", "Parked"),
    (NavSection::Workflows, "/ui/workflows", "Workflows"),
    (NavSection::Jobs, "/ui/jobs", "Jobs"),
    (NavSection::Queues, "/ui/queues", "Queues"),
    (NavSection::Services, "/ui/services", "Services"),
    (NavSection::Bulk, "/ui/bulk", "Bulk"),
    (NavSection::Settings, "/ui/settings", "Settings"),
    (NavSection::Docs, "/docs", "Docs"),
];

pub(crate) fn around(ctx: &PageContext, page: Page) -> Markup {
    // The response to a POST must not be live: it shows what the user typed, and its address is not that of a page.
    let is_live = *ctx.method() != Method::POST && page.lives().next().is_some();
    let live = is_live.then(|| ctx.place());
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (page.title) " · Sortie" }
                link rel="icon" href=(assets::address("mark.svg")) type="image/svg+xml";
                script src=(assets::address("theme.js")) {}
                link rel="stylesheet" href=(assets::address("sortie.css"));
                script src=(assets::address("sortie.js")) defer {}
            }
            body data-live-at=[live] {
                a.skip href="#content" { "Skip to content" }
                @if page.navigation { (navigation(ctx, page.section)) }
                main #content tabindex="-1" {
                    h1 { (page.title) }
                    (page.content())
                }
                div #toast role="status" aria-live="polite" {}
            }
        }
    }
}

fn navigation(ctx: &PageContext, here: NavSection) -> Markup {
    html! {
        header.side {
            a.brand href="/" aria-label="Sortie, overview" {
                img src=(assets::address("mark.svg")) alt="" width="22" height="22";
                "Sortie"
            }
            nav aria-label="Pages" {
                ul {
                    @for (place, address, name) in NAVIGATION {
                        li { a href=(address) aria-current=[(place == here).then_some("page")] { (name) } }
                    }
                }
            }
            div.foot {
                button type="button" data-theme-switch { "Theme: system" }
                @if ctx.token().is_some() {
                    form method="post" action="/ui/sign-out" { button type="submit" { "Sign out" } }
                }
            }
        }
    }
}
