//! A bulk that is being filled in.

use api_types::{BulkAction, BulkRequest, BulkSelect, DecisionKind, Time};
use maud::{Markup, html};
use types::RunStatus;

use crate::pieces;
use crate::trouble::PageError;

/// The form as it stands.
pub(super) struct BulkForm {
    pub action: Option<String>,
    /// Runs that were named; then nothing is selected.
    ids: Vec<String>,
    /// The other fields, in the order of [`FIELDS`].
    values: [Option<String>; FIELDS.len()],
}

const FIELDS: [&str; 10] =
    ["workflow", "status", "key", "from", "to", "reason", "decision", "step", "note", "rate"];

const ACTIONS: [(BulkAction, &str, &str); 4] = [
    (BulkAction::Retry, "retry", "Retry"),
    (BulkAction::Cancel, "cancel", "Cancel"),
    (BulkAction::Resolve, "resolve", "Decide on"),
    (BulkAction::Rerun, "rerun", "Run again"),
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

    /// Whether runs were named one by one.
    pub(super) fn is_named(&self) -> bool {
        !self.ids.is_empty()
    }

    fn value(&self, name: &str) -> Option<&str> {
        let at = FIELDS.iter().position(|field| *field == name)?;
        self.values[at].as_deref()
    }

    /// The chosen action, or the likeliest for runs with that status.
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

    /// What is asked of the API; or which field is wrong.
    pub(super) fn request(&self, dry_run: bool) -> Result<BulkRequest, PageError> {
        let wrong = |field: &str, why: &str| PageError::Form(format!("{field}: {why}"));
        let action = ACTIONS.iter().find(|(_, word, _)| *word == self.chosen());
        let (action, _, _) = *action.ok_or_else(|| wrong("action", "choose one of the list"))?;
        let is_resolve = action == BulkAction::Resolve;
        let decision = self.value("decision").filter(|_| is_resolve).map(|asked| {
            let found = DECISIONS.iter().find(|(kind, _)| kind.name() == asked);
            found.map(|(kind, _)| *kind).ok_or_else(|| wrong("decision", "choose one of the list"))
        });
        let decision = decision.transpose()?;
        let rate = self
            .value("rate")
            .map(|rate| rate.parse().map_err(|_| wrong("rate", "write how many runs a second, like 50")));
        let step = self.value("step").filter(|_| is_resolve && decision != Some(DecisionKind::GiveUp));
        let note = self.value("note").unwrap_or_default();
        if note.is_empty() && is_resolve && !dry_run {
            return Err(wrong("note", "say why; it is kept in the timelines"));
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
            found.ok_or_else(|| PageError::Form(format!("status: there is no '{asked}'")))
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

    /// All of it, for the form that lets it happen.
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
                    legend { "Which runs" }
                    @if self.is_named() { (self.named()) } @else { (self.selection()) }
                }
                fieldset {
                    legend { "What to do" }
                    div.row.top {
                        (pieces::field("action", "Action", "", pieces::choice("action", &actions, self.chosen(), "")))
                        (self.decision())
                        (self.input("rate", "At most", "Runs a second; 50 when empty."))
                    }
                    (self.input("note", "Note", "Why; kept in the timelines. Needed for decisions."))
                }
                div.actions { button.primary type="submit" { "Dry run" } a.button href="/ui/bulk" { "All bulks" } }
            }
        }
    }

    fn named(&self) -> Markup {
        html! {
            p { (self.ids.len()) " named: " (self.ids.join(", ")) }
            @for id in &self.ids { input type="hidden" name="id" value=(id); }
            p { a href="/ui/bulk/new" { "Select by a query instead" } }
        }
    }

    fn selection(&self) -> Markup {
        let mut statuses = vec![("", "as the action needs".to_owned())];
        statuses.extend(RunStatus::ALL.map(|status| (status.as_str(), status.as_str().replace('_', " "))));
        let statuses: Vec<(&str, &str)> =
            statuses.iter().map(|(status, text)| (*status, text.as_str())).collect();
        html! {
            div.row.top {
                (self.input("workflow", "Workflow", ""))
                (self.choice("status", "Status", "", &statuses))
                (self.input("key", "Key", ""))
                (self.input("from", "From", "Like 2026-03-01T12:00:00Z."))
                (self.input("to", "To", "Never later than now."))
                (self.input("reason", "Reason has", "Text in why it is not simply done."))
            }
        }
    }

    fn decision(&self) -> Markup {
        let none = [("", "–")];
        let decisions = DECISIONS.map(|(kind, text)| (kind.name(), text));
        let all: Vec<(&str, &str)> = none.into_iter().chain(decisions).collect();
        html! {
            (self.choice("decision", "Decision", "With “decide on”.", &all))
            (self.input("step", "Step", "With “decide on”, but for giving up."))
        }
    }

    fn choice(&self, name: &str, label: &str, hint: &str, options: &[(&str, &str)]) -> Markup {
        let chosen = self.value(name).unwrap_or_default();
        pieces::field(name, label, hint, pieces::choice(name, options, chosen, hint))
    }

    fn input(&self, name: &str, label: &str, hint: &str) -> Markup {
        pieces::field(
            name,
            label,
            hint,
            html! { input id=(name) name=(name) value=[self.value(name)] autocomplete="off" aria-describedby=[pieces::described(name, hint, &[])]; },
        )
    }
}
