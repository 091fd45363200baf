//! Who may do what: tokens with roles, and one table of what each role may.

use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

/// What a request needs to be allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Permission {
    /// See runs, workflows, partitions, metrics.
    Read,
    /// Hand in requests.
    Ingest,
    /// Cancel runs and decide on parked ones.
    Operate,
    /// Change workflows.
    Edit,
}

/// What a token is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    Viewer,
    Ingest,
    Operator,
    Editor,
    Admin,
}

impl Role {
    pub fn parse(text: &str) -> Option<Role> {
        match text {
            "viewer" => Some(Role::Viewer),
            "ingest" => Some(Role::Ingest),
            "operator" => Some(Role::Operator),
            "editor" => Some(Role::Editor),
            "admin" => Some(Role::Admin),
            _ => None,
        }
    }

    fn may(self, permission: Permission) -> bool {
        match permission {
            Permission::Read => self != Role::Ingest,
            Permission::Ingest => self != Role::Viewer,
            Permission::Operate => matches!(self, Role::Operator | Role::Editor | Role::Admin),
            Permission::Edit => matches!(self, Role::Editor | Role::Admin),
        }
    }
}

/// A token as the server keeps it: only its SHA-256, so that a stolen configuration opens nothing.
#[derive(Debug, Clone)]
pub struct Token {
    /// Who holds it; stands in the timeline of what they decide.
    pub name: String,
    pub role: Role,
    sha256: [u8; 32],
}

impl Token {
    pub fn from_secret(name: &str, role: Role, secret: &str) -> Token {
        Token { name: name.to_owned(), role, sha256: Sha256::digest(secret).into() }
    }

    /// From the hexadecimal SHA-256 of the secret; none when it is not 64 hexadecimal digits.
    pub fn from_sha256(name: &str, role: Role, hex: &str) -> Option<Token> {
        let mut sha256 = [0; 32];
        if hex.len() != 64 || !hex.is_ascii() {
            return None;
        }
        for (byte, digits) in sha256.iter_mut().zip(hex.as_bytes().chunks(2)) {
            *byte = u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
        }
        Some(Token { name: name.to_owned(), role, sha256 })
    }
}

/// Who may come in.
#[derive(Debug, Clone)]
pub enum Access {
    /// Everybody: only for `dev`, on loopback.
    Open,
    Tokens(Vec<Token>),
}

/// Why somebody may not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Denied {
    /// No token, or one that nobody has.
    Unknown,
    /// The token's role does not allow it.
    Forbidden,
    /// Without tokens, only this machine's own clients may come in: not a web page of somebody else.
    Foreign,
}

/// Whether a request that needs no token comes from a client of this machine: a browser that was sent here by
/// another site names that site as the host or the origin.
pub(crate) fn is_local(host: Option<&str>, origin: Option<&str>) -> bool {
    let local = |name: &str| {
        let port = |port: &str| port.bytes().all(|byte| byte.is_ascii_digit());
        let name = name.rsplit_once(':').filter(|(_, text)| port(text)).map_or(name, |(name, _)| name);
        matches!(name, "localhost" | "127.0.0.1" | "[::1]")
    };
    let origin = origin.map(|origin| origin.strip_prefix("http://").unwrap_or(origin));
    host.is_none_or(local) && origin.is_none_or(local)
}

impl Access {
    /// The name of who asks, if they may.
    pub(crate) fn check(&self, authorization: Option<&str>, permission: Permission) -> Result<&str, Denied> {
        let Access::Tokens(tokens) = self else { return Ok("dev") };
        let secret = authorization.and_then(|header| {
            let (scheme, secret) = header.split_once(' ')?;
            scheme.eq_ignore_ascii_case("bearer").then_some(secret.trim())
        });
        let sha256: [u8; 32] = Sha256::digest(secret.ok_or(Denied::Unknown)?).into();
        let token = tokens.iter().find(|token| bool::from(token.sha256.ct_eq(&sha256)));
        let token = token.ok_or(Denied::Unknown)?;
        if token.role.may(permission) { Ok(&token.name) } else { Err(Denied::Forbidden) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_role_may_what_its_name_says() {
        let all = [Permission::Read, Permission::Ingest, Permission::Operate, Permission::Edit];
        let may = |role: Role| all.map(|permission| role.may(permission));
        assert_eq!(may(Role::Viewer), [true, false, false, false]);
        assert_eq!(may(Role::Ingest), [false, true, false, false]);
        assert_eq!(may(Role::Operator), [true, true, true, false]);
        assert_eq!(may(Role::Editor), [true, true, true, true]);
        assert_eq!(may(Role::Admin), [true, true, true, true]);
    }

    #[test]
    fn a_page_of_another_site_is_not_local() {
        for host in ["localhost:7070", "127.0.0.1", "[::1]:7070", "[::1]"] {
            assert!(is_local(Some(host), None), "{host}");
        }
        assert!(is_local(None, Some("http://localhost:7070")));
        for (host, origin) in [
            ("evil.example", None),
            ("localhost", Some("http://evil.example")),
            ("localhost.evil.example", None),
        ] {
            assert!(!is_local(Some(host), origin), "{host} {origin:?}");
        }
    }

    #[test]
    fn a_token_is_known_by_its_hash_alone() {
        let hex = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";
        let access = Access::Tokens(vec![Token::from_sha256("ops", Role::Viewer, hex).unwrap()]);
        assert_eq!(access.check(Some("Bearer test"), Permission::Read), Ok("ops"));
        assert_eq!(access.check(Some("Bearer test"), Permission::Edit), Err(Denied::Forbidden));
        assert_eq!(access.check(Some("Bearer tesu"), Permission::Read), Err(Denied::Unknown));
        assert_eq!(access.check(Some("Basic test"), Permission::Read), Err(Denied::Unknown));
        assert_eq!(access.check(None, Permission::Read), Err(Denied::Unknown));
        assert!(Token::from_sha256("ops", Role::Viewer, "9f86").is_none());
    }
}
