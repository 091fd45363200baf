//! Who a call is made as, when the other side asks for a certificate.

use std::fmt;
use std::sync::Arc;

use rustls::client::ResolvesClientCert;
use rustls::crypto::ring::sign::any_supported_type;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::{Error, InconsistentKeys};
use sha2::{Digest, Sha256};

/// A client certificate with its key. Cheap to clone.
#[derive(Clone)]
pub struct ClientIdentity {
    id: IdentityId,
    resolver: Arc<dyn ResolvesClientCert>,
}

/// Tells identities apart: the hash of the certificates. Two keys never share a certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct IdentityId([u8; 32]);

/// A certificate and a key that cannot be used together.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("client certificate cannot be used: {0}")]
pub struct InvalidIdentity(Error);

impl ClientIdentity {
    /// The chain as DER, the leaf first, and the leaf's key as PKCS#8 DER.
    pub fn new(chain: &[impl AsRef<[u8]>], key: &[u8]) -> Result<ClientIdentity, InvalidIdentity> {
        let mut hash = Sha256::new();
        for certificate in chain {
            hash.update((certificate.as_ref().len() as u64).to_be_bytes());
            hash.update(certificate.as_ref());
        }
        let chain = chain.iter().map(|der| CertificateDer::from(der.as_ref().to_vec())).collect();
        let key = any_supported_type(&PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key)));
        let certified = CertifiedKey::new(chain, key.map_err(InvalidIdentity)?);
        // Any other doubt about the certificate is the other side's to have: it may know older forms than we do.
        if let Err(error @ Error::InconsistentKeys(InconsistentKeys::KeyMismatch)) = certified.keys_match() {
            return Err(InvalidIdentity(error));
        }
        let resolver = Arc::new(SingleCertAndKey::from(certified));
        Ok(ClientIdentity { id: IdentityId(hash.finalize().into()), resolver })
    }

    pub(crate) fn id(&self) -> IdentityId {
        self.id
    }

    pub(super) fn resolver(&self) -> Arc<dyn ResolvesClientCert> {
        self.resolver.clone()
    }
}

impl fmt::Debug for ClientIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Identity").field(&self.id).finish()
    }
}

#[cfg(test)]
mod tests {
    use vault::Pfx;

    use super::*;

    fn pfx(name: &str) -> Pfx {
        use base64::Engine;
        let path = format!("{}/../../storage/vault/tests/data/{name}.pfx", env!("CARGO_MANIFEST_DIR"));
        let file = base64::engine::general_purpose::STANDARD.encode(std::fs::read(path).unwrap());
        Pfx::open(&file, "correct horse").unwrap()
    }

    #[test]
    fn a_key_must_fit_and_the_rest_is_for_the_other_side_to_judge() {
        let (rsa, old, other) = (pfx("modern"), pfx("x509-v1"), pfx("ed25519"));
        let identity = |chain: &Pfx, key: &Pfx| ClientIdentity::new(chain.chain_der(), key.key_der());
        assert!(identity(&rsa, &other).is_err());
        assert!(identity(&old, &old).is_ok());
        assert_eq!(identity(&rsa, &rsa).unwrap().id(), identity(&rsa, &rsa).unwrap().id());
        assert_ne!(identity(&rsa, &rsa).unwrap().id(), identity(&old, &old).unwrap().id());
        assert!(ClientIdentity::new(rsa.chain_der(), b"no key").is_err());
    }
}
