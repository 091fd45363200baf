//! Signing in with a token of the API, which the browser keeps in a cookie that scripts cannot read.

use axum::body::Body;
use bytes::Bytes;
use http::header::SET_COOKIE;
use http::{HeaderValue, Method, Response, StatusCode};
use maud::html;

use crate::answer;
use crate::page::{Page, Place};
use crate::pieces;
use crate::trouble::{Trouble, see_other};
use crate::visit::{COOKIE_NAME, Visit};

pub(crate) async fn answer(visit: &Visit) -> Result<Response<Body>, Trouble> {
    if visit.method() != Method::POST {
        return Ok(answer::html(visit, page(visit, None)));
    }
    let token = visit.needed("token")?;
    let cookie = cookie(&token, "")?;
    if !is_known(visit, &token).await {
        let problem =
            Trouble::Form("token: this server does not know it, or it may not look at pages".to_owned());
        return Ok(answer::html_with(visit, page(visit, Some(&problem)), StatusCode::UNPROCESSABLE_ENTITY));
    }
    // Only to pages of ours: an address of another site begins with two slashes or has a scheme.
    let next = visit.field("next").filter(|next| next.starts_with('/') && !next.starts_with("//"));
    let mut response = see_other(next.as_deref().unwrap_or("/"));
    response.headers_mut().insert(SET_COOKIE, cookie);
    Ok(response)
}

/// Whether a token may look at all.
async fn is_known(visit: &Visit, token: &str) -> bool {
    visit.with_token(token).call(Method::GET, "/v1/limits", Bytes::new(), "").await.is_ok()
}

pub(crate) fn leave(visit: &Visit) -> Result<Response<Body>, Trouble> {
    if visit.method() != Method::POST {
        return Err(Trouble::NotFound);
    }
    let mut response = see_other("/ui/sign-in");
    response.headers_mut().insert(SET_COOKIE, cookie("", "; Max-Age=0")?);
    Ok(response)
}

fn cookie(token: &str, end: &str) -> Result<HeaderValue, Trouble> {
    let plain =
        token.bytes().all(|byte| byte.is_ascii_graphic() && !matches!(byte, b';' | b',' | b'"' | b'\\'));
    let value = format!("{COOKIE_NAME}={token}; Path=/; HttpOnly; SameSite=Strict{end}");
    let value = HeaderValue::try_from(value).ok().filter(|_| plain);
    value.ok_or_else(|| Trouble::Form("token: it has characters that no token has".to_owned()))
}

fn page(visit: &Visit, trouble: Option<&Trouble>) -> Page {
    let next = visit.asked("next").or_else(|| visit.field("next"));
    Page::new("Sign in", Place::Elsewhere).without_navigation().part(html! {
        @if let Some(trouble) = trouble { (pieces::problem(&trouble.problem())) }
        form.card.narrow method="post" action="/ui/sign-in" {
            @if let Some(next) = next { input type="hidden" name="next" value=(next); }
            (pieces::field("token", "Token", "One of the tokens in the server's settings.", html! {
                input #token type="password" name="token" autocomplete="current-password" required;
            }))
            button.primary type="submit" { "Sign in" }
        }
    })
}
