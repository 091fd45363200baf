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
    if let Some(trouble) = refusal(visit, &token).await {
        return Ok(answer::html_with(visit, page(visit, Some(&trouble)), StatusCode::UNPROCESSABLE_ENTITY));
    }
    let next = visit.field("next").filter(|next| is_of_ours(next));
    let mut response = see_other(next.as_deref().unwrap_or("/"));
    response.headers_mut().insert(SET_COOKIE, cookie);
    Ok(response)
}

/// Why a token may not look at all, if so. Asked of what every region answers.
async fn refusal(visit: &Visit, token: &str) -> Option<Trouble> {
    let unknown = "token: this server does not know it, or it may not look at pages";
    match visit.with_token(token).call(Method::GET, "/v1/settings", Bytes::new(), "").await {
        Ok(_) => None,
        Err(Trouble::SignIn) => Some(Trouble::Form(unknown.to_owned())),
        Err(Trouble::Problem(problem)) if problem.status == StatusCode::FORBIDDEN => {
            Some(Trouble::Form(unknown.to_owned()))
        }
        Err(trouble) => Some(trouble),
    }
}

/// Whether an address is one of our pages. Browsers take a backslash for a slash and pass over tabs, so that not every
/// address that begins with one slash stays here.
fn is_of_ours(place: &str) -> bool {
    let known = ["/?", "/ui/", "/docs/"].iter().any(|root| place.starts_with(root));
    let plain = place.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\');
    plain && (known || matches!(place, "/" | "/ui" | "/docs"))
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
    let value = format!("{COOKIE_NAME}={token}; Path=/; HttpOnly; SameSite=Lax{end}");
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_in_leads_to_no_other_site() {
        for place in ["/", "/ui/runs?status=parked", "/docs", "/docs/start", "/?a=b"] {
            assert!(is_of_ours(place), "{place}");
        }
        for place in [
            "//evil.test/",
            "/\\evil.test/",
            "/\t/evil.test",
            "https://evil.test",
            "",
            "/ui\\..//evil.test",
            "/v1/runs",
        ] {
            assert!(!is_of_ours(place), "{place}");
        }
    }
}
