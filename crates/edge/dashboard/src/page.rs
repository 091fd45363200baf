//! A page as its makers build it: parts that stay, and parts that are looked at again while it is open.

use maud::{Markup, PreEscaped, html};

/// Where a page is in the navigation.
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

/// A page: its title and its parts, from top to bottom.
pub(crate) struct Page {
    pub title: String,
    pub section: NavSection,
    parts: Vec<PageSection>,
    /// False for what is shown before anybody is signed in.
    pub navigation: bool,
}

/// A part of a page. One with an id is live.
struct PageSection {
    id: Option<&'static str>,
    content: Markup,
}

impl Page {
    pub(crate) fn new(title: &str, section: NavSection) -> Page {
        Page { title: title.to_owned(), section, parts: Vec::new(), navigation: true }
    }

    /// Adds a part that stays as it is.
    pub(crate) fn part(mut self, content: Markup) -> Page {
        self.parts.push(PageSection { id: None, content });
        self
    }

    /// Adds a part that is replaced when it has changed. Ids are unique on a page.
    pub(crate) fn live(mut self, id: &'static str, content: Markup) -> Page {
        self.parts.push(PageSection { id: Some(id), content });
        self
    }

    pub(crate) fn without_navigation(self) -> Page {
        Page { navigation: false, ..self }
    }

    /// The live parts, by their ids.
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
