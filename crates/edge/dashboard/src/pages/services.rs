//! The services that runs call: their state, and manual overrides.

#[cfg(test)]
mod tests;

use api_types::{ByHandView, ServiceRequest, ServiceView};
use http::Method;
use maud::{Markup, html};

use crate::components;
use crate::context::{PageContext, decoded, encoded};
use crate::error::PageError;
use crate::page::{NavSection, Page};
use crate::pages::FormOutcome;

const BREAKERS: [(&str, &str); 3] = [
    ("auto", "auto: decided by the breaker"),
    ("open", "open: pause all calls"),
    ("closed", "closed: send calls even if they fail"),
];

#[derive(serde::Deserialize)]
struct ServiceList {
    items: Vec<ServiceView>,
}

pub(super) async fn list(ctx: &PageContext) -> Result<Page, PageError> {
    let ServiceList { items } = ctx.get("/v1/services").await?;
    Ok(Page::new("Services", NavSection::Services).live("services", table(&items)))
}

pub(super) async fn show(ctx: &PageContext, part: &str) -> Result<Page, PageError> {
    let service: ServiceView = ctx.get(&api_path(&decoded(part)?)).await?;
    let draft = OverrideForm::of(service.by_hand.as_ref());
    Ok(page(&service, &draft, None))
}

/// Handles the form of a service's page, and the buttons of the list.
pub(super) async fn act(ctx: &PageContext, part: &str) -> Result<FormOutcome, PageError> {
    let name = decoded(part)?;
    let service: ServiceView = ctx.get(&api_path(&name)).await?;
    let draft = OverrideForm::of(service.by_hand.as_ref()).with(&ctx.all_fields());
    let sent = match draft.read() {
        Ok(current) => ctx.send(Method::PUT, &api_path(&name), &current).await,
        Err(error) => Err(error),
    };
    match sent {
        Ok(_) => Ok(FormOutcome::Done { to: "/ui/services".to_owned(), message: draft.done() }),
        Err(PageError::SignIn) => Err(PageError::SignIn),
        Err(error) => Ok(FormOutcome::Invalid(page(&service, &draft, Some(&error)))),
    }
}

/// The form values.
struct OverrideForm {
    breaker: String,
    limit: String,
    note: String,
}

impl OverrideForm {
    /// The values of the current override.
    fn of(current: Option<&ByHandView>) -> OverrideForm {
        OverrideForm {
            breaker: current.map_or_else(|| "auto".to_owned(), |current| current.breaker.clone()),
            limit: current
                .and_then(|current| current.limit)
                .map(|limit| limit.to_string())
                .unwrap_or_default(),
            note: current.and_then(|current| current.note.clone()).unwrap_or_default(),
        }
    }

    /// The same with the submitted fields, even empty ones; other fields are kept.
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
                PageError::Form(format!(
                    "limit: '{text}' is not a number of calls; leave it empty for no limit"
                ))
            })?),
        };
        let note = Some(self.note.clone()).filter(|note| !note.is_empty());
        Ok(ServiceRequest { breaker: self.breaker.clone(), limit, note })
    }

    fn done(&self) -> String {
        match self.breaker.as_str() {
            "open" => "Paused: calls wait until you resume them.".to_owned(),
            "closed" => "Breaker forced closed: calls go out even if they fail.".to_owned(),
            _ if self.limit.is_empty() => "Automatic: the breaker decides.".to_owned(),
            _ => format!("At most {} concurrent calls.", self.limit),
        }
    }
}

fn api_path(name: &str) -> String {
    format!("/v1/services/{}", encoded(name))
}

/// The page of a service.
pub(super) fn address(service: &ServiceView) -> String {
    format!("/ui/services/{}", encoded(&service.service))
}

/// The display name of a service: the first name that workflows have for it, or its address.
pub(super) fn name(service: &ServiceView) -> &str {
    service.names.first().unwrap_or(&service.service)
}

/// The state of a breaker; a manual override has its own words.
pub(super) fn breaker_badge(state: &str) -> Markup {
    components::badge(match state {
        "held_open" => "paused",
        "held_closed" => "forced_closed",
        state => state,
    })
}

fn latency(ms: Option<f64>) -> String {
    ms.map_or_else(|| "–".to_owned(), components::span)
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
                            td { (breaker_badge(&service.breaker)) }
                            td.number { (service.in_flight) " / " (service.limit) }
                            td.number { (components::count(service.waiting as u64)) }
                            td.number { (latency(service.p99_ms)) }
                        }
                    }
                }
            }
        }
    }
}

fn none() -> Markup {
    components::empty("No service has been called yet", html! { "Services appear here with the first call." })
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
                    th.number { "p50" } th.number { "p99" } th { "Override" }
                } }
                tbody { @for service in services { (row(service)) } }
            }
        }
        p.quiet { "A breaker opens when most calls fail, and then probes the service with one call at a time. "
            "Waiting calls do not fail." }
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
            td { (breaker_badge(&service.breaker)) }
            td.number { (service.in_flight) }
            td.number { (service.limit) }
            td.number { (components::count(service.waiting as u64)) }
            td.number { (latency(service.p50_ms)) }
            td.number { (latency(service.p99_ms)) }
            td { (manual_override(service)) }
        }
    }
}

/// The override, and the quick actions. These send only the breaker, so the limit and the note are kept.
fn manual_override(service: &ServiceView) -> Markup {
    let current = service.by_hand.as_ref();
    let open =
        format!("Pause calls to {}? They wait, without failing, until you resume them.", name(service));
    html! {
        @if let Some(current) = current { p.override { (describe_override(current)) } }
        div.row.tight {
            @if current.is_none_or(|current| current.breaker != "open") {
                (components::button(&address(service), "Pause calls", Some(&open), &[("breaker", "open")]))
            }
            @if current.is_some_and(|current| current.breaker != "auto") {
                (components::button(&address(service), "Resume", None, &[("breaker", "auto")]))
            }
            a.button href=(address(service)) aria-label={ "Change " (name(service)) } { "Change" }
        }
    }
}

fn describe_override(current: &ByHandView) -> Markup {
    html! {
        @if current.breaker != "auto" { (current.breaker) " " }
        @if let Some(limit) = current.limit { "at most " (limit) " concurrent calls " }
        "by " (current.by) ", " (components::time(current.at))
        @if let Some(note) = &current.note { ": " em { (note) } }
    }
}

fn page(service: &ServiceView, draft: &OverrideForm, error: Option<&PageError>) -> Page {
    Page::new(name(service), NavSection::Services)
        .live("service", facts(service))
        .part(form(service, draft, error))
        .part(html! { p { a href="/ui/services" { "All services" } } })
}

fn facts(service: &ServiceView) -> Markup {
    let limit = if service.limit == 0 { "not called yet".to_owned() } else { service.limit.to_string() };
    html! {
        (components::facts(&[
            ("Breaker", breaker_badge(&service.breaker)),
            ("Address", html! { code { (service.service) } }),
            ("In workflows", html! { (service.names.join(", ")) }),
            ("In flight", html! { (service.in_flight) }),
            ("Current limit", html! { (limit) }),
            ("Waiting", html! { (components::count(service.waiting as u64)) }),
            ("p50", html! { (latency(service.p50_ms)) }),
            ("p99", html! { (latency(service.p99_ms)) }),
        ]))
        @if let Some(current) = &service.by_hand { p { "Override: " (describe_override(current)) } }
    }
}

fn form(service: &ServiceView, draft: &OverrideForm, error: Option<&PageError>) -> Markup {
    let breaker = "Stays active until you change it, also after a restart.";
    let (limit, note) = ("Default: the limit in the workflows.", "Why, for other operators.");
    html! {
        form.card.narrow method="post" action=(address(service)) {
            h2 { "Override" }
            @if let Some(error) = error { (components::problem(&error.problem())) }
            (components::field("breaker", "Breaker", breaker, components::choice("breaker", &BREAKERS, &draft.breaker, breaker)))
            (components::field("limit", "Max. concurrent calls", limit, html! {
                input #limit name="limit" inputmode="numeric" value=(draft.limit) aria-describedby=[components::described("limit", limit, &[])];
            }))
            (components::field("note", "Note", note, html! {
                input #note name="note" maxlength="500" value=(draft.note) aria-describedby=[components::described("note", note, &[])];
            }))
            button.primary type="submit" { "Save" }
        }
    }
}
