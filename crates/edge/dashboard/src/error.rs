//! Reasons why a page cannot be shown or a form cannot be handled.

use api_types::Problem;
use axum::body::Body;
use http::header::LOCATION;
use http::{HeaderValue, Response, StatusCode};
use maud::html;

use crate::components;
use crate::context::{PageContext, place};
use crate::page::{NavSection, Page};
use crate::response;

/// Why a page cannot be shown.
#[derive(Debug)]
pub(crate) enum PageError {
    /// The user is not signed in, or the token is unknown.
    SignIn,
    /// The address is not that of a page.
    NotFound,
    /// The page has another address.
    Moved(String),
    /// The API rejected the request.
    Problem(Box<Problem>),
    /// A form with an invalid field; the text names the field and the fix.
    Form(String),
    /// A form that another site submitted.
    CrossSite,
    /// Too many pages are live.
    Busy,
    /// A response of the API that this page cannot decode.
    Unreadable(String),
}

impl PageError {
    /// Maps an error response of the API.
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

    /// The error as a problem that a page can show.
    pub(crate) fn problem(&self) -> Problem {
        let (title, detail) = match self {
            PageError::Problem(problem) => return Problem::clone(problem),
            PageError::SignIn => ("Sign in", "This server requires a token.".to_owned()),
            PageError::NotFound => ("Page not found", "There is no page at this address.".to_owned()),
            PageError::Moved(place) => ("Page moved", format!("This page is at {place}.")),
            PageError::Form(detail) => ("Check the form", detail.clone()),
            PageError::CrossSite => {
                ("Cross-site request refused", "The form was submitted from another site.".to_owned())
            }
            PageError::Busy => {
                ("Too many live pages", "Close some of them, or reload this page manually.".to_owned())
            }
            PageError::Unreadable(detail) => ("The server's response cannot be displayed", detail.clone()),
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

    /// The page that shows the error.
    pub(crate) fn response(&self, ctx: &PageContext) -> Response<Body> {
        if matches!(self, PageError::SignIn) {
            return see_other(&place("/ui/sign-in", [("next", Some(ctx.page()))]));
        }
        if let PageError::Moved(place) = self {
            return see_other(place);
        }
        let problem = self.problem();
        let page = Page::new(&problem.title, NavSection::None).part(html! {
            (components::problem(&problem))
            p { a href="/" { "Go to the overview" } }
        });
        response::html_with(ctx, page, self.status())
    }
}

/// Redirects the browser.
pub(crate) fn see_other(place: &str) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::SEE_OTHER;
    let location = HeaderValue::try_from(place).unwrap_or(HeaderValue::from_static("/"));
    response.headers_mut().insert(LOCATION, location);
    response
}
