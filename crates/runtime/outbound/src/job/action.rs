//! A job's action, from its stored JSON to what can be carried out. Secrets stay sealed here.

use std::borrow::Cow;
use std::collections::BTreeMap;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use schedule::{ActionTarget, ActionType};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::job::ActionPart;

/// What is to be done.
#[derive(Debug)]
pub(super) enum Action {
    Http(HttpAction),
    Workflow(WorkflowAction),
    Message(Box<MessageAction>),
}

#[derive(Debug)]
pub(super) struct HttpAction {
    pub(super) uri: String,
    pub(super) method: Method,
    pub(super) headers: HeaderMap,
    pub(super) body: Option<Bytes>,
    pub(super) authentication: Authentication,
}

/// How the action signs in at its target. `sealed_…` members are text for the vault.
#[derive(Debug, PartialEq)]
pub(super) enum Authentication {
    None,
    Basic { username: String, sealed_password: String },
    ClientCertificate { sealed_pfx: String, sealed_password: Option<String> },
    ActiveDirectoryOAuth { tenant: String, audience: String, client_id: String, sealed_secret: String },
}

#[derive(Debug)]
pub(super) struct WorkflowAction {
    pub(super) name: String,
    pub(super) id: Option<String>,
    pub(super) body: Bytes,
}

/// A message to be sent. Its secrets are text for the vault.
#[derive(Debug)]
pub(super) struct MessageAction {
    pub(super) kind: ActionType,
    pub(super) target: ActionTarget,
}

/// Why an action cannot be carried out. It names members, never their values.
#[derive(Debug, PartialEq, thiserror::Error)]
pub(super) enum ActionError {
    #[error("its stored form is damaged at line {line}, column {column}")]
    Malformed { line: usize, column: usize },
    #[error("the job has no errorAction")]
    NoErrorAction,
    #[error("its type is not known")]
    UnknownType,
    #[error("it has no {0:?}")]
    Missing(&'static str),
    #[error("its method is not an HTTP method")]
    BadMethod,
    #[error("its header {0:?} cannot be sent")]
    BadHeader(String),
    #[error("its authentication type is not known")]
    UnknownAuthentication,
}

/// The members of a stored action, each as its own text.
type StoredMembers<'a> = BTreeMap<Cow<'a, str>, &'a RawValue>;

#[derive(Deserialize)]
struct StoredType {
    r#type: String,
}

#[derive(Deserialize)]
struct StoredRequest {
    uri: String,
    method: String,
    headers: Option<BTreeMap<String, String>>,
    body: Option<String>,
    authentication: Option<StoredAuthentication>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct StoredAuthentication {
    r#type: String,
    username: Option<String>,
    password: Option<String>,
    pfx: Option<String>,
    tenant: Option<String>,
    audience: Option<String>,
    client_id: Option<String>,
    secret: Option<String>,
}

#[derive(Deserialize)]
struct StoredWorkflow {
    name: String,
    id: Option<String>,
    body: Option<Box<RawValue>>,
}

impl Action {
    pub(super) fn parse(json: &str, part: ActionPart) -> Result<Action, ActionError> {
        let mut members = json;
        if part == ActionPart::Error {
            let action: StoredMembers<'_> = read(json, json)?;
            members = action.get("errorAction").ok_or(ActionError::NoErrorAction)?.get();
        }
        let StoredType { r#type } = read(json, members)?;
        let kind = ActionType::read(&r#type).ok_or(ActionError::UnknownType)?;
        let members: StoredMembers<'_> = read(json, members)?;
        let target = members.get(kind.target()).ok_or(ActionError::Missing(kind.target()))?.get();
        match kind {
            ActionType::Http | ActionType::Https => http_action(read(json, target)?).map(Action::Http),
            ActionType::Workflow => Ok(Action::Workflow(workflow_action(read(json, target)?))),
            kind => {
                let damaged = |error| damaged(json, target, &error);
                let target = ActionTarget::from_stored(kind, read(json, target)?).map_err(damaged)?;
                Ok(Action::Message(Box::new(MessageAction { kind, target })))
            }
        }
    }
}

/// Reads a part of the stored text.
fn read<'a, T: Deserialize<'a>>(json: &str, part: &'a str) -> Result<T, ActionError> {
    serde_json::from_str(part).map_err(|error| damaged(json, part, &error))
}

/// Where the stored text is damaged: the position within `part`, moved by where the part begins on its line.
fn damaged(json: &str, part: &str, error: &serde_json::Error) -> ActionError {
    let before = &json[..(part.as_ptr() as usize).saturating_sub(json.as_ptr() as usize).min(json.len())];
    let lines = before.matches('\n').count();
    let columns = before.rsplit('\n').next().map_or(0, str::len);
    let column = if error.line() == 1 { error.column() + columns } else { error.column() };
    ActionError::Malformed { line: error.line() + lines, column }
}

fn http_action(stored: StoredRequest) -> Result<HttpAction, ActionError> {
    // CONNECT asks a proxy for a tunnel; it is not a call.
    let method = Method::from_bytes(stored.method.to_ascii_uppercase().as_bytes());
    let method = method.ok().filter(|method| *method != Method::CONNECT).ok_or(ActionError::BadMethod)?;
    let mut headers = HeaderMap::new();
    for (name, value) in stored.headers.unwrap_or_default() {
        let parsed = (HeaderName::try_from(&name), HeaderValue::try_from(&value));
        let (Ok(parsed_name), Ok(value)) = parsed else { return Err(ActionError::BadHeader(name)) };
        headers.append(parsed_name, value);
    }
    Ok(HttpAction {
        uri: stored.uri,
        method,
        headers,
        body: stored.body.map(Bytes::from),
        authentication: stored.authentication.map_or(Ok(Authentication::None), authentication)?,
    })
}

fn authentication(stored: StoredAuthentication) -> Result<Authentication, ActionError> {
    let needed = |value: Option<String>, name| value.ok_or(ActionError::Missing(name));
    Ok(match stored.r#type.to_ascii_lowercase().as_str() {
        "notspecified" => Authentication::None,
        "basic" => Authentication::Basic {
            username: stored.username.unwrap_or_default(),
            sealed_password: needed(stored.password, "password")?,
        },
        "clientcertificate" => Authentication::ClientCertificate {
            sealed_pfx: needed(stored.pfx, "pfx")?,
            sealed_password: stored.password,
        },
        "activedirectoryoauth" => Authentication::ActiveDirectoryOAuth {
            tenant: needed(stored.tenant, "tenant")?,
            audience: needed(stored.audience, "audience")?,
            client_id: needed(stored.client_id, "clientId")?,
            sealed_secret: needed(stored.secret, "secret")?,
        },
        _ => return Err(ActionError::UnknownAuthentication),
    })
}

fn workflow_action(stored: StoredWorkflow) -> WorkflowAction {
    let body = stored.body.map_or(Bytes::from_static(b"null"), |body| Bytes::from(body.get().to_owned()));
    WorkflowAction { name: stored.name, id: stored.id, body }
}

#[cfg(test)]
mod tests;
