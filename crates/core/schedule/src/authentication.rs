//! How an http request signs in, and the texts that are never shown.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::date::Date;
use crate::spelling::AuthenticationType;

/// How an http request signs in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "AuthenticationMembers", into = "AuthenticationMembers")]
pub enum Authentication {
    Basic { username: String, password: Secret },
    ClientCertificate { pfx: Secret, password: Secret, facts: Option<CertificateFacts> },
    ActiveDirectoryOAuth { tenant: String, audience: String, client_id: String, secret: Secret },
}

/// What may be shown of a client certificate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CertificateFacts {
    /// SHA-1 of the certificate, in hexadecimal digits and upper case.
    #[serde(rename = "certificateThumbprint")]
    pub thumbprint: String,
    #[serde(rename = "certificateExpiration")]
    pub expiration: Date,
    #[serde(rename = "certificateSubjectName")]
    pub subject_name: String,
}

/// The members of all kinds of authentication, in their order.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct AuthenticationMembers {
    #[serde(skip_serializing_if = "Option::is_none")]
    username: Option<String>,
    #[serde(default, skip_serializing_if = "Secret::is_absent")]
    password: Secret,
    #[serde(default, skip_serializing_if = "Secret::is_absent")]
    pfx: Secret,
    #[serde(default, skip_serializing_if = "Secret::is_absent")]
    secret: Secret,
    #[serde(skip_serializing_if = "Option::is_none")]
    tenant: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    audience: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    client_id: Option<String>,
    #[serde(flatten)]
    facts: Option<CertificateFacts>,
    #[serde(rename = "type")]
    kind: AuthenticationType,
}

/// A text that is never shown: plain when it was just read, sealed once it is stored, absent in answers.
#[derive(Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Secret(Option<String>);

impl Secret {
    pub fn new(text: impl Into<String>) -> Secret {
        Secret(Some(text.into()))
    }

    /// The text, for whoever is about to use it.
    pub fn expose(&self) -> &str {
        self.0.as_deref().unwrap_or_default()
    }

    pub(crate) fn is_absent(&self) -> bool {
        self.0.is_none()
    }

    pub(crate) fn remove(&mut self) {
        self.0 = None;
    }

    pub(crate) fn text_mut(&mut self) -> Option<&mut String> {
        self.0.as_mut()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_absent() { "absent" } else { "secret" })
    }
}

impl TryFrom<AuthenticationMembers> for Authentication {
    type Error = &'static str;

    fn try_from(members: AuthenticationMembers) -> Result<Authentication, &'static str> {
        let missing = "a member that its type requires is missing";
        Ok(match members.kind {
            AuthenticationType::Basic => Authentication::Basic {
                username: members.username.ok_or(missing)?,
                password: members.password,
            },
            AuthenticationType::ClientCertificate => Authentication::ClientCertificate {
                pfx: members.pfx,
                password: members.password,
                facts: members.facts,
            },
            AuthenticationType::ActiveDirectoryOAuth => Authentication::ActiveDirectoryOAuth {
                tenant: members.tenant.ok_or(missing)?,
                audience: members.audience.ok_or(missing)?,
                client_id: members.client_id.ok_or(missing)?,
                secret: members.secret,
            },
            AuthenticationType::NotSpecified => return Err("an authentication has a type"),
        })
    }
}

impl From<Authentication> for AuthenticationMembers {
    fn from(authentication: Authentication) -> AuthenticationMembers {
        let mut members = AuthenticationMembers {
            username: None,
            password: Secret::default(),
            pfx: Secret::default(),
            secret: Secret::default(),
            tenant: None,
            audience: None,
            client_id: None,
            facts: None,
            kind: AuthenticationType::NotSpecified,
        };
        match authentication {
            Authentication::Basic { username, password } => {
                members.kind = AuthenticationType::Basic;
                members.username = Some(username);
                members.password = password;
            }
            Authentication::ClientCertificate { pfx, password, facts } => {
                members.kind = AuthenticationType::ClientCertificate;
                members.pfx = pfx;
                members.password = password;
                members.facts = facts;
            }
            Authentication::ActiveDirectoryOAuth { tenant, audience, client_id, secret } => {
                members.kind = AuthenticationType::ActiveDirectoryOAuth;
                members.tenant = Some(tenant);
                members.audience = Some(audience);
                members.client_id = Some(client_id);
                members.secret = secret;
            }
        }
        members
    }
}
