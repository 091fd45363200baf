//! Signing in with an API token, which the browser stores in an `HttpOnly` cookie.

use axum::body::Body;
use bytes::Bytes;
use http::header::SET_COOKIE;
use http::{HeaderName, HeaderValue, Method, Response, StatusCode};
use maud::html;

use crate::components;
use crate::context::{COOKIE_NAME, PageContext};
use crate::error::{PageError, see_other};
use crate::page::{NavSection, Page};
use crate::response;

pub(crate) async fn answer(ctx: &PageContext) -> Result<Response<Body>, PageError> {
    if ctx.method() != Method::POST {
        return Ok(response::html(ctx, page(ctx, None)));
    }
    let token = ctx.required_field("token")?;
    let cookie = cookie(ctx, &token, "")?;
    if let Some(error) = refusal(ctx, &token).await {
        return Ok(response::html_with(ctx, page(ctx, Some(&error)), StatusCode::UNPROCESSABLE_ENTITY));
    }
    let next = ctx.field("next").filter(|next| is_of_ours(next));
    let mut response = see_other(next.as_deref().unwrap_or("/"));
    response.headers_mut().insert(SET_COOKIE, cookie);
    Ok(response)
}

/// Why a token cannot be used, if so. Checked with a route that every region serves, active or standby.
async fn refusal(ctx: &PageContext, token: &str) -> Option<PageError> {
    let unknown = "token: unknown, or without permission to view pages";
    match ctx.with_token(token).call(Method::GET, "/v1/settings", Bytes::new(), "").await {
        Ok(_) => None,
        Err(PageError::SignIn) => Some(PageError::Form(unknown.to_owned())),
        Err(PageError::Problem(problem)) if problem.status == StatusCode::FORBIDDEN => {
            Some(PageError::Form(unknown.to_owned()))
        }
        Err(error) => Some(error),
    }
}

/// Whether an address is one of our pages. Browsers treat a backslash as a slash and ignore tabs, so an address that
/// starts with a single slash may still lead to another site.
fn is_of_ours(place: &str) -> bool {
    let known = ["/?", "/ui/", "/docs/"].iter().any(|root| place.starts_with(root));
    let plain = place.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\');
    plain && (known || matches!(place, "/" | "/ui" | "/docs"))
}

pub(crate) fn leave(ctx: &PageContext) -> Result<Response<Body>, PageError> {
    if ctx.method() != Method::POST {
        return Err(PageError::NotFound);
    }
    let mut response = see_other("/ui/sign-in");
    response.headers_mut().insert(SET_COOKIE, cookie(ctx, "", "; Max-Age=0")?);
    Ok(response)
}

fn cookie(ctx: &PageContext, token: &str, end: &str) -> Result<HeaderValue, PageError> {
    let plain =
        token.bytes().all(|byte| byte.is_ascii_graphic() && !matches!(byte, b';' | b',' | b'"' | b'\\'));
    let secure = if is_over_tls(ctx) { "; Secure" } else { "" };
    let value = format!("{COOKIE_NAME}={token}; Path=/; HttpOnly; SameSite=Lax{secure}{end}");
    let value = HeaderValue::try_from(value).ok().filter(|_| plain);
    value.ok_or_else(|| PageError::Form("token: contains invalid characters".to_owned()))
}

/// Whether a proxy reports that the browser used HTTPS. With several proxies, the first entry is the browser's.
fn is_over_tls(ctx: &PageContext) -> bool {
    let protocols = ctx.header(HeaderName::from_static("x-forwarded-proto")).unwrap_or_default();
    protocols.split(',').next().is_some_and(|first| first.trim().eq_ignore_ascii_case("https"))
}

fn page(ctx: &PageContext, error: Option<&PageError>) -> Page {
    let next = ctx.query_value("next").or_else(|| ctx.field("next"));
    Page::new("Sign in", NavSection::None).without_navigation().part(html! {
        @if let Some(error) = error { (components::problem(&error.problem())) }
        form.card.narrow method="post" action="/ui/sign-in" {
            @if let Some(next) = next { input type="hidden" name="next" value=(next); }
            (components::field("token", "Token", "One of the tokens configured on the server.", html! {
                input #token type="password" name="token" autocomplete="current-password" required;
            }))
            button.primary type="submit" { "Sign in" }
        }
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use http::Request;

    use super::*;

    #[test]
    fn over_https_the_cookie_is_for_https_alone() {
        let cookie = |proxies: &[&str]| {
            let mut request = Request::builder().uri("/ui/sign-in");
            for proxy in proxies {
                request = request.header("x-forwarded-proto", *proxy);
            }
            let ctx = PageContext::new(
                request.body(Bytes::new()).unwrap(),
                Arc::new(|_| unreachable!("the API is not called")),
            );
            cookie(&ctx, "abc", "").unwrap().to_str().unwrap().to_owned()
        };
        let plain = "sortie_token=abc; Path=/; HttpOnly; SameSite=Lax";
        assert_eq!(cookie(&["https"]), format!("{plain}; Secure"));
        assert_eq!(cookie(&["HTTPS, http"]), format!("{plain}; Secure"));
        for proxies in [&[][..], &["http"], &["http, https"]] {
            assert_eq!(cookie(proxies), plain, "{proxies:?}");
        }
    }

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
