//! What keeps a page from being shown, or a form from being carried out.

use api_types::Problem;
use axum::body::Body;
use http::header::LOCATION;
use http::{HeaderValue, Response, StatusCode};
use maud::html;

use crate::answer;
use crate::page::{NavSection, Page};
use crate::pieces;
use crate::visit::{Visit, place};

/// Why there is no page.
#[derive(Debug)]
pub(crate) enum PageError {
    /// Nobody is signed in, or their token is not known.
    SignIn,
    /// There is no such page.
    NotFound,
    /// The page is at another address.
    Moved(String),
    /// The API refused.
    Problem(Box<Problem>),
    /// A form with a field that cannot be; names the field and the fix.
    Form(String),
    /// A form of another site.
    CrossSite,
    /// Too many pages are live.
    Busy,
    /// The API answered what this page does not understand.
    Unreadable(String),
}

impl PageError {
    /// What the refusal of the API means to a person.
    pub(crate) fn of(status: StatusCode, body: &[u8]) -> PageError {
        if status == StatusCode::UNAUTHORIZED {
            return PageError::SignIn;
        }
        match serde_json::from_slice(body) {
            Ok(problem) => PageError::Problem(Box::new(problem)),
            Err(error) => PageError::Unreadable(format!("{status}: {error}")),
        }
    }

    fn status(&self) -> StatusCode {
        match self {
            PageError::SignIn | PageError::Moved(_) => StatusCode::SEE_OTHER,
            PageError::NotFound => StatusCode::NOT_FOUND,
            PageError::Problem(problem) => {
                StatusCode::from_u16(problem.status).unwrap_or(StatusCode::BAD_GATEWAY)
            }
            PageError::Form(_) => StatusCode::UNPROCESSABLE_ENTITY,
            PageError::CrossSite => StatusCode::FORBIDDEN,
            PageError::Busy => StatusCode::SERVICE_UNAVAILABLE,
            PageError::Unreadable(_) => StatusCode::BAD_GATEWAY,
        }
    }

    /// What went wrong, as a problem that a page can show.
    pub(crate) fn problem(&self) -> Problem {
        let (title, detail) = match self {
            PageError::Problem(problem) => return Problem::clone(problem),
            PageError::SignIn => ("Sign in first", "This server knows its users by tokens.".to_owned()),
            PageError::NotFound => ("No such page", "Nothing is at this address.".to_owned()),
            PageError::Moved(place) => ("Elsewhere", format!("This page is at {place}.")),
            PageError::Form(detail) => ("This form is not complete", detail.clone()),
            PageError::CrossSite => {
                ("Not from here", "This form was sent by a page of another site.".to_owned())
            }
            PageError::Busy => {
                ("Too many live pages", "Close a few, or reload this page by hand.".to_owned())
            }
            PageError::Unreadable(detail) => ("The server's answer cannot be shown", detail.clone()),
        };
        Problem {
            kind: String::new(),
            title: title.to_owned(),
            status: self.status().as_u16(),
            code: String::new(),
            detail,
            errors: Vec::new(),
        }
    }

    /// The page that says so.
    pub(crate) fn into_response(&self, visit: &Visit) -> Response<Body> {
        if matches!(self, PageError::SignIn) {
            return see_other(&place("/ui/sign-in", [("next", Some(visit.page()))]));
        }
        if let PageError::Moved(place) = self {
            return see_other(place);
        }
        let problem = self.problem();
        let page = Page::new(&problem.title, NavSection::None).part(html! {
            (pieces::problem(&problem))
            p { a href="/" { "To the overview" } }
        });
        answer::html_with(visit, page, self.status())
    }
}

/// Sends a browser on.
pub(crate) fn see_other(place: &str) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::SEE_OTHER;
    let location = HeaderValue::try_from(place).unwrap_or(HeaderValue::from_static("/"));
    response.headers_mut().insert(LOCATION, location);
    response
}
