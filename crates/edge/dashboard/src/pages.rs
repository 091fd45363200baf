//! Routes addresses to pages, and submitted forms to their handlers.

mod bulk;
#[cfg(test)]
mod fake_api;
mod jobs;
mod overview;
mod parked;
mod queues;
pub(crate) mod run;
mod runs;
mod services;
mod settings;
mod workflows;

use axum::body::Body;
use http::header::SET_COOKIE;
use http::{HeaderValue, Response, StatusCode};

use crate::context::{PageContext, encoded};
use crate::error::{PageError, see_other};
use crate::page::Page;
use crate::response;

/// Renders the page at the requested address.
pub(crate) async fn show(ctx: &PageContext) -> Result<Page, PageError> {
    match ctx.path_segments().as_slice() {
        [] => overview::show(ctx).await,
        ["ui", "bulk", rest @ ..] => bulk::show(ctx, rest).await,
        ["ui", "jobs", rest @ ..] => jobs::show(ctx, rest).await,
        ["ui", "parked"] => parked::show(ctx).await,
        ["ui", "queues", rest @ ..] => queues::show(ctx, rest).await,
        ["ui", "runs", id, "steps", step] => run::show_step(ctx, id, step).await,
        ["ui", "runs", id] => run::show(ctx, id).await,
        ["ui", "runs"] => runs::list(ctx).await,
        ["ui", "services", name] => services::show(ctx, name).await,
        ["ui", "services"] => services::list(ctx).await,
        ["ui", "settings"] => settings::show(ctx).await,
        ["ui", "topics", rest @ ..] => queues::show_topic(ctx, rest).await,
        ["ui", "workflows", rest @ ..] => workflows::show(ctx, rest).await,
        _ => Err(PageError::NotFound),
    }
}

/// Handles a submitted form.
pub(crate) async fn act(ctx: &PageContext) -> Result<FormOutcome, PageError> {
    match ctx.path_segments().as_slice() {
        ["ui", "bulk", rest @ ..] => bulk::act(ctx, rest).await,
        ["ui", "jobs", rest @ ..] => jobs::act(ctx, rest).await,
        ["ui", "queues", rest @ ..] => queues::act(ctx, rest).await,
        ["ui", "runs", id, what] => run::act(ctx, id, what).await,
        ["ui", "services", name] => services::act(ctx, name).await,
        ["ui", "topics", rest @ ..] => queues::act_topic(ctx, rest).await,
        ["ui", "workflows", rest @ ..] => workflows::act(ctx, rest).await,
        _ => Err(PageError::NotFound),
    }
}

/// The outcome of a submitted form.
pub(crate) enum FormOutcome {
    /// Done: the browser is redirected to a page that shows the message.
    Done { to: String, message: String },
    /// The form is shown again with what is wrong.
    Invalid(Page),
    /// Nothing was changed: a check, a preview, or the same form in another format.
    Preview(Page),
}

/// The cookie with the message for the next page; the script shows and deletes it.
const MESSAGE_COOKIE: &str = "sortie_message";

impl FormOutcome {
    pub(crate) fn answer(self, ctx: &PageContext) -> Response<Body> {
        match self {
            FormOutcome::Invalid(page) => response::html_with(ctx, page, StatusCode::UNPROCESSABLE_ENTITY),
            FormOutcome::Preview(page) => response::html(ctx, page),
            FormOutcome::Done { to, message: said } => {
                let mut response = see_other(&to);
                let cookie =
                    format!("{MESSAGE_COOKIE}={}; Path=/; SameSite=Strict; Max-Age=20", encoded(&said));
                let cookie =
                    HeaderValue::try_from(cookie).expect("percent-encoded text is a valid header value");
                response.headers_mut().insert(SET_COOKIE, cookie);
                response
            }
        }
    }
}
