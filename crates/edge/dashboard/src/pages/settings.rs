//! The active settings, read-only, and where to change them.

use api_types::{SettingView, SettingsView, TokenView};
use maud::{Markup, html};
use serde_json::Value;

use crate::components;
use crate::context::PageContext;
use crate::error::PageError;
use crate::page::{NavSection, Page};

pub(super) async fn show(ctx: &PageContext) -> Result<Page, PageError> {
    let settings: SettingsView = ctx.get("/v1/settings").await?;
    Ok(Page::new("Settings", NavSection::Settings).part(content(&settings)))
}

fn content(settings: &SettingsView) -> Markup {
    html! {
        p {
            "The active settings of this server, version " (settings.version) ". Change them "
            @match &settings.file {
                Some(file) => { "in the file " code { (file) } " on the server" }
                None => { "in a file passed with " code { "sortie serve --config" } " (none is used now)" }
            }
            ", or with environment variables, which take precedence. The server reads them at startup."
        }
        @for (section, rows) in sections(&settings.settings) {
            section aria-label=(section) { h2 { (section) } (table(section, rows)) }
        }
        h2 { "tokens" }
        (tokens(settings.tokens.as_deref()))
    }
}

/// The settings by section, the part before the dot, in order.
fn sections(settings: &[SettingView]) -> Vec<(&str, &[SettingView])> {
    let section = |setting: &SettingView| setting.key.split_once('.').map(|(section, _)| section.len());
    let chunks =
        settings.chunk_by(|a, b| section(a).map(|end| &a.key[..end]) == section(b).map(|end| &b.key[..end]));
    chunks.map(|rows| (rows[0].key.split_once('.').map_or("general", |(section, _)| section), rows)).collect()
}

fn table(section: &str, rows: &[SettingView]) -> Markup {
    html! {
        div.scroll tabindex="0" role="region" aria-label={ "Settings: " (section) } {
            table.settings {
                thead { tr { th { "Setting" } th { "Value" } th { "Environment variable" } } }
                tbody {
                    @for row in rows {
                        tr {
                            td { code { (row.key) } @if row.changed { " " (components::badge("changed")) } }
                            td { (value(row)) }
                            td {
                                @match &row.variable {
                                    Some(variable) => code { (variable) },
                                    None => em { "only in the file" },
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn value(row: &SettingView) -> Markup {
    html! {
        @match (&row.value, row.secret) {
            (Value::Bool(set), true) => em { @if *set { "set, not shown" } @else { "not set" } }
            (Value::Null, _) => em { "not set" },
            (Value::Array(all), _) if all.is_empty() => em { "none" },
            (Value::Array(all), _) => { @for one in all { div { (text(one)) } } }
            (one, _) => (text(one)),
        }
    }
}

fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.as_u64().map_or_else(|| number.to_string(), components::count),
        other => other.to_string(),
    }
}

fn tokens(tokens: Option<&[TokenView]>) -> Markup {
    match tokens {
        None => html! { p.quiet { "Tokens are visible only to administrators." } },
        Some([]) => html! { p { "No tokens are configured: anyone on this machine has full access." } },
        Some(tokens) => html! {
            div.scroll tabindex="0" role="region" aria-label="Tokens" {
                table {
                    thead { tr { th { "Token" } th { "Role" } } }
                    tbody { @for token in tokens { tr { td { (token.name) } td { (token.role) } } } }
                }
            }
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(key: &str, value: Value, secret: bool) -> SettingView {
        SettingView {
            key: key.to_owned(),
            variable: Some("SORTIE_X".to_owned()),
            value,
            secret,
            changed: false,
        }
    }

    #[test]
    fn settings_stand_in_their_sections_and_foreign_text_stays_text() {
        let hostile = "<script>alert(1)</script>";
        let token = TokenView { name: hostile.to_owned(), role: "viewer".to_owned() };
        let settings = SettingsView {
            version: "1".to_owned(),
            file: Some(hostile.to_owned()),
            settings: vec![
                row("data", hostile.into(), false),
                row("listen", Value::Null, false),
                row("limits.calls_max", 1024.into(), false),
                row("limits.x", serde_json::json!([hostile]), false),
                row("secrets.key", true.into(), true),
            ],
            tokens: Some(vec![token]),
        };
        let names: Vec<_> =
            sections(&settings.settings).into_iter().map(|(name, rows)| (name, rows.len())).collect();
        assert_eq!(names, [("general", 2), ("limits", 2), ("secrets", 1)]);
        let shown = content(&settings).into_string();
        assert!(!shown.contains("<script>"), "{shown}");
        for text in ["1,024", "set, not shown", "not set", "SORTIE_X"] {
            assert!(shown.contains(text), "{text} in {shown}");
        }
        assert!(
            content(&SettingsView { tokens: None, ..settings })
                .into_string()
                .contains("only to administrators")
        );
    }
}
