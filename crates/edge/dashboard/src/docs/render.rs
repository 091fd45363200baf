//! Renders Markdown as HTML: headings get anchors, links lead to served addresses, and no raw HTML passes through.

use std::collections::BTreeMap;

use maud::html;
use pulldown_cmark::{Alignment, CodeBlockKind, CowStr, Event, Options, Parser, Tag, TagEnd};

use super::library::{self, DocPage};
use crate::components;

/// A heading that can be linked to.
pub(super) struct Heading {
    pub level: u8,
    pub text: String,
    pub anchor: String,
}

pub(super) fn document(file: &'static str, markdown: &str) -> DocPage {
    let mut reading = Renderer::new(file);
    let parser = Parser::new_ext(markdown, Options::ENABLE_TABLES);
    let events: Vec<Event> = parser.collect();
    let mut shown: Vec<Event> = Vec::new();
    let mut rest = events.into_iter();
    while let Some(event) = rest.next() {
        reading.take(event, &mut rest, &mut shown);
    }
    let mut html = String::new();
    pulldown_cmark::html::push_html(&mut html, shown.into_iter());
    // A column without a name gets no header cell: a screen reader would announce an empty one.
    let html = html.replace("<th></th>", "<td></td>");
    let title = reading.title.unwrap_or_else(|| file.to_owned());
    let address = library::address_of_text(file);
    DocPage { file, address, title, headings: reading.headings, html, text: reading.text }
}

/// The state while a document is being rendered.
struct Renderer {
    file: &'static str,
    title: Option<String>,
    headings: Vec<Heading>,
    anchors: BTreeMap<String, usize>,
    text: String,
    /// Whether each open link is rendered as a link.
    links: Vec<bool>,
    in_comment: bool,
}

impl Renderer {
    fn new(file: &'static str) -> Renderer {
        Renderer {
            file,
            title: None,
            headings: Vec::new(),
            anchors: BTreeMap::new(),
            text: String::new(),
            links: Vec::new(),
            in_comment: false,
        }
    }

    fn take<'a>(
        &mut self,
        event: Event<'a>,
        rest: &mut std::vec::IntoIter<Event<'a>>,
        shown: &mut Vec<Event<'a>>,
    ) {
        match event {
            Event::Start(Tag::Heading { level, .. }) => {
                let inner = until(rest, |end| matches!(end, TagEnd::Heading(_)));
                self.heading(level as u8, inner, shown);
            }
            Event::Start(Tag::CodeBlock(kind)) => {
                let inner = until(rest, |end| matches!(end, TagEnd::CodeBlock));
                let text = plain(&inner);
                self.note(&text);
                shown.push(raw(code(&kind, &text)));
            }
            Event::Start(Tag::Table(columns)) => {
                shown
                    .push(raw("<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"Table\">"
                        .to_owned()));
                // Aligned columns would become inline styles, which our Content-Security-Policy blocks.
                shown.push(Event::Start(Tag::Table(vec![Alignment::None; columns.len()])));
            }
            Event::End(TagEnd::Table) => shown.extend([Event::End(TagEnd::Table), raw("</div>".to_owned())]),
            Event::Start(Tag::TableRow) => {
                shown.push(Event::Start(Tag::TableRow));
                self.first_cell(rest, shown);
            }
            Event::Start(Tag::Link { link_type, dest_url, title, id }) => {
                let address = address(self.file, &dest_url);
                self.links.push(address.is_some());
                let link =
                    address.map(|address| Tag::Link { link_type, dest_url: address.into(), title, id });
                shown.extend(link.map(Event::Start));
            }
            Event::End(TagEnd::Link) => {
                if self.links.pop().unwrap_or(false) {
                    shown.push(Event::End(TagEnd::Link));
                }
            }
            Event::Start(Tag::Image { link_type, dest_url, title, id }) => {
                let dest_url = address(self.file, &dest_url).map_or(dest_url, CowStr::from);
                shown.push(Event::Start(Tag::Image { link_type, dest_url, title, id }));
            }
            // Comments are for authors and are dropped; any other HTML is shown as text.
            Event::Html(text) | Event::InlineHtml(text) => {
                self.in_comment |= text.trim_start().starts_with("<!--");
                if !self.in_comment {
                    shown.push(Event::Text(text));
                } else if text.contains("-->") {
                    self.in_comment = false;
                }
            }
            Event::Start(Tag::HtmlBlock) | Event::End(TagEnd::HtmlBlock) => {}
            Event::Text(text) => {
                self.note(&text);
                shown.push(Event::Text(text));
            }
            Event::Code(text) => {
                self.note(&text);
                shown.push(Event::Code(text));
            }
            other => shown.push(other),
        }
    }

    /// The first heading is the title, which the layout shows. Every other heading gets an anchor.
    fn heading<'a>(&mut self, level: u8, inner: Vec<Event<'a>>, shown: &mut Vec<Event<'a>>) {
        let text = plain(&inner);
        let anchor = self.anchor(&text);
        if level == 1 && self.title.is_none() {
            self.title = Some(text);
            shown.push(raw(html! { span #(anchor) {} }.into_string()));
            return;
        }
        self.note(&text);
        shown.push(raw(format!("<h{level} {}>", html_id(&anchor))));
        shown.extend(inner);
        let link = html! { a.anchor href={ "#" (anchor) } aria-label={ "Link to " (text) } { "#" } };
        shown.push(raw(format!("{}</h{level}>\n", link.into_string())));
        self.headings.push(Heading { level, text, anchor });
    }

    /// In the list of errors each code is an anchor, because the `type` of a problem links to it.
    fn first_cell<'a>(&mut self, rest: &mut std::vec::IntoIter<Event<'a>>, shown: &mut Vec<Event<'a>>) {
        if self.file != "docs/reference/errors.md" {
            return;
        }
        let mut ahead = rest.clone();
        let opens = matches!(ahead.next(), Some(Event::Start(Tag::TableCell)));
        let (true, Some(Event::Text(text) | Event::Code(text))) = (opens, ahead.next()) else { return };
        let taken = rest.next();
        shown.extend(taken);
        for code in text.split(", ").filter(|code| !code.contains(' ')) {
            if !self.anchors.contains_key(code) {
                let anchor = self.anchor(code);
                shown.push(raw(html! { span #(anchor) {} }.into_string()));
            }
        }
    }

    /// The anchor as GitHub derives it, with a number if the heading repeats.
    fn anchor(&mut self, text: &str) -> String {
        let kept = text.chars().filter(|char| char.is_alphanumeric() || matches!(char, ' ' | '-' | '_'));
        let name: String =
            kept.flat_map(char::to_lowercase).map(|char| if char == ' ' { '-' } else { char }).collect();
        let count = self.anchors.entry(name.clone()).or_default();
        *count += 1;
        if *count == 1 { name } else { format!("{name}-{}", *count - 1) }
    }

    fn note(&mut self, text: &str) {
        self.text.push_str(text);
        self.text.push(' ');
    }
}

fn html_id(anchor: &str) -> String {
    let id = html! { span id=(anchor) {} }.into_string();
    id.trim_start_matches("<span ").trim_end_matches("></span>").to_owned()
}

/// A code block with its file name, if it has one, and a copy button.
fn code(kind: &CodeBlockKind<'_>, text: &str) -> String {
    let info = match kind {
        CodeBlockKind::Fenced(info) => info.as_ref(),
        CodeBlockKind::Indented => "",
    };
    let name = info.split_whitespace().find_map(|word| word.strip_prefix("title="));
    let label = name.unwrap_or("code");
    html! {
        @if let Some(name) = name { p.file { code { (name) } } }
        @if info == "text" || info == "text figure" || info == "json output" {
            pre.output tabindex="0" aria-label="output" { code { (text) } }
        } @else {
            (components::copyable(label, text))
        }
    }
    .into_string()
}

/// The served target of a link; none if it points at a file of the repository that is not served.
pub(super) fn address(file: &str, link: &str) -> Option<String> {
    if link.starts_with('#') {
        return Some(link.to_owned());
    }
    if link.contains(':') || link.starts_with('/') {
        let known = ["http://", "https://", "mailto:", "/docs"].iter().any(|scheme| link.starts_with(scheme));
        return known.then(|| link.to_owned());
    }
    let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
    let address = library::address_of(&resolve(file, path))?;
    Some(if anchor.is_empty() { address } else { format!("{address}#{anchor}") })
}

/// Resolves a path relative to a document, from the root of the repository.
fn resolve(file: &str, path: &str) -> String {
    let mut parts: Vec<&str> = file.split('/').collect();
    parts.pop();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

fn until<'a>(rest: &mut std::vec::IntoIter<Event<'a>>, ends: impl Fn(&TagEnd) -> bool) -> Vec<Event<'a>> {
    rest.take_while(|event| !matches!(event, Event::End(end) if ends(end))).collect()
}

fn plain(events: &[Event<'_>]) -> String {
    let components = events.iter().map(|event| match event {
        Event::Text(text) | Event::Code(text) => text.as_ref(),
        Event::SoftBreak | Event::HardBreak => " ",
        _ => "",
    });
    components.collect()
}

fn raw<'a>(html: String) -> Event<'a> {
    Event::Html(html.into())
}
