//! Actions, ready to be rendered.

use http::{HeaderName, HeaderValue, Method};
use words::{ServiceName, Span};

use crate::context::StepSet;
use crate::template::{Body, Template};

/// One call to the outside. HTTP today; queues and topics get variants of their own.
#[derive(Debug)]
pub enum Action {
    Http(HttpAction),
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
    /// Scheme, host and optional path, without a slash at the end.
    pub url: String,
    pub timeout: Span,
    /// The most calls in flight at once.
    pub concurrency: u32,
    pub(crate) headers: Vec<(HeaderName, HeaderValue)>,
}
