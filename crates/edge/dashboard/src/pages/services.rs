//! The services that runs call: how they are doing, and what people say about them.

#[cfg(test)]
mod tests;

use api_types::{ByHandView, ServiceRequest, ServiceView};
use http::Method;
use maud::{Markup, html};

use crate::page::{NavSection, Page};
use crate::pages::FormOutcome;
use crate::pieces;
use crate::trouble::PageError;
use crate::visit::{Visit, decoded, encoded};

const BREAKERS: [(&str, &str); 3] = [
    ("auto", "auto: the breaker decides"),
    ("open", "open: no call goes out, all wait"),
    ("closed", "closed: calls go out whatever their results"),
];

#[derive(serde::Deserialize)]
struct ServiceList {
    items: Vec<ServiceView>,
}

pub(super) async fn list(visit: &Visit) -> Result<Page, PageError> {
    let ServiceList { items } = visit.get("/v1/services").await?;
    Ok(Page::new("Services", NavSection::Services).live("services", table(&items)))
}

pub(super) async fn show(visit: &Visit, part: &str) -> Result<Page, PageError> {
    let service: ServiceView = visit.get(&api_path(&decoded(part)?)).await?;
    let draft = OverrideForm::of(service.by_hand.as_ref());
    Ok(page(&service, &draft, None))
}

/// Takes the form of a service's page, and the buttons of the list.
pub(super) async fn act(visit: &Visit, part: &str) -> Result<FormOutcome, PageError> {
    let name = decoded(part)?;
    let service: ServiceView = visit.get(&api_path(&name)).await?;
    let draft = OverrideForm::of(service.by_hand.as_ref()).with(&visit.all_fields());
    let sent = match draft.read() {
        Ok(said) => visit.send(Method::PUT, &api_path(&name), &said).await,
        Err(trouble) => Err(trouble),
    };
    match sent {
        Ok(_) => Ok(FormOutcome::Done { to: "/ui/services".to_owned(), message: draft.done() }),
        Err(PageError::SignIn) => Err(PageError::SignIn),
        Err(trouble) => Ok(FormOutcome::Invalid(page(&service, &draft, Some(&trouble)))),
    }
}

/// What is filled in, as it is typed.
struct OverrideForm {
    breaker: String,
    limit: String,
    note: String,
}

impl OverrideForm {
    /// What is said now.
    fn of(said: Option<&ByHandView>) -> OverrideForm {
        OverrideForm {
            breaker: said.map_or_else(|| "auto".to_owned(), |said| said.breaker.clone()),
            limit: said.and_then(|said| said.limit).map(|limit| limit.to_string()).unwrap_or_default(),
            note: said.and_then(|said| said.note.clone()).unwrap_or_default(),
        }
    }

    /// The same with the fields that were sent, be they empty or not; what was not sent stays.
    fn with(self, filled: &[(String, String)]) -> OverrideForm {
        let sent = |name: &str, before: String| {
            let found = filled.iter().find(|(field, _)| field == name);
            found.map_or(before, |(_, text)| text.trim().to_owned())
        };
        OverrideForm {
            breaker: sent("breaker", self.breaker),
            limit: sent("limit", self.limit),
            note: sent("note", self.note),
        }
    }

    fn read(&self) -> Result<ServiceRequest, PageError> {
        let limit = match self.limit.as_str() {
            "" => None,
            text => Some(text.parse().map_err(|_| {
                PageError::Form(format!("limit: '{text}' is not a number of calls; leave it empty for none"))
            })?),
        };
        let note = Some(self.note.clone()).filter(|note| !note.is_empty());
        Ok(ServiceRequest { breaker: self.breaker.clone(), limit, note })
    }

    fn done(&self) -> String {
        match self.breaker.as_str() {
            "open" => "Held open: calls wait until you let them go.".to_owned(),
            "closed" => "Held closed: calls go out whatever their results.".to_owned(),
            _ if self.limit.is_empty() => "The breaker decides again.".to_owned(),
            _ => format!("At most {} calls at once.", self.limit),
        }
    }
}

fn api_path(name: &str) -> String {
    format!("/v1/services/{}", encoded(name))
}

/// Where the page of a service is.
pub(super) fn address(service: &ServiceView) -> String {
    format!("/ui/services/{}", encoded(&service.service))
}

/// What people call a service: the first name that workflows have for it, or its address.
pub(super) fn name(service: &ServiceView) -> &str {
    service.names.first().unwrap_or(&service.service)
}

fn latency(ms: Option<f64>) -> String {
    ms.map_or_else(|| "–".to_owned(), pieces::span)
}

/// A few columns, for the overview.
pub(super) fn brief(services: &[ServiceView]) -> Markup {
    if services.is_empty() {
        return none();
    }
    html! {
        div.scroll tabindex="0" role="region" aria-label="Services" {
            table {
                thead { tr { th { "Service" } th { "Breaker" } th.number { "In flight" } th.number { "Waiting" } th.number { "p99" } } }
                tbody {
                    @for service in services {
                        tr {
                            td.name { a href=(address(service)) title=(service.service) { (name(service)) } }
                            td { (pieces::badge(&service.breaker)) }
                            td.number { (service.in_flight) " / " (service.limit) }
                            td.number { (pieces::count(service.waiting as u64)) }
                            td.number { (latency(service.p99_ms)) }
                        }
                    }
                }
            }
        }
    }
}

fn none() -> Markup {
    pieces::empty(
        "No service has been called yet",
        html! { "Services appear here with the first call of a run." },
    )
}

fn table(services: &[ServiceView]) -> Markup {
    if services.is_empty() {
        return none();
    }
    html! {
        div.scroll tabindex="0" role="region" aria-label="Services" {
            table {
                thead { tr {
                    th { "Service" } th { "Breaker" } th.number { "In flight" } th.number { "Limit" } th.number { "Waiting" }
                    th.number { "p50" } th.number { "p99" } th { "By hand" }
                } }
                tbody { @for service in services { (row(service)) } }
            }
        }
        p.quiet { "A breaker opens by itself when most calls fail, and asks with one call at a time whether the service is back. "
            "Calls that wait do not fail." }
    }
}

fn row(service: &ServiceView) -> Markup {
    html! {
        tr {
            td {
                a href=(address(service)) { (name(service)) }
                @for other in service.names.iter().skip(1) { br; (other) }
                @if !service.names.is_empty() { br; small.id { (service.service) } }
            }
            td { (pieces::badge(&service.breaker)) }
            td.number { (service.in_flight) }
            td.number { (service.limit) }
            td.number { (pieces::count(service.waiting as u64)) }
            td.number { (latency(service.p50_ms)) }
            td.number { (latency(service.p99_ms)) }
            td { (by_hand(service)) }
        }
    }
}

/// What was said, and the quick ways: they send the breaker alone, so a limit and a note stay as they are.
fn by_hand(service: &ServiceView) -> Markup {
    let said = service.by_hand.as_ref();
    let open = format!("Hold {} open? Its calls wait, and none fails, until you let them go.", name(service));
    html! {
        @if let Some(said) = said { p.said { (describe_override(said)) } }
        div.row.tight {
            @if said.is_none_or(|said| said.breaker != "open") {
                (pieces::button(&address(service), "Hold open", Some(&open), &[("breaker", "open")]))
            }
            @if said.is_some_and(|said| said.breaker != "auto") {
                (pieces::button(&address(service), "Let it decide", None, &[("breaker", "auto")]))
            }
            a.button href=(address(service)) aria-label={ "Change " (name(service)) } { "Change" }
        }
    }
}

fn describe_override(said: &ByHandView) -> Markup {
    html! {
        @if said.breaker != "auto" { (said.breaker) " " }
        @if let Some(limit) = said.limit { "at most " (limit) " at once " }
        "by " (said.by) ", " (pieces::time(said.at))
        @if let Some(note) = &said.note { ": " em { (note) } }
    }
}

fn page(service: &ServiceView, draft: &OverrideForm, trouble: Option<&PageError>) -> Page {
    Page::new(name(service), NavSection::Services)
        .live("service", facts(service))
        .part(form(service, draft, trouble))
        .part(html! { p { a href="/ui/services" { "All services" } } })
}

fn facts(service: &ServiceView) -> Markup {
    let limit = if service.limit == 0 { "not called yet".to_owned() } else { service.limit.to_string() };
    html! {
        (pieces::facts(&[
            ("Breaker", pieces::badge(&service.breaker)),
            ("Address", html! { code { (service.service) } }),
            ("In workflows", html! { (service.names.join(", ")) }),
            ("In flight", html! { (service.in_flight) }),
            ("Limit now", html! { (limit) }),
            ("Waiting", html! { (pieces::count(service.waiting as u64)) }),
            ("p50", html! { (latency(service.p50_ms)) }),
            ("p99", html! { (latency(service.p99_ms)) }),
        ]))
        @if let Some(said) = &service.by_hand { p { "By hand: " (describe_override(said)) } }
    }
}

fn form(service: &ServiceView, draft: &OverrideForm, trouble: Option<&PageError>) -> Markup {
    let breaker = "What you choose stays in force, after restarts too, until you choose again.";
    let (limit, note) = ("Empty: what the workflows say.", "Why, for whoever looks at it later.");
    html! {
        form.card.narrow method="post" action=(address(service)) {
            h2 { "Set by hand" }
            @if let Some(trouble) = trouble { (pieces::problem(&trouble.problem())) }
            (pieces::field("breaker", "Breaker", breaker, pieces::choice("breaker", &BREAKERS, &draft.breaker, breaker)))
            (pieces::field("limit", "Calls at once, at most", limit, html! {
                input #limit name="limit" inputmode="numeric" value=(draft.limit) aria-describedby=[pieces::described("limit", limit, &[])];
            }))
            (pieces::field("note", "Note", note, html! {
                input #note name="note" maxlength="500" value=(draft.note) aria-describedby=[pieces::described("note", note, &[])];
            }))
            button.primary type="submit" { "Set" }
        }
    }
}
