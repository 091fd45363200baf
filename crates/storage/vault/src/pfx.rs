//! A client certificate with its key, from a PKCS#12 file (`.pfx`).

use base64::Engine;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
use p12_keystore::Pkcs12Archive;
use p12_keystore::error::Error;
use ring::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_ASN1_SIGNING, ECDSA_P384_SHA384_ASN1_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair,
    RsaKeyPair,
};
use types::Timestamp;
use x509_parser::certificate::X509Certificate;
use x509_parser::parse_x509_certificate;
use x509_parser::time::ASN1Time;
use zeroize::Zeroizing;

use crate::name;

/// A file is the certificate, its chain and one key: a few kilobytes. More only costs time to parse.
const FILE_BYTES_MAX: usize = 64 * 1024;

const BASE64: GeneralPurpose = GeneralPurpose::new(
    &base64::alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// A certificate, the chain above it, and its private key.
#[derive(Clone)]
pub struct Pfx {
    /// The leaf first, each followed by its issuer.
    chain: Vec<Vec<u8>>,
    key: Zeroizing<Vec<u8>>,
    subject: String,
    begins_at: Timestamp,
    ends_at: Timestamp,
    expires_at: String,
}

/// Why a file cannot be used as a client certificate. No variant quotes the file or its password.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PfxError {
    #[error("the certificate file is not valid base64")]
    NotBase64,
    #[error("the certificate file is larger than {FILE_BYTES_MAX} bytes")]
    TooLarge,
    #[error("the certificate file is damaged or not a PKCS#12 (.pfx) file")]
    Damaged,
    #[error("the password of the certificate file is wrong, or the file is damaged")]
    WrongPassword,
    #[error(
        "the certificate file is encrypted in a way that is not supported; export it with AES-256 or 3DES"
    )]
    UnsupportedEncryption,
    #[error("the certificate file has no private key in it")]
    NoKey,
    #[error("the certificate file has {0} private keys in it; one is needed")]
    ManyKeys(usize),
    #[error(
        "the private key is of a kind that is not supported; use RSA of 2048 to 4096 bits, or ECDSA on P-256 or P-384"
    )]
    UnsupportedKey,
    #[error("the certificate file has no certificate for its private key")]
    NoCertificate,
    #[error("the certificate expired at {at}")]
    Expired { at: String },
    #[error("the certificate is not valid before {at}")]
    NotYetValid { at: String },
}

impl Pfx {
    /// Parses the file. This hashes the password many thousand times: keep it off the async threads.
    pub fn open(base64: &str, password: &str) -> Result<Pfx, PfxError> {
        if base64.len() > FILE_BYTES_MAX * 2 {
            return Err(PfxError::TooLarge);
        }
        let text: String = base64.chars().filter(|c| !c.is_ascii_whitespace()).collect();
        let file = Zeroizing::new(BASE64.decode(text).map_err(|_| PfxError::NotBase64)?);
        if file.len() > FILE_BYTES_MAX {
            return Err(PfxError::TooLarge);
        }
        let archive = Pkcs12Archive::from_pkcs12(&file, password).map_err(|error| reason(&error))?;
        let key = match archive.keys.as_slice() {
            [] => return Err(PfxError::NoKey),
            [one] => Zeroizing::new(one.key.as_der().to_vec()),
            many => return Err(PfxError::ManyKeys(many.len())),
        };
        let certificates: Vec<&[u8]> = archive.certs.iter().map(|bag| bag.cert.as_der()).collect();
        Pfx::assemble(key, &certificates)
    }

    fn assemble(key: Zeroizing<Vec<u8>>, certificates: &[&[u8]]) -> Result<Pfx, PfxError> {
        let public_key = public_key_of(&key).ok_or(PfxError::UnsupportedKey)?;
        let parsed: Vec<(&[u8], X509Certificate<'_>)> = certificates
            .iter()
            .map(|der| parse_x509_certificate(der).map(|(_, parsed)| (*der, parsed)))
            .collect::<Result<_, _>>()
            .map_err(|_| PfxError::Damaged)?;
        let fits = |certificate: &X509Certificate<'_>| {
            *certificate.public_key().subject_public_key.data == *public_key
        };
        let leaf = parsed.iter().position(|(_, certificate)| fits(certificate));
        let leaf = leaf.ok_or(PfxError::NoCertificate)?;
        let validity = parsed[leaf].1.validity();
        Ok(Pfx {
            chain: chain_from(leaf, &parsed),
            key,
            subject: name::text_of(parsed[leaf].1.subject()),
            begins_at: timestamp(validity.not_before),
            ends_at: timestamp(validity.not_after),
            expires_at: rfc3339(validity.not_after),
        })
    }

    /// The SHA-1 of the certificate in upper-case hexadecimal: the thumbprint of Windows and Azure.
    pub fn thumbprint(&self) -> String {
        let hash = digest(&SHA1_FOR_LEGACY_USE_ONLY, &self.chain[0]);
        hash.as_ref().iter().map(|byte| format!("{byte:02X}")).collect()
    }

    /// The end of its validity, like `2021-01-01T07:00:00Z`.
    pub fn expires_at(&self) -> &str {
        &self.expires_at
    }

    /// The subject, like `CN=May14SchedulerMgmt`.
    pub fn subject(&self) -> &str {
        &self.subject
    }

    /// The certificates as DER: the leaf first, each followed by its issuer as far as the file has them.
    pub fn chain_der(&self) -> &[Vec<u8>] {
        &self.chain
    }

    /// The private key as PKCS#8 DER.
    pub fn key_der(&self) -> &[u8] {
        &self.key
    }

    /// Whether the certificate is valid at this time.
    pub fn check_validity(&self, now: Timestamp) -> Result<(), PfxError> {
        if now > self.ends_at {
            Err(PfxError::Expired { at: self.expires_at.clone() })
        } else if now < self.begins_at {
            let at = ASN1Time::from_timestamp(self.begins_at.0 / 1000);
            Err(PfxError::NotYetValid { at: at.map(rfc3339).unwrap_or_default() })
        } else {
            Ok(())
        }
    }
}

/// The leaf and its issuers, by name: the peer decides whether to trust them.
fn chain_from(leaf: usize, parsed: &[(&[u8], X509Certificate<'_>)]) -> Vec<Vec<u8>> {
    let mut order = vec![leaf];
    loop {
        let last = &parsed[order[order.len() - 1]].1;
        let is_issuer = |index: &usize| {
            let certificate = &parsed[*index].1;
            certificate.subject().as_raw() == last.issuer().as_raw() && !order.contains(index)
        };
        match (0..parsed.len()).find(is_issuer) {
            Some(issuer) => order.push(issuer),
            None => return order.into_iter().map(|index| parsed[index].0.to_vec()).collect(),
        }
    }
}

/// The public half of a key that TLS can sign with here; `None` for others.
fn public_key_of(key: &[u8]) -> Option<Vec<u8>> {
    if let Ok(pair) = RsaKeyPair::from_pkcs8(key) {
        return Some(pair.public_key().as_ref().to_vec());
    }
    for curve in [&ECDSA_P256_SHA256_ASN1_SIGNING, &ECDSA_P384_SHA384_ASN1_SIGNING] {
        if let Ok(pair) = EcdsaKeyPair::from_pkcs8(curve, key, &SystemRandom::new()) {
            return Some(pair.public_key().as_ref().to_vec());
        }
    }
    let pair = Ed25519KeyPair::from_pkcs8_maybe_unchecked(key).ok()?;
    Some(pair.public_key().as_ref().to_vec())
}

fn reason(error: &Error) -> PfxError {
    match error {
        // Without a MAC, a wrong password shows as garbage after decryption.
        Error::MacError(_) | Error::UnpadError | Error::Pkcs5Error(_) => PfxError::WrongPassword,
        Error::UnsupportedEncryptionScheme | Error::UnsupportedMacAlgorithm | Error::InvalidParameters => {
            PfxError::UnsupportedEncryption
        }
        Error::InvalidPrivateKey => PfxError::UnsupportedKey,
        Error::IoError(_)
        | Error::DerError(_)
        | Error::InvalidVersion
        | Error::UnsupportedContentType
        | Error::UnsupportedCertificateType
        | Error::X509Error(_)
        | Error::InvalidLength
        | Error::InvalidData => PfxError::Damaged,
    }
}

fn timestamp(time: ASN1Time) -> Timestamp {
    Timestamp(time.timestamp().saturating_mul(1000))
}

fn rfc3339(time: ASN1Time) -> String {
    let time = time.to_datetime();
    format!(
        "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z",
        time.year(),
        u8::from(time.month()),
        time.day(),
        time.hour(),
        time.minute(),
        time.second()
    )
}

impl std::fmt::Debug for Pfx {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Pfx({}, expires {})", self.subject, self.expires_at)
    }
}
