//! What instances tell each other that no client may: a secret that they share.

use http::{HeaderMap, HeaderName, HeaderValue};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;
use vault::Secret;

use crate::access::Permission;

/// Carries the secret of the instances in calls that one makes by itself to another, never in a client's.
pub const PEER: HeaderName = HeaderName::from_static("sortie-peer");

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

    /// Whether a call comes from another instance, and may do what it asks for.
    pub(crate) fn allows(&self, headers: &HeaderMap, permission: Permission) -> bool {
        let Some(value) = headers.get(PEER) else { return false };
        let sha256: [u8; 32] = Sha256::digest(value.as_bytes()).into();
        bool::from(self.sha256.ct_eq(&sha256)) && matches!(permission, Permission::Read | Permission::Ingest)
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
        assert!(PeerSecret::new(&Secret::new("a\nb".to_owned())).is_none());
    }
}
