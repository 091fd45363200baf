//! The form of a new bulk operation.

use api_types::{BulkAction, BulkRequest, BulkSelect, DecisionKind, Time};
use maud::{Markup, html};
use types::RunStatus;

use crate::components;
use crate::error::PageError;

/// The current values of the form.
pub(super) struct BulkForm {
    pub action: Option<String>,
    /// Runs selected individually; the query fields are ignored then.
    ids: Vec<String>,
    /// The other fields, in the order of [`FIELDS`].
    values: [Option<String>; FIELDS.len()],
}

const FIELDS: [&str; 10] =
    ["workflow", "status", "key", "from", "to", "reason", "decision", "step", "note", "rate"];

const ACTIONS: [(BulkAction, &str, &str); 4] = [
    (BulkAction::Retry, "retry", "Retry"),
    (BulkAction::Cancel, "cancel", "Cancel"),
    (BulkAction::Resolve, "resolve", "Resolve"),
    (BulkAction::Rerun, "rerun", "Rerun"),
];

const DECISIONS: [(DecisionKind, &str); 3] = [
    (DecisionKind::Skip, "skip the step"),
    (DecisionKind::ByHand, "the step was done manually"),
    (DecisionKind::GiveUp, "give up"),
];

pub(super) fn action_text(action: BulkAction) -> &'static str {
    let found = ACTIONS.iter().find(|(kind, _, _)| *kind == action);
    found.map_or("", |(_, _, text)| *text)
}

impl BulkForm {
    pub(super) fn of(value: impl Fn(&str) -> Option<String>, ids: Vec<String>) -> BulkForm {
        BulkForm { action: value("action"), ids, values: FIELDS.map(value) }
    }

    /// Whether runs were selected individually.
    pub(super) fn is_named(&self) -> bool {
        !self.ids.is_empty()
    }

    fn value(&self, name: &str) -> Option<&str> {
        let at = FIELDS.iter().position(|field| *field == name)?;
        self.values[at].as_deref()
    }

    /// The chosen action, or the most likely one for runs with the chosen status.
    fn chosen(&self) -> &str {
        self.action.as_deref().unwrap_or_else(|| match self.value("status") {
            Some("accepted" | "queued" | "running") => "cancel",
            Some("completed" | "undone" | "given_up") => "rerun",
            _ => "retry",
        })
    }

    pub(super) fn action_text(&self) -> &'static str {
        let found = ACTIONS.iter().find(|(_, word, _)| *word == self.chosen());
        found.map_or("Change", |(_, _, text)| *text)
    }

    /// The request to the API, or which field is invalid.
    pub(super) fn request(&self, dry_run: bool) -> Result<BulkRequest, PageError> {
        let wrong = |field: &str, why: &str| PageError::Form(format!("{field}: {why}"));
        let action = ACTIONS.iter().find(|(_, word, _)| *word == self.chosen());
        let (action, _, _) = *action.ok_or_else(|| wrong("action", "choose one from the list"))?;
        let is_resolve = action == BulkAction::Resolve;
        let decision = self.value("decision").filter(|_| is_resolve).map(|asked| {
            let found = DECISIONS.iter().find(|(kind, _)| kind.name() == asked);
            found.map(|(kind, _)| *kind).ok_or_else(|| wrong("decision", "choose one from the list"))
        });
        let decision = decision.transpose()?;
        let rate = self.value("rate").map(|rate| {
            rate.parse().map_err(|_| wrong("rate", "must be a number of runs per second, such as 50"))
        });
        let step = self.value("step").filter(|_| is_resolve && decision != Some(DecisionKind::GiveUp));
        let note = self.value("note").unwrap_or_default();
        if note.is_empty() && is_resolve && !dry_run {
            return Err(wrong("note", "required; it is stored in the timelines of the runs"));
        }
        Ok(BulkRequest {
            select: if self.is_named() { None } else { Some(self.select()?) },
            ids: self.ids.clone(),
            action,
            decision,
            step: step.map(str::to_owned),
            note: note.to_owned(),
            rate: rate.transpose()?,
            dry_run,
        })
    }

    fn select(&self) -> Result<BulkSelect, PageError> {
        let text = |name: &str| self.value(name).map(str::to_owned);
        let time = |name: &str| {
            let read =
                |text: &str| Time::parse_any(text).map_err(|why| PageError::Form(format!("{name}: {why}")));
            self.value(name).map(read).transpose()
        };
        let status = self.value("status").map(|asked| {
            let found = RunStatus::ALL.into_iter().find(|status| status.as_str() == asked);
            found.ok_or_else(|| PageError::Form(format!("status: unknown status '{asked}'")))
        });
        Ok(BulkSelect {
            workflow: text("workflow"),
            status: status.transpose()?,
            key: text("key"),
            from: time("from")?,
            to: time("to")?,
            reason: text("reason"),
        })
    }

    /// All values as hidden fields, for the form that starts the operation.
    pub(super) fn hidden(&self) -> Markup {
        html! {
            input type="hidden" name="action" value=(self.chosen());
            @for id in &self.ids { input type="hidden" name="id" value=(id); }
            @for (name, value) in FIELDS.iter().zip(&self.values) {
                @if let Some(value) = value { input type="hidden" name=(name) value=(value); }
            }
        }
    }

    pub(super) fn form(&self) -> Markup {
        let actions = ACTIONS.map(|(_, word, text)| (word, text));
        html! {
            form method="get" action="/ui/bulk/new" {
                fieldset {
                    legend { "Runs" }
                    @if self.is_named() { (self.named()) } @else { (self.selection()) }
                }
                fieldset {
                    legend { "Action" }
                    div.row.top {
                        (components::field("action", "Action", "", components::choice("action", &actions, self.chosen(), "")))
                        (self.decision())
                        (self.input("rate", "Rate limit", "Runs per second. Default: 50."))
                    }
                    (self.input("note", "Note", "Stored in the timelines of the runs. Required for “Resolve”."))
                }
                div.actions { button.primary type="submit" { "Dry run" } a.button href="/ui/bulk" { "All bulk operations" } }
            }
        }
    }

    fn named(&self) -> Markup {
        html! {
            p { (self.ids.len()) " selected: " (self.ids.join(", ")) }
            @for id in &self.ids { input type="hidden" name="id" value=(id); }
            p { a href="/ui/bulk/new" { "Select by a query instead" } }
        }
    }

    fn selection(&self) -> Markup {
        let mut statuses = vec![("", "any that the action applies to".to_owned())];
        statuses.extend(RunStatus::ALL.map(|status| (status.as_str(), status.as_str().replace('_', " "))));
        let statuses: Vec<(&str, &str)> =
            statuses.iter().map(|(status, text)| (*status, text.as_str())).collect();
        html! {
            div.row.top {
                (self.input("workflow", "Workflow", ""))
                (self.choice("status", "Status", "", &statuses))
                (self.input("key", "Key", ""))
                (self.input("from", "From", "For example 2026-03-01T12:00:00Z."))
                (self.input("to", "Until", "Default: now."))
                (self.input("reason", "Failure reason contains", ""))
            }
        }
    }

    fn decision(&self) -> Markup {
        let none = [("", "–")];
        let decisions = DECISIONS.map(|(kind, text)| (kind.name(), text));
        let all: Vec<(&str, &str)> = none.into_iter().chain(decisions).collect();
        html! {
            (self.choice("decision", "Decision", "Only for “Resolve”.", &all))
            (self.input("step", "Step", "Required for every decision except “give up”."))
        }
    }

    fn choice(&self, name: &str, label: &str, hint: &str, options: &[(&str, &str)]) -> Markup {
        let chosen = self.value(name).unwrap_or_default();
        components::field(name, label, hint, components::choice(name, options, chosen, hint))
    }

    fn input(&self, name: &str, label: &str, hint: &str) -> Markup {
        components::field(
            name,
            label,
            hint,
            html! { input id=(name) name=(name) value=[self.value(name)] autocomplete="off" aria-describedby=[components::described(name, hint, &[])]; },
        )
    }
}
