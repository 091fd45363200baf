//! What keeps a page from being shown, or a form from being carried out.

use api_types::Problem;
use axum::body::Body;
use http::header::LOCATION;
use http::{HeaderValue, Response, StatusCode};
use maud::html;

use crate::answer;
use crate::page::{Page, Place};
use crate::pieces;
use crate::visit::{Visit, place};

/// Why there is no page.
#[derive(Debug)]
pub(crate) enum Trouble {
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
    Stranger,
    /// Too many pages are live.
    Busy,
    /// The API answered what this page does not understand.
    Unreadable(String),
}

impl Trouble {
    /// What the refusal of the API means to a person.
    pub(crate) fn of(status: StatusCode, body: &[u8]) -> Trouble {
        if status == StatusCode::UNAUTHORIZED {
            return Trouble::SignIn;
        }
        match serde_json::from_slice(body) {
            Ok(problem) => Trouble::Problem(Box::new(problem)),
            Err(error) => Trouble::Unreadable(format!("{status}: {error}")),
        }
    }

    fn status(&self) -> StatusCode {
        match self {
            Trouble::SignIn | Trouble::Moved(_) => StatusCode::SEE_OTHER,
            Trouble::NotFound => StatusCode::NOT_FOUND,
            Trouble::Problem(problem) => {
                StatusCode::from_u16(problem.status).unwrap_or(StatusCode::BAD_GATEWAY)
            }
            Trouble::Form(_) => StatusCode::UNPROCESSABLE_ENTITY,
            Trouble::Stranger => StatusCode::FORBIDDEN,
            Trouble::Busy => StatusCode::SERVICE_UNAVAILABLE,
            Trouble::Unreadable(_) => StatusCode::BAD_GATEWAY,
        }
    }

    /// What went wrong, as a problem that a page can show.
    pub(crate) fn problem(&self) -> Problem {
        let (title, detail) = match self {
            Trouble::Problem(problem) => return Problem::clone(problem),
            Trouble::SignIn => ("Sign in first", "This server knows its users by tokens.".to_owned()),
            Trouble::NotFound => ("No such page", "Nothing is at this address.".to_owned()),
            Trouble::Moved(place) => ("Elsewhere", format!("This page is at {place}.")),
            Trouble::Form(detail) => ("This form is not complete", detail.clone()),
            Trouble::Stranger => {
                ("Not from here", "This form was sent by a page of another site.".to_owned())
            }
            Trouble::Busy => ("Too many live pages", "Close a few, or reload this page by hand.".to_owned()),
            Trouble::Unreadable(detail) => ("The server's answer cannot be shown", detail.clone()),
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
    pub(crate) fn answer(&self, visit: &Visit) -> Response<Body> {
        if matches!(self, Trouble::SignIn) {
            return see_other(&place("/ui/sign-in", [("next", Some(visit.page()))]));
        }
        if let Trouble::Moved(place) = self {
            return see_other(place);
        }
        let problem = self.problem();
        let page = Page::new(&problem.title, Place::Elsewhere).part(html! {
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
