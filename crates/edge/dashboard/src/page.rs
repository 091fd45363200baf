//! A page under construction: static sections, and live sections that are refreshed while it is open.

use maud::{Markup, PreEscaped, html};

/// The entry of the navigation that a page belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NavSection {
    Overview,
    Runs,
    Parked,
    Workflows,
    Jobs,
    Queues,
    Services,
    Bulk,
    Settings,
    Docs,
    None,
}

/// A page: its title and its sections, from top to bottom.
pub(crate) struct Page {
    pub title: String,
    pub section: NavSection,
    parts: Vec<PageSection>,
    /// False for pages that are shown before signing in.
    pub navigation: bool,
}

/// A section of a page. A section with an id is live.
struct PageSection {
    id: Option<&'static str>,
    content: Markup,
}

impl Page {
    pub(crate) fn new(title: &str, section: NavSection) -> Page {
        Page { title: title.to_owned(), section, parts: Vec::new(), navigation: true }
    }

    /// Adds a static section.
    pub(crate) fn part(mut self, content: Markup) -> Page {
        self.parts.push(PageSection { id: None, content });
        self
    }

    /// Adds a section that is replaced when it changes. Ids are unique on a page.
    pub(crate) fn live(mut self, id: &'static str, content: Markup) -> Page {
        self.parts.push(PageSection { id: Some(id), content });
        self
    }

    pub(crate) fn without_navigation(self) -> Page {
        Page { navigation: false, ..self }
    }

    /// The live sections by id.
    pub(crate) fn lives(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.parts.iter().filter_map(|part| Some((part.id?, part.content.0.as_str())))
    }

    pub(crate) fn content(&self) -> Markup {
        html! {
            @for part in &self.parts {
                @match part.id {
                    Some(id) => div id=(id) data-live { (PreEscaped(&part.content.0)) },
                    None => (PreEscaped(&part.content.0)),
                }
            }
        }
    }
}
