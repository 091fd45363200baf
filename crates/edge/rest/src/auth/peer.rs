//! How instances authenticate each other: a secret that they share.

use http::{HeaderMap, HeaderName, HeaderValue};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;
use vault::Secret;

use crate::auth::access::Permission;

/// Carries the secret of the instances in calls that one makes by itself to another, never in a client's.
pub const PEER: HeaderName = HeaderName::from_static("sortie-peer");

/// For whom an instance acts, beside [`PEER`]: the name stands in timelines.
pub(crate) const ON_BEHALF: HeaderName = HeaderName::from_static("sortie-on-behalf");

/// The secret that the instances of one installation share.
#[derive(Clone)]
pub struct PeerSecret {
    sha256: [u8; 32],
    header: HeaderValue,
}

impl std::fmt::Debug for PeerSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("PeerSecret(…)")
    }
}

impl PeerSecret {
    /// None when the text cannot be sent in a header.
    pub fn new(secret: &Secret) -> Option<PeerSecret> {
        let mut header = HeaderValue::try_from(secret.expose()).ok()?;
        header.set_sensitive(true);
        Some(PeerSecret { sha256: Sha256::digest(header.as_bytes()).into(), header })
    }

    /// What a call to another instance carries.
    pub fn header(&self) -> HeaderValue {
        self.header.clone()
    }

    /// A random one, for requests of an instance to itself.
    pub(crate) fn fresh() -> PeerSecret {
        let text = format!("{}{}", uuid::Uuid::new_v4().simple(), uuid::Uuid::new_v4().simple());
        PeerSecret::new(&Secret::new(text)).expect("digits are a header")
    }

    /// Whether a call comes from another instance, and may do what it asks for.
    pub(crate) fn allows(&self, headers: &HeaderMap, permission: Permission) -> bool {
        self.is_in(headers) && matches!(permission, Permission::Read | Permission::Ingest)
    }

    /// Whom a request of another instance acts for, if it says so: an operator started it.
    pub(crate) fn on_behalf(&self, headers: &HeaderMap) -> Option<String> {
        let name = headers.get(ON_BEHALF).filter(|_| self.is_in(headers))?;
        Some(String::from_utf8_lossy(name.as_bytes()).into_owned())
    }

    fn is_in(&self, headers: &HeaderMap) -> bool {
        let Some(value) = headers.get(PEER) else { return false };
        let sha256: [u8; 32] = Sha256::digest(value.as_bytes()).into();
        self.sha256.ct_eq(&sha256).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_secret_itself_lets_in_and_only_to_read_and_to_send() {
        let peer = PeerSecret::new(&Secret::new("between us".to_owned())).unwrap();
        let with = |text: &'static str| HeaderMap::from_iter([(PEER, HeaderValue::from_static(text))]);
        assert!(peer.allows(&with("between us"), Permission::Ingest));
        assert!(peer.allows(&with("between us"), Permission::Read));
        assert!(!peer.allows(&with("between us"), Permission::Edit));
        assert!(!peer.allows(&with("between them"), Permission::Read));
        assert!(!peer.allows(&HeaderMap::new(), Permission::Read));
        assert!(!format!("{peer:?}").contains("between"));
        let acting = |text| {
            let mut headers = with(text);
            headers.insert(ON_BEHALF, HeaderValue::from_static("ada"));
            headers
        };
        assert_eq!(peer.on_behalf(&acting("between us")).as_deref(), Some("ada"));
        assert_eq!(peer.on_behalf(&acting("between them")), None);
        assert_eq!(peer.on_behalf(&with("between us")), None);
        assert_eq!(PeerSecret::fresh().on_behalf(&acting("between us")), None);
        assert!(PeerSecret::new(&Secret::new("a\nb".to_owned())).is_none());
    }
}
