//! The call of a step as people may see it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::ApiSchema;
use crate::schema::{ApiObject, Components, ObjectSchema};

/// What a step sends, rendered from the run as it is for sending. Secrets are masked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ApiSchema)]
#[schema(name = "Call")]
pub struct CallView {
    pub step: String,
    /// do, alternative or undo
    #[schema(one_of("do", "alternative", "undo"))]
    pub work: String,
    /// The works that the workflow declares for the step.
    pub works: Vec<String>,
    pub attempt: u32,
    pub idempotency_key: String,
    #[serde(flatten)]
    pub sent: SentView,
}

/// What is sent, or why nothing can be.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SentView {
    Http(HttpView),
    Message(SentMessageView),
    /// A job that starts a workflow.
    Start {
        workflow: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        id: Option<String>,
        body: String,
    },
    /// Why it cannot be made of the run as it stands.
    Problem(String),
}

impl ApiObject for SentView {
    fn members(object: &mut ObjectSchema, components: &mut Components) {
        object.member("http", false, HttpView::schema(components), "", &[]);
        object.member("message", false, SentMessageView::schema(components), "", &[]);
        let start = components.named::<SentView>("CallStart", |components| {
            let mut start = ObjectSchema::new("A job that starts a workflow.");
            for (name, required) in [("workflow", true), ("id", false), ("body", true)] {
                start.member(name, required, String::schema(components), "", &[]);
            }
            start.finish()
        });
        object.member("start", false, start, "", &[]);
        let problem = "Why it cannot be rendered from the run as it is.";
        object.member("problem", false, String::schema(components), problem, &[]);
    }
}

/// An HTTP call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ApiSchema)]
#[schema(name = "HttpCall")]
pub struct HttpView {
    pub method: String,
    pub url: String,
    pub headers: Vec<HeaderView>,
    /// The body when it is text, else `body_base64`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body_base64: Option<String>,
    pub timeout_ms: u64,
    /// Whether a client certificate is shown.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub certificate: bool,
}

/// One header.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ApiSchema)]
#[schema(name = "Header")]
pub struct HeaderView {
    pub name: String,
    pub value: String,
}

/// A message to a queue, a topic or a broker.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ApiSchema)]
#[schema(name = "CallMessage")]
pub struct SentMessageView {
    /// Where it goes, like `queue orders`.
    pub to: String,
    /// The address of the broker; absent for queues and topics of Sortie itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    pub message_id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_type: Option<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub properties: BTreeMap<String, Value>,
    /// The body when it is text, else `body_base64`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body_base64: Option<String>,
}
