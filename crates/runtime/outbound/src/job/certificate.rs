//! Client certificates of jobs: unsealed and opened once, then kept.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sha2::{Digest, Sha256};
use types::Timestamp;
use vault::{Pfx, PfxError, Secret, UnsealError, Vault};

use crate::client::{ClientIdentity, InvalidIdentity};
use crate::limits::CERTIFICATES_MAX;

/// The certificates that were used lately.
pub(super) struct Certificates {
    vault: Arc<Vault>,
    // A lock, not messages: held for a look-up. By the hash of the sealed texts, which no two secrets share.
    opened: Mutex<HashMap<[u8; 32], Arc<Opened>>>,
}

struct Opened {
    pfx: Pfx,
    identity: ClientIdentity,
}

/// Why a job has no certificate to show.
#[derive(Debug, thiserror::Error)]
pub(super) enum CertificateError {
    #[error("the client certificate cannot be unsealed: {0}")]
    Sealed(#[from] UnsealError),
    #[error("{0}")]
    Pfx(#[from] PfxError),
    #[error("{0}")]
    Identity(#[from] InvalidIdentity),
    #[error("opening the client certificate failed")]
    Panicked,
}

impl Certificates {
    pub(super) fn new(vault: Arc<Vault>) -> Certificates {
        Certificates { vault, opened: Mutex::default() }
    }

    /// The identity in the sealed file, if it is valid now.
    pub(super) async fn identity(
        &self,
        sealed_pfx: &str,
        sealed_password: Option<&str>,
        now: Timestamp,
    ) -> Result<ClientIdentity, CertificateError> {
        let key = key_of(sealed_pfx, sealed_password);
        let known = self.lock().get(&key).cloned();
        let opened = match known {
            Some(opened) => opened,
            None => {
                let opened = Arc::new(self.open(sealed_pfx, sealed_password).await?);
                let mut all = self.lock();
                if all.len() >= CERTIFICATES_MAX {
                    all.clear();
                }
                all.insert(key, opened.clone());
                opened
            }
        };
        opened.pfx.check_validity(now)?;
        Ok(opened.identity.clone())
    }

    async fn open(&self, pfx: &str, password: Option<&str>) -> Result<Opened, CertificateError> {
        let pfx = self.vault.open(pfx)?;
        let password = password.map(|password| self.vault.open(password)).transpose()?;
        let password = password.unwrap_or_else(|| Secret::new(String::new()));
        // Some milliseconds of hashing: not for the threads that serve calls.
        tokio::task::spawn_blocking(move || {
            let pfx = Pfx::open(pfx.expose(), password.expose())?;
            let identity = ClientIdentity::new(pfx.chain_der(), pfx.key_der())?;
            Ok(Opened { pfx, identity })
        })
        .await
        .map_err(|_| CertificateError::Panicked)?
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<[u8; 32], Arc<Opened>>> {
        self.opened.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn key_of(sealed_pfx: &str, sealed_password: Option<&str>) -> [u8; 32] {
    let mut hash = Sha256::new();
    hash.update(sealed_pfx);
    hash.update([0]);
    hash.update(sealed_password.unwrap_or_default());
    hash.finalize().into()
}
