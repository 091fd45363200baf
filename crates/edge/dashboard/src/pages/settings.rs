//! The settings in force, to be read; and where they are changed.

use api_types::{SettingView, SettingsView, TokenView};
use maud::{Markup, html};
use serde_json::Value;

use crate::page::{NavSection, Page};
use crate::pieces;
use crate::trouble::PageError;
use crate::visit::Visit;

pub(super) async fn show(visit: &Visit) -> Result<Page, PageError> {
    let settings: SettingsView = visit.get("/v1/settings").await?;
    Ok(Page::new("Settings", NavSection::Settings).part(content(&settings)))
}

fn content(settings: &SettingsView) -> Markup {
    html! {
        p {
            "What this server runs with, version " (settings.version) ". Settings are changed "
            @match &settings.file {
                Some(file) => { "in the file " code { (file) } " on the server" }
                None => { "in a file that " code { "sortie serve --config" } " names (there is none now)" }
            }
            ", or by variables of its environment, which count more; they are read when it starts."
        }
        @for (section, rows) in sections(&settings.settings) {
            section aria-label=(section) { h2 { (section) } (table(section, rows)) }
        }
        h2 { "tokens" }
        (tokens(settings.tokens.as_deref()))
    }
}

/// The settings by what stands before the dot, in their order.
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
                thead { tr { th { "Setting" } th { "Value" } th { "Variable" } } }
                tbody {
                    @for row in rows {
                        tr {
                            td { code { (row.key) } @if row.changed { " " (pieces::badge("changed")) } }
                            td { (value(row)) }
                            td {
                                @match &row.variable {
                                    Some(variable) => code { (variable) },
                                    None => em { "in the file alone" },
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
        Value::Number(number) => number.as_u64().map_or_else(|| number.to_string(), pieces::count),
        other => other.to_string(),
    }
}

fn tokens(tokens: Option<&[TokenView]>) -> Markup {
    match tokens {
        None => html! { p.quiet { "Who may come in is shown to administrators." } },
        Some([]) => html! { p { "There are none: everybody on this machine may do everything." } },
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
            content(&SettingsView { tokens: None, ..settings }).into_string().contains("to administrators")
        );
    }
}
