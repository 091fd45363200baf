//! Services as the API shows them, and what people say about them: kept in the control partition, followed by every
//! instance.

use std::collections::BTreeMap;
use std::sync::Arc;

use api_types::{ByHandView, ServiceRequest, ServiceView, Time};
use engine::{Catalog, DocumentSet, ExpectedVersion};
use http::Uri;

use crate::api::Workflows;
use crate::error::ApiError;
use crate::limits::{SERVICE_LIMIT_MAX, SERVICE_NOTE_CHARS_MAX};

/// Where in the control partition the words of people about services are kept, by the services' addresses.
pub const DOCUMENTS: &str = "services";

/// The services that workflows call. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Services {
    pub workflows: Workflows,
    /// Reads the state of those that this instance has called.
    pub called: Arc<dyn Fn() -> Vec<ServiceView> + Send + Sync>,
}

impl Services {
    /// The services that were called from here, or that an operator has set manually.
    pub(crate) fn all(&self) -> Vec<ServiceView> {
        let names = names(&self.workflows.catalog());
        let said = self.workflows.control.documents().load();
        let mut services = (self.called)();
        for service in &mut services {
            service.names = names.get(&service.service).cloned().unwrap_or_default();
            service.by_hand = by_hand(&said, &service.service);
        }
        services
    }

    /// One of them, or one that a workflow names and nobody has called yet. Found by its address, by
    /// `workflow/service`, or by the name that workflows give it, when they all mean the same.
    pub(crate) fn get(&self, name: &str) -> Result<ServiceView, ApiError> {
        Ok(self.at(self.address_of(name)?))
    }

    fn address_of(&self, name: &str) -> Result<String, ApiError> {
        let services = self.all();
        let known = names(&self.workflows.catalog());
        let is_address = known.contains_key(name) || services.iter().any(|service| service.service == name);
        if is_address { Ok(name.to_owned()) } else { self.named(&known, name) }
    }

    /// How a service is doing, also one that nobody has called.
    fn at(&self, address: String) -> ServiceView {
        let found = self.all().into_iter().find(|service| service.service == address);
        found.unwrap_or_else(|| ServiceView {
            names: names(&self.workflows.catalog()).remove(&address).unwrap_or_default(),
            by_hand: by_hand(&self.workflows.control.documents().load(), &address),
            service: address,
            limit: 0,
            in_flight: 0,
            waiting: 0,
            breaker: "closed".to_owned(),
            p50_ms: None,
            p99_ms: None,
        })
    }

    fn named(&self, known: &BTreeMap<String, Vec<String>>, name: &str) -> Result<String, ApiError> {
        let short = |full: &String| full.rsplit_once('/').is_some_and(|(_, short)| short == name);
        let means = |full: &String| full == name || short(full);
        let found: Vec<_> = known.iter().filter(|(_, names)| names.iter().any(means)).collect();
        match found.as_slice() {
            [(address, _)] => Ok((*address).clone()),
            [] => {
                let all = known.iter().flat_map(|(address, names)| names.iter().chain([address]));
                let short = known.values().flatten().filter_map(|full| Some(full.rsplit_once('/')?.1));
                let hint = workflow::did_you_mean(name, all.map(String::as_str).chain(short));
                Err(ApiError::NotFound(format!("no service '{name}'{hint}")))
            }
            several => {
                let all: Vec<&str> = several.iter().map(|(address, _)| address.as_str()).collect();
                let text = format!("'{name}' is {}: say which by its address", all.join(" and "));
                Err(ApiError::BadRequest(text))
            }
        }
    }

    /// Keeps what a person says about a service, by any name of one that is known here, or by an address: another
    /// instance may be the one that calls it. When this returns it is durable and active here; other instances
    /// follow within a second or so.
    pub(crate) async fn set_manually(
        &self,
        name: &str,
        said: ServiceRequest,
        by: &str,
    ) -> Result<ServiceView, ApiError> {
        check(&said)?;
        let service = match self.address_of(name) {
            Err(_) if is_address(name) => name.to_owned(),
            found => found?,
        };
        let nothing = said.breaker == "auto" && said.limit.is_none();
        let document = serde_json::to_string(&said).expect("plain data");
        let document = (!nothing).then_some(document);
        tracing::info!(by, service, breaker = said.breaker, limit = said.limit, "service set manually");
        self.workflows.control.keep(DOCUMENTS, &service, document, by, ExpectedVersion::Anything).await?;
        Ok(self.at(service))
    }
}

/// Whether this is scheme and host of something that could be called.
fn is_address(text: &str) -> bool {
    let Some(host) = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://")) else {
        return false;
    };
    let has_port = host.rsplit_once(':').is_some_and(|(_, port)| !port.ends_with(']'));
    let uri = text.parse::<Uri>().ok();
    let authority = uri.as_ref().and_then(Uri::authority);
    !host.contains(['/', '?', '#', '@'])
        && authority.is_some_and(|authority| {
            !authority.host().is_empty() && has_port == authority.port_u16().is_some()
        })
}

fn check(said: &ServiceRequest) -> Result<(), ApiError> {
    let bad = |text: String| Err(ApiError::BadRequest(text));
    if !matches!(said.breaker.as_str(), "auto" | "open" | "closed") {
        return bad(format!("breaker: '{}' is not auto, open or closed", said.breaker));
    }
    if said.limit.is_some_and(|limit| limit == 0 || limit > SERVICE_LIMIT_MAX) {
        return bad(format!(
            "limit: give 1 to {SERVICE_LIMIT_MAX} calls at once; to let no call go, say \"breaker\": \"open\""
        ));
    }
    if said.note.as_ref().is_some_and(|note| note.chars().count() > SERVICE_NOTE_CHARS_MAX) {
        return bad(format!("note: at most {SERVICE_NOTE_CHARS_MAX} characters"));
    }
    Ok(())
}

/// What was said last, when it can be read: a newer version of the program may have written more.
fn by_hand(said: &DocumentSet, service: &str) -> Option<ByHandView> {
    let document = said.get(DOCUMENTS, service)?;
    let ServiceRequest { breaker, limit, note } = serde_json::from_str(&document.text).ok()?;
    Some(ByHandView { breaker, limit, note, at: Time(document.at), by: document.by.to_string() })
}

/// The names that active workflows give each address.
fn names(catalog: &Catalog) -> BTreeMap<String, Vec<String>> {
    let mut names: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for entry in catalog.all() {
        for service in entry.definition.services() {
            let name = format!("{}/{}", entry.definition.name(), service.name);
            names.entry(service.url.clone()).or_default().push(name);
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_scheme_and_host_and_nothing_else() {
        for text in ["http://a", "https://a.example:8443", "http://10.0.0.1:80", "http://[::1]:9000"] {
            assert!(is_address(text), "{text}");
        }
        for text in [
            "a",
            "w/a",
            "http://",
            "ftp://a",
            "http://a/",
            "http://a?b",
            "http://u@a",
            "http://a:x",
            "http:// a",
        ] {
            assert!(!is_address(text), "{text}");
        }
    }
}
