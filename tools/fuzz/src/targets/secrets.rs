//! Sealed secrets, keys and certificates: opened completely or refused, and no message reveals the content.

use std::sync::OnceLock;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use outbound::ClientIdentity;
use vault::{Pfx, SealingKey, Vault, is_sealed};

use crate::Target;
use crate::input::text;

pub const TARGET: Target = Target {
    name: "secrets",
    run,
    seeds,
    words: &["sealed:v1:", "sealed:", ":", "=", "MII", "AAAA"],
    inputs: 1500,
};

pub const CERTIFICATE: Target = Target {
    name: "certificate",
    run: run_certificate,
    seeds: certificate_seeds,
    words: &["0\u{82}", "\u{6}\u{9}*", "\u{2}\u{1}", "\u{4}\u{1}\0", "\u{30}\u{80}\0\0"],
    inputs: 1500,
};

const PLAIN: &str = "the secret that must not leak";
const PASSWORD: &str = "pass";

fn vault() -> &'static Vault {
    static VAULT: OnceLock<Vault> = OnceLock::new();
    VAULT.get_or_init(|| Vault::new([7; SealingKey::BYTES]))
}

fn run(bytes: &[u8]) {
    let Some(text) = text(bytes) else { return };
    match vault().open(text) {
        // Only the vault makes a text that opens, so it is one of the seeds, whole.
        Ok(secret) => assert!(is_sealed(text) && (secret.expose() == PLAIN || secret.expose().is_empty())),
        Err(error) => {
            assert!(error.to_string().len() < 200, "{error}");
            assert!(!error.to_string().contains(PLAIN), "{error}");
        }
    }
    let again = vault().seal(text);
    assert_eq!(vault().open(&again).map(|secret| secret.expose() == text), Ok(true), "sealed and opened");
    if let Ok(key) = SealingKey::from_text(text) {
        let again = SealingKey::from_text(&key.to_text()).expect("a key's own text is a key");
        assert_eq!(again.to_text(), key.to_text());
    }
    let _ = (SealingKey::from_text(text), vault().is_outdated(text));
}

/// The bytes are a PKCS#12 file; what comes out of it is what TLS takes.
fn run_certificate(bytes: &[u8]) {
    match Pfx::open(&STANDARD.encode(bytes), PASSWORD) {
        Ok(pfx) => {
            assert!(!pfx.chain_der().is_empty() && !pfx.expires_at().is_empty());
            assert_eq!(pfx.thumbprint().len(), 40);
            let _ = ClientIdentity::new(pfx.chain_der(), pfx.key_der());
        }
        Err(error) => assert!(error.to_string().len() < 200, "{error}"),
    }
    let _ = ClientIdentity::new(&[bytes], bytes);
}

fn seeds() -> Vec<Vec<u8>> {
    let key = SealingKey::new([9; SealingKey::BYTES]).to_text().to_string();
    vec![
        vault().seal(PLAIN).into_bytes(),
        vault().seal("").into_bytes(),
        Vault::new([8; SealingKey::BYTES]).seal(PLAIN).into_bytes(),
        key.into_bytes(),
        "07".repeat(32).into_bytes(),
        b"sealed:v2:x:AAAA".to_vec(),
    ]
}

/// The files are committed: their password is hashed many times, and new ones would differ in every run.
fn certificate_seeds() -> Vec<Vec<u8>> {
    Vec::new()
}
