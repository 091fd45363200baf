//! Topics: made, shown, changed, deleted. What is received from them is their subscriptions'.

use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, Method, StatusCode};

use super::json as answer;
use super::queues::{AskedPart, At, allow, part, read};
use crate::api::Api;
use crate::auth::access::Permission;
use crate::bus::resource;
use crate::error::ApiError;
use crate::etag::{expect, with_etag};

pub(super) async fn list(
    State(api): State<Api>,
    headers: HeaderMap,
    asked: AskedPart,
) -> Result<Response, ApiError> {
    api.auth.allow_queue(&headers, Permission::Read, "/")?;
    Ok(answer(&api.queues.list_topics(part(asked)?).await?))
}

pub(super) async fn one(State(api): State<Api>, At(at): At, request: Request) -> Result<Response, ApiError> {
    let method = request.method().clone();
    allow(&api, &request, &at)?;
    let expect = expect(&method, request.headers())?;
    let (topic, status) = match method {
        Method::PUT => {
            let (topic, created) = api.queues.put_topic(&at.name, &read(request).await?, expect).await?;
            (topic, if created { StatusCode::CREATED } else { StatusCode::OK })
        }
        Method::DELETE => {
            api.queues.delete_topic(&at.name, expect).await?;
            return Ok(StatusCode::NO_CONTENT.into_response());
        }
        // The router lets only these through.
        _ => (api.queues.show_topic(&at.name).await?, StatusCode::OK),
    };
    let mut response = answer(&topic);
    *response.status_mut() = status;
    Ok(with_etag(response, topic.version))
}

pub(super) async fn subscriptions(
    State(api): State<Api>,
    headers: HeaderMap,
    At(at): At,
    asked: AskedPart,
) -> Result<Response, ApiError> {
    api.auth.allow_queue(&headers, Permission::Read, &resource(&at))?;
    Ok(answer(&api.queues.list_subscriptions(&at.name, part(asked)?).await?))
}
