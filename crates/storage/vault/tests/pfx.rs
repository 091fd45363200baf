//! Certificate files as OpenSSL writes them, old and new, whole and broken. `data/README.md` says how they were made.

#![allow(clippy::unwrap_used, reason = "a failed setup is a failed test")]

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use types::Timestamp;
use vault::{Pfx, PfxError};

const PASSWORD: &str = "correct horse";
const IN_2027: Timestamp = Timestamp(1_800_000_000_000);

fn file(name: &str) -> Vec<u8> {
    std::fs::read(format!("{}/tests/data/{name}.pfx", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

fn open(name: &str, password: &str) -> Result<Pfx, PfxError> {
    Pfx::open(&STANDARD.encode(file(name)), password)
}

#[test]
fn old_and_new_files_give_the_same_certificate() {
    for name in ["modern", "legacy", "windows-3des"] {
        let pfx = open(name, PASSWORD).unwrap();
        assert_eq!(pfx.thumbprint(), "BC473492653598E9A61B4576ADE76F06DE6D4776", "{name}");
        assert_eq!(pfx.subject(), "CN=May14SchedulerMgmt, O=\"Acme, Inc.\", S=Washington, C=US", "{name}");
        assert_eq!(pfx.expires_at(), "2125-06-10T02:05:02Z", "{name}");
        assert_eq!(pfx.check_validity(IN_2027), Ok(()));
        assert_eq!(pfx.key_der(), open("modern", PASSWORD).unwrap().key_der(), "{name}");
    }
}

#[test]
fn the_issuer_follows_the_leaf() {
    for (name, certificates) in [("modern", 2), ("legacy", 2), ("windows-3des", 1), ("ecdsa", 1)] {
        let password = if name == "ecdsa" { "" } else { PASSWORD };
        assert_eq!(open(name, password).unwrap().chain_der().len(), certificates, "{name}");
    }
    let (modern, alone) = (open("modern", PASSWORD).unwrap(), open("windows-3des", PASSWORD).unwrap());
    assert_eq!(modern.chain_der()[0], alone.chain_der()[0]);
    assert_ne!(modern.chain_der()[1], alone.chain_der()[0]);
}

#[test]
fn every_kind_of_key_and_password_opens() {
    for (name, password, subject) in [
        ("ecdsa", "", "CN=drone scheduler"),
        ("ed25519", PASSWORD, "CN=ed"),
        ("umlaut", "schl\u{fc}ssel", "CN=drone scheduler"),
        ("umlaut-legacy", "schl\u{fc}ssel", "CN=drone scheduler"),
        ("no-mac", PASSWORD, "CN=drone scheduler"),
        ("x509-v1", PASSWORD, "CN=May14SchedulerMgmt, O=\"Acme, Inc.\", S=Washington, C=US"),
    ] {
        assert_eq!(open(name, password).unwrap().subject(), subject, "{name}");
    }
}

#[test]
fn base64_may_be_wrapped_and_unpadded() {
    let text = STANDARD.encode(file("ecdsa"));
    let wrapped: Vec<&str> = text.as_bytes().chunks(64).map(|line| str::from_utf8(line).unwrap()).collect();
    for text in [wrapped.join("\r\n"), text.trim_end_matches('=').to_owned()] {
        assert_eq!(Pfx::open(&text, "").unwrap().subject(), "CN=drone scheduler");
    }
}

#[test]
fn a_wrong_password_is_reported() {
    for name in ["modern", "legacy", "windows-3des", "ecdsa", "no-mac", "umlaut", "umlaut-legacy"] {
        for password in ["wrong", "correct horse ", "Correct horse"] {
            let error = open(name, password).unwrap_err();
            assert_eq!(error, PfxError::WrongPassword, "{name} {password:?}");
        }
    }
    assert_eq!(open("modern", "").unwrap_err(), PfxError::WrongPassword);
}

#[test]
fn half_a_file_is_reported_with_what_is_missing() {
    for (name, error) in [
        ("no-key", PfxError::NoKey),
        ("no-certificate", PfxError::NoCertificate),
        ("rsa-1024", PfxError::UnsupportedKey),
    ] {
        assert_eq!(open(name, PASSWORD).unwrap_err(), error, "{name}");
    }
}

#[test]
fn damage_is_an_error_and_never_a_panic() {
    let whole = file("legacy");
    for cut in 0..whole.len() {
        let error = Pfx::open(&STANDARD.encode(&whole[..cut]), PASSWORD).unwrap_err();
        assert_eq!(error, PfxError::Damaged, "cut at {cut}");
    }
    for (text, error) in [
        ("", PfxError::Damaged),
        ("no base64!", PfxError::NotBase64),
        ("AAAA", PfxError::Damaged),
        (&"A".repeat(200_000), PfxError::TooLarge),
        (&"A".repeat(90_000), PfxError::TooLarge),
    ] {
        assert_eq!(Pfx::open(text, PASSWORD).unwrap_err(), error, "{:.20}", text);
    }
    // The MAC covers the contents: a changed byte never results in another certificate or key.
    let good = open("legacy", PASSWORD).unwrap();
    for at in (0..whole.len()).step_by(7) {
        let mut changed = whole.clone();
        changed[at] ^= 0x20;
        if let Ok(pfx) = Pfx::open(&STANDARD.encode(&changed), PASSWORD) {
            assert_eq!((pfx.chain_der(), pfx.key_der()), (good.chain_der(), good.key_der()), "byte {at}");
        }
    }
}

#[test]
fn a_certificate_out_of_its_time_is_reported_with_the_time() {
    let expired = open("expired", PASSWORD).unwrap();
    assert_eq!(expired.expires_at(), "2021-01-01T07:00:00Z");
    let error = expired.check_validity(IN_2027).unwrap_err();
    assert_eq!(error.to_string(), "the certificate expired at 2021-01-01T07:00:00Z");
    let last = Timestamp(1_609_484_400_000);
    assert_eq!(expired.check_validity(last), Ok(()));
    assert!(expired.check_validity(Timestamp(last.0 + 1)).is_err());

    let future = open("future", PASSWORD).unwrap();
    let error = future.check_validity(IN_2027).unwrap_err();
    assert_eq!(error.to_string(), "the certificate is not valid before 2090-01-01T00:00:00Z");
}

#[test]
fn nothing_secret_is_printed() {
    let printed = format!("{:?}", open("modern", PASSWORD).unwrap());
    assert!(printed.starts_with("Pfx(CN=May14SchedulerMgmt") && printed.len() < 150, "{printed}");
}
