//! The settings of a server as the API shows them: the values that apply, and never a secret.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::ApiSchema;

/// The settings that apply. Each instance has its own.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ApiSchema)]
#[schema(name = "SettingsInForce")]
pub struct SettingsView {
    /// The version of the program.
    pub version: String,
    /// The file that they were read from; absent when there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    pub settings: Vec<SettingView>,
    /// Who may come in, by name; told to administrators alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<Vec<TokenView>>,
}

/// One setting.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ApiSchema)]
#[schema(name = "Setting")]
pub struct SettingView {
    /// As in the file, like `limits.calls_max`.
    pub key: String,
    /// The variable that overrides the file; absent where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variable: Option<String>,
    /// Of a secret, only whether it is set.
    pub value: Value,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub secret: bool,
    /// Whether somebody has set it to something else than the default.
    pub changed: bool,
}

/// A token without what it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ApiSchema)]
#[schema(name = "SettingToken")]
pub struct TokenView {
    pub name: String,
    /// viewer, ingest, consumer, operator, editor or admin
    pub role: String,
}
