//! Who may do what: tokens with roles, and one table of what each role may.

use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;
use types::Timestamp;
use vault::{SasError, SasToken, Secret};

/// What a request needs to be allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Permission {
    /// See runs, workflows, partitions, metrics.
    Read,
    /// Hand in requests, and send messages.
    Ingest,
    /// Receive messages and settle them.
    Receive,
    /// Cancel runs, decide on parked ones, redrive and purge messages.
    Operate,
    /// Change workflows, jobs and queues.
    Edit,
    /// Decide which region is active.
    Administer,
}

/// What a token is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    Viewer,
    Ingest,
    Consumer,
    Operator,
    Editor,
    Admin,
}

impl Role {
    pub fn parse(text: &str) -> Option<Role> {
        match text {
            "viewer" => Some(Role::Viewer),
            "ingest" => Some(Role::Ingest),
            "consumer" => Some(Role::Consumer),
            "operator" => Some(Role::Operator),
            "editor" => Some(Role::Editor),
            "admin" => Some(Role::Admin),
            _ => None,
        }
    }

    fn may(self, permission: Permission) -> bool {
        match permission {
            Permission::Read => !matches!(self, Role::Ingest | Role::Consumer),
            Permission::Ingest => !matches!(self, Role::Viewer | Role::Consumer),
            Permission::Receive => !matches!(self, Role::Viewer | Role::Ingest),
            Permission::Operate => matches!(self, Role::Operator | Role::Editor | Role::Admin),
            Permission::Edit => matches!(self, Role::Editor | Role::Admin),
            Permission::Administer => self == Role::Admin,
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

/// A key that shared access signatures are made with, for queues and topics alone.
#[derive(Debug, Clone)]
pub struct SharedKey {
    pub name: String,
    pub key: Secret,
    pub rights: Vec<Right>,
    /// Only this queue or topic, in lower case.
    pub queue: Option<String>,
}

/// What a shared key allows, in the words of Service Bus.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Right {
    Send,
    Listen,
    /// All of it.
    Manage,
}

impl Right {
    pub fn parse(text: &str) -> Option<Right> {
        match text.to_ascii_lowercase().as_str() {
            "send" => Some(Right::Send),
            "listen" => Some(Right::Listen),
            "manage" => Some(Right::Manage),
            _ => None,
        }
    }

    fn may(self, permission: Permission) -> bool {
        match self {
            Right::Send => permission == Permission::Ingest,
            Right::Listen => permission == Permission::Receive,
            Right::Manage => true,
        }
    }
}

/// Who may come in.
#[derive(Debug, Clone)]
pub enum Access {
    /// Everybody: only for `dev`, on loopback.
    Open,
    Known {
        tokens: Vec<Token>,
        keys: Vec<SharedKey>,
    },
}

/// Why a caller may not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Denied {
    /// No token, or one that is not known.
    Unknown,
    /// The token's role does not allow it.
    Forbidden,
    /// A shared access signature that does not count.
    Signature(SasError),
    /// A signature that is for another queue or topic.
    Elsewhere,
    /// Without tokens, only clients on this machine may call, not a web page of another site.
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
        let Access::Known { tokens, .. } = self else { return Ok("dev") };
        let secret = authorization.and_then(|header| {
            let (scheme, secret) = header.split_once(' ')?;
            scheme.eq_ignore_ascii_case("bearer").then_some(secret.trim())
        });
        let sha256: [u8; 32] = Sha256::digest(secret.ok_or(Denied::Unknown)?).into();
        let token = tokens.iter().find(|token| bool::from(token.sha256.ct_eq(&sha256)));
        let token = token.ok_or(Denied::Unknown)?;
        if token.role.may(permission) { Ok(&token.name) } else { Err(Denied::Forbidden) }
    }

    /// Whether a caller is known by its token or signature, whatever it permits.
    pub(crate) fn recognises(&self, authorization: Option<&str>, now: Timestamp) -> bool {
        let Access::Known { keys, .. } = self else { return true };
        match authorization.map(SasToken::parse) {
            Some(Ok(token)) => {
                let key = keys.iter().find(|key| key.name == token.key_name());
                key.is_some_and(|key| token.verify(&key.key, now).is_ok())
            }
            _ => self.check(authorization, Permission::Read) != Err(Denied::Unknown),
        }
    }

    /// The same for a queue or topic, where a shared access signature will do as well. `path` is what it must be for.
    pub(crate) fn check_queue(
        &self,
        authorization: Option<&str>,
        permission: Permission,
        path: &str,
        now: Timestamp,
    ) -> Result<&str, Denied> {
        let signed = authorization.filter(|header| {
            header
                .split(' ')
                .next()
                .is_some_and(|scheme| scheme.eq_ignore_ascii_case("SharedAccessSignature"))
        });
        let (Some(signed), Access::Known { keys, .. }) = (signed, self) else {
            return self.check(authorization, permission);
        };
        let token = SasToken::parse(signed).map_err(Denied::Signature)?;
        let key = keys.iter().find(|key| key.name == token.key_name());
        // Callers without the key cannot find out whether it exists.
        let key = key.ok_or(Denied::Signature(SasError::WrongSignature))?;
        token.verify(&key.key, now).map_err(Denied::Signature)?;
        let name = path.trim_start_matches('/').split('/').next().unwrap_or_default();
        let meant = key.queue.as_deref().is_none_or(|queue| queue.eq_ignore_ascii_case(name));
        if !meant || !token.covers(path) {
            return Err(Denied::Elsewhere);
        }
        let may = key.rights.iter().any(|right| right.may(permission));
        if may { Ok(&key.name) } else { Err(Denied::Forbidden) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_role_may_what_its_name_says() {
        let all = [
            Permission::Read,
            Permission::Ingest,
            Permission::Receive,
            Permission::Operate,
            Permission::Edit,
        ];
        let may = |role: Role| all.map(|permission| role.may(permission));
        assert_eq!(may(Role::Viewer), [true, false, false, false, false]);
        assert_eq!(may(Role::Ingest), [false, true, false, false, false]);
        assert_eq!(may(Role::Consumer), [false, false, true, false, false]);
        assert_eq!(may(Role::Operator), [true, true, true, true, false]);
        assert_eq!(may(Role::Editor), [true, true, true, true, true]);
        assert_eq!(may(Role::Admin), [true, true, true, true, true]);
    }

    // guards: 55
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
        let tokens = vec![Token::from_sha256("ops", Role::Viewer, hex).unwrap()];
        let access = Access::Known { tokens, keys: Vec::new() };
        assert_eq!(access.check(Some("Bearer test"), Permission::Read), Ok("ops"));
        assert_eq!(access.check(Some("Bearer test"), Permission::Edit), Err(Denied::Forbidden));
        assert_eq!(access.check(Some("Bearer tesu"), Permission::Read), Err(Denied::Unknown));
        assert_eq!(access.check(Some("Basic test"), Permission::Read), Err(Denied::Unknown));
        assert_eq!(access.check(None, Permission::Read), Err(Denied::Unknown));
        assert!(Token::from_sha256("ops", Role::Viewer, "9f86").is_none());
    }
    #[test]
    fn a_signature_opens_what_it_is_for_and_nothing_else() {
        let key = |name: &str, rights: &[Right], queue: Option<&str>| SharedKey {
            name: name.to_owned(),
            key: Secret::new(format!("key of {name}")),
            rights: rights.to_vec(),
            queue: queue.map(str::to_owned),
        };
        let keys = vec![
            key("sender", &[Right::Send], None),
            key("reader", &[Right::Listen], Some("orders")),
            key("root", &[Right::Manage], None),
        ];
        let access = Access::Known { tokens: Vec::new(), keys };
        let now = Timestamp(1_000_000);
        let check = |name: &str, resource: &str, end: i64, permission, path: &str| {
            let key = Secret::new(format!("key of {name}"));
            let token = vault::sign_sas(resource, name, &key, Timestamp(end));
            access.check_queue(Some(token.expose()), permission, path, now).map(str::to_owned)
        };
        let end = 2_000_000;
        let (send, receive) = (Permission::Ingest, Permission::Receive);
        assert_eq!(check("sender", "http://h/orders", end, send, "/orders"), Ok("sender".to_owned()));
        assert_eq!(check("sender", "http://h/", end, send, "/orders"), Ok("sender".to_owned()));
        assert_eq!(check("sender", "sb://other/ORDERS/", end, send, "/orders"), Ok("sender".to_owned()));
        assert_eq!(check("sender", "http://h/orders", end, receive, "/orders"), Err(Denied::Forbidden));
        assert_eq!(check("sender", "http://h/orders", end, send, "/orders-2"), Err(Denied::Elsewhere));
        assert_eq!(check("sender", "http://h/o", end, send, "/orders"), Err(Denied::Elsewhere));
        assert_eq!(check("reader", "http://h", end, receive, "/orders"), Ok("reader".to_owned()));
        assert_eq!(check("reader", "http://h", end, receive, "/parcels"), Err(Denied::Elsewhere));
        for permission in [send, receive, Permission::Operate, Permission::Edit, Permission::Read] {
            assert!(check("root", "http://h", end, permission, "/orders").is_ok());
        }
        assert_eq!(
            check("root", "http://h", 1_000_000, send, "/orders"),
            Err(Denied::Signature(SasError::Expired))
        );
        let wrong = Err(Denied::Signature(SasError::WrongSignature));
        assert_eq!(check("nobody", "http://h", end, send, "/orders"), wrong);
        let forged = vault::sign_sas("http://h", "root", &Secret::new("x".to_owned()), Timestamp(end));
        let forged = access.check_queue(Some(forged.expose()), send, "/orders", now).map(str::to_owned);
        assert_eq!(forged, wrong);
        // It is not a token for anything else.
        let token =
            vault::sign_sas("http://h", "root", &Secret::new("key of root".to_owned()), Timestamp(end));
        assert_eq!(access.check(Some(token.expose()), send), Err(Denied::Unknown));
    }
}
