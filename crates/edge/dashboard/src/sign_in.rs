//! Signing in with a token of the API, which the browser keeps in a cookie that scripts cannot read.

use axum::body::Body;
use bytes::Bytes;
use http::header::SET_COOKIE;
use http::{HeaderName, HeaderValue, Method, Response, StatusCode};
use maud::html;

use crate::answer;
use crate::page::{NavSection, Page};
use crate::pieces;
use crate::trouble::{PageError, see_other};
use crate::visit::{COOKIE_NAME, Visit};

pub(crate) async fn answer(visit: &Visit) -> Result<Response<Body>, PageError> {
    if visit.method() != Method::POST {
        return Ok(answer::html(visit, page(visit, None)));
    }
    let token = visit.required_field("token")?;
    let cookie = cookie(visit, &token, "")?;
    if let Some(trouble) = refusal(visit, &token).await {
        return Ok(answer::html_with(visit, page(visit, Some(&trouble)), StatusCode::UNPROCESSABLE_ENTITY));
    }
    let next = visit.field("next").filter(|next| is_of_ours(next));
    let mut response = see_other(next.as_deref().unwrap_or("/"));
    response.headers_mut().insert(SET_COOKIE, cookie);
    Ok(response)
}

/// Why a token may not look at all, if so. Asked of what every region answers.
async fn refusal(visit: &Visit, token: &str) -> Option<PageError> {
    let unknown = "token: this server does not know it, or it may not look at pages";
    match visit.with_token(token).call(Method::GET, "/v1/settings", Bytes::new(), "").await {
        Ok(_) => None,
        Err(PageError::SignIn) => Some(PageError::Form(unknown.to_owned())),
        Err(PageError::Problem(problem)) if problem.status == StatusCode::FORBIDDEN => {
            Some(PageError::Form(unknown.to_owned()))
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

pub(crate) fn leave(visit: &Visit) -> Result<Response<Body>, PageError> {
    if visit.method() != Method::POST {
        return Err(PageError::NotFound);
    }
    let mut response = see_other("/ui/sign-in");
    response.headers_mut().insert(SET_COOKIE, cookie(visit, "", "; Max-Age=0")?);
    Ok(response)
}

fn cookie(visit: &Visit, token: &str, end: &str) -> Result<HeaderValue, PageError> {
    let plain =
        token.bytes().all(|byte| byte.is_ascii_graphic() && !matches!(byte, b';' | b',' | b'"' | b'\\'));
    let secure = if is_over_tls(visit) { "; Secure" } else { "" };
    let value = format!("{COOKIE_NAME}={token}; Path=/; HttpOnly; SameSite=Lax{secure}{end}");
    let value = HeaderValue::try_from(value).ok().filter(|_| plain);
    value.ok_or_else(|| PageError::Form("token: it has characters that no token has".to_owned()))
}

/// Whether a proxy in front says that the browser came by HTTPS. Of several proxies the first is the browser's.
fn is_over_tls(visit: &Visit) -> bool {
    let protocols = visit.header(HeaderName::from_static("x-forwarded-proto")).unwrap_or_default();
    protocols.split(',').next().is_some_and(|first| first.trim().eq_ignore_ascii_case("https"))
}

fn page(visit: &Visit, trouble: Option<&PageError>) -> Page {
    let next = visit.query_value("next").or_else(|| visit.field("next"));
    Page::new("Sign in", NavSection::None).without_navigation().part(html! {
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
            let visit = Visit::new(
                request.body(Bytes::new()).unwrap(),
                Arc::new(|_| unreachable!("nothing is asked")),
            );
            cookie(&visit, "abc", "").unwrap().to_str().unwrap().to_owned()
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
