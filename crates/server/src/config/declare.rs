//! How settings are declared: one line for each, from which parsing, defaults, variables, `GET /v1/settings` and the
//! reference page follow. For example:
//!
//!     settings! {
//!         /// How the journal is written.
//!         pub struct JournalConfig {
//!             /// The size of a segment file.
//!             segment_bytes: u64 = 64 << 20, bytes;
//!         }
//!     }
//!
//! The doc comment is the text of the reference page. After the default (that of the type if none is given) stands what
//! may be shown of the value; there is no default for that, so a new secret cannot be shown by accident:
//!
//! | | what is shown |
//! |---|---|
//! | `shown` | the value |
//! | `bytes` | the value; the reference page also has it in MiB |
//! | `url` | addresses without their user, password and query |
//! | `secret` | whether it is set; a variable's value is taken as text, even where it looks like a number |
//! | `section` | a table of further settings |
//! | `entries` | named tables, or a list of them; `NAME` stands for a name in their keys |
//!
//! `default "text"` is for defaults that follow from something else.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;

use serde_json::{Value, json};
use types::Span;

use super::SyncMode;
use super::cluster::InstanceRole;

/// One setting, with its value in a configuration.
#[derive(Debug, Clone, PartialEq)]
pub struct Setting {
    /// Dotted; `NAME` stands for any name.
    pub key: String,
    /// The doc comment of its declaration.
    pub meaning: String,
    pub visibility: Visibility,
    /// What may be shown of its value; `None` for settings of entries, of which there may be none or many.
    pub value: Option<Value>,
    /// How the default is described when it is not a value.
    default_text: Option<&'static str>,
}

/// What may be shown of a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Visibility {
    Shown,
    Bytes,
    Url,
    /// Only whether it is set.
    Secret {
        /// Whether the value of a variable is taken as it is.
        is_text: bool,
    },
}

impl Setting {
    pub(super) fn new(
        key: String,
        meaning: &str,
        visibility: Visibility,
        value: Option<Value>,
        default_text: Option<&'static str>,
    ) -> Setting {
        let meaning = meaning.trim().to_owned();
        let value = match visibility {
            Visibility::Url => value.map(without_logins),
            Visibility::Shown | Visibility::Bytes | Visibility::Secret { .. } => value,
        };
        Setting { key, meaning, visibility, value, default_text }
    }

    pub fn is_secret(&self) -> bool {
        matches!(self.visibility, Visibility::Secret { .. })
    }

    /// The default in Markdown, for a setting of the default configuration.
    pub fn default(&self) -> String {
        let value = match (self.default_text, &self.value) {
            (Some(text), _) => return text.to_owned(),
            (None, None) => return String::new(),
            (None, Some(value)) => value,
        };
        match value {
            Value::Null => "none".to_owned(),
            Value::Array(items) if items.is_empty() => "none".to_owned(),
            Value::Bool(false) if self.is_secret() => "none".to_owned(),
            Value::String(text) => format!("`{text}`"),
            Value::Number(count) => match (self.visibility, count.as_u64().and_then(binary_unit)) {
                (Visibility::Bytes, Some(size)) => format!("`{count}` ({size})"),
                _ => format!("`{count}`"),
            },
            value => format!("`{value}`"),
        }
    }
}

/// `64 MiB` for a number of bytes that is a multiple of it.
fn binary_unit(count: u64) -> Option<String> {
    let unit = |shift: u32, name: &str| {
        count.is_multiple_of(1 << shift).then(|| format!("{} {name}", count >> shift))
    };
    unit(30, "GiB").or_else(|| unit(20, "MiB"))
}

/// Settings that can be listed.
pub(crate) trait Declared {
    /// Appends every setting under `prefix`, with its value in `this` if there is one.
    fn list(this: Option<&Self>, prefix: &str, into: &mut Vec<Setting>);
}

/// Tables that users name, or write as a list.
pub(crate) trait Entries {
    type Entry: Declared;
    /// What follows the name of the section in a key.
    const PREFIX: &'static str;
}

impl<T: Declared> Entries for BTreeMap<String, T> {
    type Entry = T;
    const PREFIX: &'static str = ".NAME.";
}

impl<T: Declared> Entries for Vec<T> {
    type Entry = T;
    const PREFIX: &'static str = ".";
}

/// A value that is or is not given.
pub(crate) trait SecretValue {
    const IS_TEXT: bool;
    fn is_set(&self) -> bool;
}

impl SecretValue for Option<String> {
    const IS_TEXT: bool = true;

    fn is_set(&self) -> bool {
        self.is_some()
    }
}

impl SecretValue for Vec<String> {
    const IS_TEXT: bool = false;

    fn is_set(&self) -> bool {
        !self.is_empty()
    }
}

/// A value as the API shows it.
pub(crate) trait SettingValue {
    fn to_json(&self) -> Value;
}

macro_rules! shown_as {
    ($($type:ty => |$value:ident| $json:expr;)*) => {
        $(impl SettingValue for $type {
            fn to_json(&self) -> Value {
                let $value = self;
                json!($json)
            }
        })*
    };
}

shown_as! {
    bool => |value| value;
    u16 => |value| value;
    u32 => |value| value;
    u64 => |value| value;
    usize => |value| value;
    String => |value| value;
    PathBuf => |value| value.display().to_string();
    SocketAddr => |value| value.to_string();
    Span => |value| value.to_string();
    SyncMode => |value| value.name();
    InstanceRole => |value| value.name();
}

impl<T: SettingValue> SettingValue for Option<T> {
    fn to_json(&self) -> Value {
        self.as_ref().map_or(Value::Null, SettingValue::to_json)
    }
}

impl<T: SettingValue> SettingValue for Vec<T> {
    fn to_json(&self) -> Value {
        self.iter().map(SettingValue::to_json).collect()
    }
}

/// Addresses without who signs in there, and without what may stand in their queries.
fn without_logins(value: Value) -> Value {
    match value {
        Value::String(url) => Value::String(without_login(&url)),
        Value::Array(urls) => urls.into_iter().map(without_logins).collect(),
        other => other,
    }
}

fn without_login(url: &str) -> String {
    let url = url.split(['?', '#']).next().unwrap_or_default();
    let Some((scheme, rest)) = url.split_once("://") else {
        // Addresses of NATS may be given without a scheme.
        return url.rsplit_once('@').map_or(url, |(_, host)| host).to_owned();
    };
    let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    format!("{scheme}://{host}{path}")
}

/// Declares a section of settings; see the documentation of this module.
macro_rules! settings {
    (
        $(#[doc = $about:literal])*
        pub struct $name:ident {
            $(
                $(#[doc = $doc:literal])*
                $field:ident: $type:ty $(= $default:expr)?, $display:ident $(, default $text:literal)?;
            )*
        }
        $(not settings {
            $($(#[doc = $other_doc:literal])* $other:ident: $other_type:ty;)*
        })?
    ) => {
        $(#[doc = $about])*
        #[derive(Clone, serde::Deserialize)]
        #[serde(deny_unknown_fields, default)]
        pub struct $name {
            $($(#[doc = $doc])* pub $field: $type,)*
            $($($(#[doc = $other_doc])* #[serde(skip)] pub $other: $other_type,)*)?
        }

        impl Default for $name {
            fn default() -> $name {
                $name {
                    $($field: settings!(@default $($default)?),)*
                    $($($other: Default::default(),)*)?
                }
            }
        }

        settings!(@list $name { $($(#[doc = $doc])* $field: $type, $display $(, default $text)?;)* });
    };
    (
        $(#[doc = $about:literal])*
        pub entry $name:ident {
            $(
                $(#[doc = $doc:literal])*
                $field:ident: $type:ty, $display:ident $(, default $text:literal)?;
            )*
        }
    ) => {
        $(#[doc = $about])*
        #[derive(Clone, serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct $name {
            $($(#[doc = $doc])* pub $field: $type,)*
        }

        settings!(@list $name { $($(#[doc = $doc])* $field: $type, $display $(, default $text)?;)* });
    };
    (@list $name:ident {
        $(
            $(#[doc = $doc:literal])*
            $field:ident: $type:ty, $display:ident $(, default $text:literal)?;
        )*
    }) => {
        impl $crate::config::declare::Declared for $name {
            fn list(
                this: Option<&Self>,
                prefix: &str,
                into: &mut Vec<$crate::config::declare::Setting>,
            ) {
                $(settings!(
                    @append $display, this.map(|this| &this.$field), $type,
                    format!("{prefix}{}", stringify!($field)), concat!($($doc),*), into, [$($text)?]
                );)*
            }
        }

        /// Secrets stay out of it.
        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_struct(stringify!($name))
                    $(.field(stringify!($field), settings!(@debug $display, &self.$field)))*
                    .finish_non_exhaustive()
            }
        }
    };

    (@default) => { Default::default() };
    (@default $default:expr) => { $default };

    (@text) => { None };
    (@text $text:literal) => { Some($text) };

    (@debug secret, $value:expr) => { &$crate::config::declare::SecretValue::is_set($value) };
    (@debug $display:ident, $value:expr) => { $value };

    (@append section, $value:expr, $type:ty, $key:expr, $doc:expr, $into:ident, []) => {
        <$type as $crate::config::declare::Declared>::list($value, &format!("{}.", $key), $into)
    };
    (@append entries, $value:expr, $type:ty, $key:expr, $doc:expr, $into:ident, []) => {{
        use $crate::config::declare::Entries;
        let prefix = format!("{}{}", $key, <$type as Entries>::PREFIX);
        <<$type as Entries>::Entry as $crate::config::declare::Declared>::list(None, &prefix, $into);
    }};
    (@append secret, $value:expr, $type:ty, $key:expr, $doc:expr, $into:ident, [$($text:literal)?]) => {{
        use $crate::config::declare::{SecretValue, Setting, Visibility};
        let visibility = Visibility::Secret { is_text: <$type as SecretValue>::IS_TEXT };
        let is_set = $value.map(|value| SecretValue::is_set(value).into());
        $into.push(Setting::new($key, $doc, visibility, is_set, settings!(@text $($text)?)));
    }};
    (@append $display:ident, $value:expr, $type:ty, $key:expr, $doc:expr, $into:ident, [$($text:literal)?]) => {{
        use $crate::config::declare::{Setting, SettingValue};
        let value = $value.map(SettingValue::to_json);
        $into.push(Setting::new($key, $doc, settings!(@display $display), value, settings!(@text $($text)?)));
    }};

    (@display shown) => { $crate::config::declare::Visibility::Shown };
    (@display bytes) => { $crate::config::declare::Visibility::Bytes };
    (@display url) => { $crate::config::declare::Visibility::Url };
}
pub(crate) use settings;

#[cfg(test)]
mod tests;
