//! Which page is where, and which form does what.

mod bulk;
mod jobs;
mod overview;
mod parked;
#[cfg(test)]
mod pretend;
mod queues;
pub(crate) mod run;
mod runs;
mod services;
mod settings;
mod workflows;

use axum::body::Body;
use http::header::SET_COOKIE;
use http::{HeaderValue, Response, StatusCode};

use crate::answer;
use crate::page::Page;
use crate::trouble::{PageError, see_other};
use crate::visit::{Visit, encoded};

/// Makes a page.
pub(crate) async fn show(visit: &Visit) -> Result<Page, PageError> {
    match visit.path_segments().as_slice() {
        [] => overview::show(visit).await,
        ["ui", "bulk", rest @ ..] => bulk::show(visit, rest).await,
        ["ui", "jobs", rest @ ..] => jobs::show(visit, rest).await,
        ["ui", "parked"] => parked::show(visit).await,
        ["ui", "queues", rest @ ..] => queues::show(visit, rest).await,
        ["ui", "runs", id, "steps", step] => run::show_step(visit, id, step).await,
        ["ui", "runs", id] => run::show(visit, id).await,
        ["ui", "runs"] => runs::list(visit).await,
        ["ui", "services", name] => services::show(visit, name).await,
        ["ui", "services"] => services::list(visit).await,
        ["ui", "settings"] => settings::show(visit).await,
        ["ui", "topics", rest @ ..] => queues::show_topic(visit, rest).await,
        ["ui", "workflows", rest @ ..] => workflows::show(visit, rest).await,
        _ => Err(PageError::NotFound),
    }
}

/// Carries out a form.
pub(crate) async fn act(visit: &Visit) -> Result<FormOutcome, PageError> {
    match visit.path_segments().as_slice() {
        ["ui", "bulk", rest @ ..] => bulk::act(visit, rest).await,
        ["ui", "jobs", rest @ ..] => jobs::act(visit, rest).await,
        ["ui", "queues", rest @ ..] => queues::act(visit, rest).await,
        ["ui", "runs", id, what] => run::act(visit, id, what).await,
        ["ui", "services", name] => services::act(visit, name).await,
        ["ui", "topics", rest @ ..] => queues::act_topic(visit, rest).await,
        ["ui", "workflows", rest @ ..] => workflows::act(visit, rest).await,
        _ => Err(PageError::NotFound),
    }
}

/// What became of a form.
pub(crate) enum FormOutcome {
    /// It was done; the browser goes on to another page, which says so.
    Done { to: String, message: String },
    /// It has to be filled in again; the page says why.
    Invalid(Page),
    /// Nothing was done but looked at: a check, a preview, the same form in another way.
    Preview(Page),
}

/// What the next page says, once; read and removed by the script.
const MESSAGE_COOKIE: &str = "sortie_said";

impl FormOutcome {
    pub(crate) fn answer(self, visit: &Visit) -> Response<Body> {
        match self {
            FormOutcome::Invalid(page) => answer::html_with(visit, page, StatusCode::UNPROCESSABLE_ENTITY),
            FormOutcome::Preview(page) => answer::html(visit, page),
            FormOutcome::Done { to, message: said } => {
                let mut response = see_other(&to);
                let cookie =
                    format!("{MESSAGE_COOKIE}={}; Path=/; SameSite=Strict; Max-Age=20", encoded(&said));
                let cookie = HeaderValue::try_from(cookie).expect("encoded text has no strange characters");
                response.headers_mut().insert(SET_COOKIE, cookie);
                response
            }
        }
    }
}
