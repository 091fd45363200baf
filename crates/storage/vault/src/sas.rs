//! Shared access signatures of Service Bus: a right to one resource, for a time, under a named key.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::hmac;
use types::Timestamp;

use crate::secret::Secret;

const SCHEME: &str = "SharedAccessSignature";

/// The longest token in bytes; real ones have some hundreds.
const TOKEN_BYTES_MAX: usize = 8 * 1024;

/// Makes the value of an `Authorization` header. `resource` is a URL; the token covers the paths below it, too.
pub fn sign_sas(resource: &str, key_name: &str, key: &Secret, expires_at: Timestamp) -> Secret {
    let resource = percent_encoded(resource);
    let expiry = expires_at.0.div_euclid(1000).to_string();
    let tag = hmac::sign(&signing_key(key), signed_text(&resource, &expiry).as_bytes());
    let signature = percent_encoded(&STANDARD.encode(tag.as_ref()));
    let key_name = percent_encoded(key_name);
    Secret::new(format!("{SCHEME} sr={resource}&sig={signature}&se={expiry}&skn={key_name}"))
}

/// A token that a client presents. Nothing in it may be trusted before [`SasToken::verify`] succeeds.
pub struct SasToken<'t> {
    /// As spelled in the token: the signature covers this spelling.
    encoded_resource: &'t str,
    expiry: &'t str,
    resource: String,
    key_name: String,
    signature: Vec<u8>,
    expires_at_secs: i64,
}

/// Why a token is invalid. It never quotes the token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SasError {
    #[error("the token is not of the form 'SharedAccessSignature sr=…&sig=…&se=…&skn=…'")]
    Malformed,
    #[error("the token's signature does not fit its key")]
    WrongSignature,
    #[error("the token has expired")]
    Expired,
}

impl<'t> SasToken<'t> {
    /// Parses a token; each part must be there once, in any order.
    pub fn parse(text: &'t str) -> Result<SasToken<'t>, SasError> {
        if text.len() > TOKEN_BYTES_MAX {
            return Err(SasError::Malformed);
        }
        let (scheme, parts) = text.trim().split_once(' ').ok_or(SasError::Malformed)?;
        if !scheme.eq_ignore_ascii_case(SCHEME) {
            return Err(SasError::Malformed);
        }
        let [mut resource, mut signature, mut expiry, mut key_name] = [None; 4];
        for part in parts.trim().split('&') {
            let (name, value) = part.split_once('=').ok_or(SasError::Malformed)?;
            let place = match name {
                "sr" => &mut resource,
                "sig" => &mut signature,
                "se" => &mut expiry,
                "skn" => &mut key_name,
                _ => return Err(SasError::Malformed),
            };
            if place.replace(value).is_some() {
                return Err(SasError::Malformed);
            }
        }
        let needed = |value: Option<&'t str>| value.ok_or(SasError::Malformed);
        let (encoded_resource, expiry) = (needed(resource)?, needed(expiry)?);
        let decoded = |text: &str| percent_decoded(text).ok_or(SasError::Malformed);
        let signature = STANDARD.decode(decoded(needed(signature)?)?).map_err(|_| SasError::Malformed)?;
        if expiry.is_empty() || !expiry.bytes().all(|b| b.is_ascii_digit()) {
            return Err(SasError::Malformed);
        }
        Ok(SasToken {
            encoded_resource,
            expiry,
            resource: decoded(encoded_resource)?,
            key_name: decoded(needed(key_name)?)?,
            signature,
            expires_at_secs: expiry.parse().map_err(|_| SasError::Malformed)?,
        })
    }

    /// The name of the key that it claims to be signed with.
    pub fn key_name(&self) -> &str {
        &self.key_name
    }

    /// Whether the key has signed it and it has not expired.
    pub fn verify(&self, key: &Secret, now: Timestamp) -> Result<(), SasError> {
        let text = signed_text(self.encoded_resource, self.expiry);
        // ring compares in constant time.
        hmac::verify(&signing_key(key), text.as_bytes(), &self.signature)
            .map_err(|_| SasError::WrongSignature)?;
        let expires_at = Timestamp(self.expires_at_secs.saturating_mul(1000));
        if now >= expires_at { Err(SasError::Expired) } else { Ok(()) }
    }

    /// Whether `path`, like `/orders/messages`, is at or below the resource, on whatever host that is: a
    /// server has more names than it knows of, and only this server has the key.
    pub fn covers(&self, path: &str) -> bool {
        let granted = match self.resource.split_once("://") {
            Some((_, rest)) => rest.split_once('/').map_or("", |(_, path)| path),
            // Without a scheme it is a path, not a URL, and grants that alone.
            None => self.resource.trim_start_matches('/'),
        };
        let granted = granted.trim_end_matches('/');
        let wanted = path.trim_start_matches('/');
        let begins = wanted.get(..granted.len()).is_some_and(|start| start.eq_ignore_ascii_case(granted));
        begins && (granted.is_empty() || matches!(wanted.as_bytes().get(granted.len()), None | Some(b'/')))
    }
}

impl std::fmt::Debug for SasToken<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SasToken").field("key_name", &self.key_name).finish_non_exhaustive()
    }
}

/// Service Bus uses the text of a key itself, not its decoded base64.
fn signing_key(key: &Secret) -> hmac::Key {
    hmac::Key::new(hmac::HMAC_SHA256, key.expose().as_bytes())
}

fn signed_text(encoded_resource: &str, expiry: &str) -> String {
    format!("{encoded_resource}\n{expiry}")
}

fn percent_encoded(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len() * 2);
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => encoded.push(byte.into()),
            _ => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}

fn percent_decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        rest = tail;
        match first {
            b'%' => {
                let digits = rest.get(..2).filter(|digits| digits.iter().all(u8::is_ascii_hexdigit))?;
                let digits = std::str::from_utf8(digits).expect("hexadecimal digits are text");
                bytes.push(u8::from_str_radix(digits, 16).expect("two hexadecimal digits are a byte"));
                rest = &rest[2..];
            }
            b'+' => bytes.push(b' '),
            byte => bytes.push(*byte),
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests;
