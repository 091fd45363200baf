//! The parameters in a path, and who calls: what handlers extract besides the request itself.

use axum::extract::{FromRequestParts, Query};
use http::Uri;
use http::request::Parts;
use percent_encoding::percent_decode_str;
use serde::de::DeserializeOwned;

use crate::error::ApiError;

/// The parameters of a path by their names in the route, decoded; one that is not UTF-8 cannot be.
#[derive(Debug, Clone, Default)]
pub(crate) struct PathParams(Vec<(&'static str, Option<String>)>);

impl PathParams {
    pub(crate) fn new<'v>(path: &'static str, values: impl Iterator<Item = &'v str>) -> PathParams {
        let names = path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
        let decode = |value: &str| percent_decode_str(value).decode_utf8().ok().map(|text| text.into_owned());
        PathParams(names.zip(values.map(decode)).collect())
    }

    /// A parameter, if it can be read.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| *known == name)?.1.as_deref()
    }

    pub(crate) fn require(&self, name: &str) -> Result<&str, ApiError> {
        self.get(name).ok_or_else(|| ApiError::BadRequest(format!("{name} in the path is not UTF-8 text")))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for PathParams {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<PathParams, ApiError> {
        Ok(parts.extensions.remove().unwrap_or_default())
    }
}

/// The one name or id in a path.
pub(crate) struct Named(pub String);

impl<S: Send + Sync> FromRequestParts<S> for Named {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Named, ApiError> {
        let params = PathParams::from_request_parts(parts, state).await?;
        let (name, _) = params.0.first().expect("a handler that wants a name is at a path that has one");
        Ok(Named(params.require(name)?.to_owned()))
    }
}

/// The parameters of a query.
pub(crate) struct QueryParams<T>(pub T);

impl<T: DeserializeOwned> QueryParams<T> {
    pub(crate) fn of(uri: &Uri) -> Result<QueryParams<T>, ApiError> {
        let read = Query::try_from_uri(uri);
        read.map(|Query(params)| QueryParams(params)).map_err(|error| ApiError::BadRequest(error.body_text()))
    }
}

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for QueryParams<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<QueryParams<T>, ApiError> {
        QueryParams::of(&parts.uri)
    }
}

/// The name of who calls: the router has checked the access of the route.
#[derive(Debug, Clone)]
pub(crate) struct Caller(pub String);

impl<S: Send + Sync> FromRequestParts<S> for Caller {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Caller, ApiError> {
        Ok(parts.extensions.remove().expect("the router checks access before it calls a handler"))
    }
}
