//! The versions of a workflow, and the diff of two versions.

use api_types::{WorkflowList, WorkflowView};
use maud::{Markup, html};

use super::diff::{DiffLine, lines};
use super::{address, api};
use crate::components;
use crate::context::{PageContext, place};
use crate::error::PageError;
use crate::page::{NavSection, Page};

/// Unchanged lines that are shown around a change.
const AROUND: usize = 3;

pub(super) async fn show(ctx: &PageContext, name: &str) -> Result<Page, PageError> {
    let WorkflowList { items } = ctx.get(&format!("{}/versions", api(name))).await?;
    let present: Option<WorkflowView> = ctx.find(&api(name)).await?;
    let newest = items.first().map_or(0, |version| version.version);
    let asked = |field: &str| ctx.query_value(field).and_then(|text| text.parse::<u32>().ok());
    let older = items.get(1).map_or(newest, |version| version.version);
    let (from, to) = (asked("from").unwrap_or(older), asked("to").unwrap_or(newest));
    let (before, after) = (source(ctx, name, from).await?, source(ctx, name, to).await?);
    Ok(Page::new(&format!("Versions of {name}"), NavSection::Workflows)
        .part(html! {
            @if present.is_some() { p { a href=(address(name)) { "Back to " (name) } } }
            @else { div.fine role="status" { strong { (name) " was deleted." } " It no longer accepts requests; its versions are kept." } }
        })
        .part(table(name, &items))
        .part(html! {
            h2 #difference { "Compare versions" }
            form.row method="get" action={ (address(name)) "/versions#difference" } {
                (chosen("from", "From version", &items, from))
                (chosen("to", "To version", &items, to))
                button type="submit" { "Compare" }
            }
            (difference(&before, &after))
        }))
}

async fn source(ctx: &PageContext, name: &str, version: u32) -> Result<String, PageError> {
    let at = place(&api(name), [("version", Some(version.to_string()))]);
    let workflow: WorkflowView = ctx.get(&at).await?;
    Ok(workflow.source.unwrap_or_default())
}

fn chosen(name: &str, label: &str, versions: &[WorkflowView], chosen: u32) -> Markup {
    let numbers: Vec<String> = versions.iter().map(|version| version.version.to_string()).collect();
    let options: Vec<(&str, &str)> =
        numbers.iter().map(|number| (number.as_str(), number.as_str())).collect();
    components::field(name, label, "", components::select(name, &options, Some(&chosen.to_string())))
}

fn table(name: &str, versions: &[WorkflowView]) -> Markup {
    html! {
        div.scroll tabindex="0" role="region" aria-label="Versions" {
            table {
                thead { tr { th.number { "Version" } th.number { "Steps" } th { "Applied" } th { "By" } th { "Compare" } } }
                tbody {
                    @for (index, version) in versions.iter().enumerate() {
                        tr {
                            td.number {
                                @let query = [("version", Some(version.version.to_string()))];
                                a href=(place(&address(name), query)) { (version.version) }
                            }
                            td.number { (version.steps.len()) }
                            td { (components::time(version.applied_at)) }
                            td { (version.applied_by) }
                            td {
                                @if let Some(older) = versions.get(index + 1) {
                                    @let query = [
                                        ("from", Some(older.version.to_string())),
                                        ("to", Some(version.version.to_string())),
                                    ];
                                    a href={ (place(&format!("{}/versions", address(name)), query)) "#difference" } {
                                        "with " (older.version)
                                    }
                                } @else { span.quiet { "oldest" } }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// The diff of two texts; long unchanged parts are omitted.
pub(in crate::pages) fn difference(before: &str, after: &str) -> Markup {
    let lines = lines(before, after);
    let changed: Vec<usize> =
        (0..lines.len()).filter(|index| !matches!(lines[*index], DiffLine::Same(_))).collect();
    if changed.is_empty() {
        return html! { p.quiet { "No differences." } };
    }
    let near = |index: usize| {
        let next = changed.partition_point(|change| *change < index);
        let close = |change: Option<&usize>| change.is_some_and(|change| change.abs_diff(index) <= AROUND);
        close(changed.get(next)) || close(next.checked_sub(1).and_then(|before| changed.get(before)))
    };
    html! {
        pre.difference tabindex="0" aria-label="Difference" {
            @for (index, line) in lines.iter().enumerate() {
                @if near(index) {
                    @match line {
                        DiffLine::Same(text) => { span { "  " (text) "\n" } },
                        DiffLine::Gone(text) => { del { "- " (text) "\n" } },
                        DiffLine::New(text) => { ins { "+ " (text) "\n" } },
                    }
                } @else if index == 0 || near(index - 1) {
                    span.quiet { "  …\n" }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_marked_with_a_sign_and_far_lines_are_omitted() {
        let before: Vec<String> = (0..40).map(|n| format!("line {n}")).collect();
        let mut after = before.clone();
        after[20] = "<b>new</b>".to_owned();
        let shown = difference(&before.join("\n"), &after.join("\n")).into_string();
        assert!(shown.contains("<del>- line 20") && shown.contains("<ins>+ &lt;b&gt;new"), "{shown}");
        assert!(shown.contains("line 17") && !shown.contains("line 16"), "{shown}");
        assert_eq!(shown.matches('…').count(), 2);
    }
}
