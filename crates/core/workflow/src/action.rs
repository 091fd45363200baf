//! Actions, ready to be rendered.

use http::{HeaderName, HeaderValue, Method};
use types::{ServiceName, Span};

use crate::context::{Frame, StepSet};
use crate::message::{self, MessageAction};
use crate::render::{self, RenderError, RenderedAction};
use crate::template::{Body, Template};

/// One call to the outside.
#[derive(Debug)]
pub enum Action {
    Http(HttpAction),
    Message(MessageAction),
}

impl Action {
    /// The steps whose outputs it may use.
    pub(crate) fn visible(&self) -> StepSet {
        match self {
            Action::Http(http) => http.visible,
            Action::Message(message) => message.visible,
        }
    }

    pub(crate) fn has_body(&self) -> bool {
        match self {
            Action::Http(http) => http.body.is_some(),
            Action::Message(message) => message.body.is_some(),
        }
    }

    pub(crate) fn render(&self, frame: &Frame<'_>) -> Result<RenderedAction, RenderError> {
        match self {
            Action::Http(http) => render::render(http, frame).map(RenderedAction::Call),
            Action::Message(action) => message::render(action, frame).map(Box::new).map(RenderedAction::Send),
        }
    }

    /// What it does and where it goes, as written, like `PUT http://drone/api/${.run.id}`.
    pub(crate) fn describe(&self) -> String {
        match self {
            Action::Http(http) => format!("{} {}", http.method, http.target()),
            Action::Message(message) => message.target(),
        }
    }
}

/// An HTTP call whose parts may hold expressions.
#[derive(Debug)]
pub struct HttpAction {
    pub(crate) service: Option<ServiceName>,
    pub(crate) method: Method,
    /// Scheme, host and the literal start of the path: nothing of a request can change it.
    pub(crate) base: String,
    pub(crate) path: Template,
    pub(crate) query: Vec<(String, Template)>,
    pub(crate) headers: Vec<(HeaderName, HeaderTemplate)>,
    pub(crate) body: Option<Body>,
    pub(crate) timeout: Span,
    /// The steps whose outputs it may use.
    pub(crate) visible: StepSet,
}

#[derive(Debug)]
pub(crate) enum HeaderTemplate {
    Fixed(HeaderValue),
    Rendered(Template),
}

impl HttpAction {
    /// Where it goes, as written.
    pub(crate) fn target(&self) -> String {
        let mut target = format!("{}{}", self.base, self.path.source());
        for (n, (name, value)) in self.query.iter().enumerate() {
            target.push(if n == 0 { '?' } else { '&' });
            target.push_str(&format!("{name}={}", value.source()));
        }
        target
    }
}

/// A service that a workflow calls.
#[derive(Debug, Clone)]
pub struct Service {
    pub name: ServiceName,
    /// Scheme, host and optional path, without a slash at the end. Brokers may have several hosts.
    pub url: String,
    pub timeout: Span,
    /// The most calls in flight at once.
    pub concurrency: u32,
    /// Who signs in, for messages.
    pub username: Option<String>,
    /// The name of the secret that signs in, for messages. Its value is never part of a definition.
    pub secret: Option<String>,
    pub(crate) headers: Vec<(HeaderName, HeaderValue)>,
}

impl Service {
    pub(crate) fn scheme(&self) -> &str {
        self.url.split_once("://").map_or("", |(scheme, _)| scheme)
    }
}
