//! Who may do what.

use std::sync::Arc;

use host::Clock;
use http::HeaderMap;

use crate::auth::access::{self, Access, Denied, Permission};
use crate::auth::peer::PeerSecret;
use crate::error::ApiError;

/// The name that timelines show for another instance.
pub(crate) const PEER_NAME: &str = "sortie";

/// Checks the tokens of clients and the secret of peers. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Auth {
    pub access: Arc<Access>,
    /// Authenticates what this instance asks of itself, and of its peers where there are peers.
    pub inner: PeerSecret,
    pub clock: Clock,
}

impl Auth {
    /// The name of a client, if its token has the permission.
    pub(crate) fn allow(&self, headers: &HeaderMap, permission: Permission) -> Result<&str, ApiError> {
        let authorization = self.authorization(headers)?;
        self.access.check(authorization, permission).map_err(ApiError::Denied)
    }

    /// The name of who cancels a run or decides on it, if they may: also who has asked another instance to do so to many.
    pub(crate) fn allow_operator(&self, headers: &HeaderMap) -> Result<String, ApiError> {
        match self.inner.on_behalf(headers) {
            Some(name) => Ok(name),
            None => Ok(self.allow(headers, Permission::Operate)?.to_owned()),
        }
    }

    /// The name of a client, if its token or signature has the permission for a queue or topic. `path` is its path, `/` that of all of them.
    pub(crate) fn allow_queue(
        &self,
        headers: &HeaderMap,
        permission: Permission,
        path: &str,
    ) -> Result<&str, ApiError> {
        let authorization = self.authorization(headers)?;
        let checked = self.access.check_queue(authorization, permission, path, self.clock.wall());
        checked.map_err(ApiError::Denied)
    }

    /// Whether another instance asks on its own behalf, for something that instances may.
    pub(crate) fn is_peer(&self, headers: &HeaderMap, permission: Permission) -> bool {
        self.inner.allows(headers, permission)
    }

    /// Whether the caller is known at all, whatever it may do.
    pub(crate) fn recognises(&self, headers: &HeaderMap) -> bool {
        let authorization = self.authorization(headers);
        authorization.is_ok_and(|text| self.access.recognises(text, self.clock.wall()))
    }

    fn authorization<'h>(&self, headers: &'h HeaderMap) -> Result<Option<&'h str>, ApiError> {
        let text = |name| headers.get(name).map(|value: &'h http::HeaderValue| value.to_str().unwrap_or("?"));
        if matches!(*self.access, Access::Open)
            && !access::is_local(text(http::header::HOST), text(http::header::ORIGIN))
        {
            return Err(ApiError::Denied(Denied::Foreign));
        }
        Ok(text(http::header::AUTHORIZATION))
    }
}
