//! Form controls, each with its current value and its errors.

use std::collections::BTreeMap;

use api_types::Problem;
use maud::{Markup, html};

/// The values of a form by control name.
pub(crate) type FieldValues = BTreeMap<String, String>;

/// The current values of a form, and its errors by control name.
#[derive(Default)]
pub(crate) struct Controls {
    texts: FieldValues,
    wrong: Vec<(String, String)>,
    /// The prefix of the controls' ids: two forms on one page may have controls of the same name.
    ids: &'static str,
}

impl Controls {
    pub(crate) fn new(texts: FieldValues) -> Controls {
        Controls { texts, ..Controls::default() }
    }

    /// The same form with this prefix for ids.
    pub(crate) fn with_ids(self, ids: &'static str) -> Controls {
        Controls { ids, ..self }
    }

    fn id(&self, name: &str) -> String {
        format!("{}{name}", self.ids)
    }

    /// Assigns each error of a problem to a control. `place` maps a field of the document to its control; errors without
    /// a control appear only in the list above the form, which has all errors.
    pub(crate) fn with_errors(
        mut self,
        problem: &Problem,
        place: &dyn Fn(&str) -> Option<String>,
    ) -> Controls {
        for error in &problem.errors {
            let field = error.field.as_deref().or(error.pointer.as_deref()).unwrap_or_default();
            self.wrong.extend(place(field).map(|name| (name, error.message.clone())));
        }
        if problem.errors.is_empty()
            && let Some((field, message)) = problem.detail.split_once(": ")
        {
            self.wrong.extend(place(field).map(|name| (name, message.to_owned())));
        }
        self
    }

    pub(crate) fn text(&self, name: &str) -> &str {
        self.texts.get(name).map_or("", String::as_str)
    }

    fn wrong(&self, name: &str) -> Vec<&str> {
        self.wrong.iter().filter(|(at, _)| at == name).map(|(_, message)| message.as_str()).collect()
    }

    fn around(&self, name: &str, label: &str, hint: &str, control: Markup) -> Markup {
        html! {
            div.field {
                label for=(self.id(name)) { (label) }
                (control)
                (super::hint(&self.id(name), hint))
                (super::wrong(&self.id(name), &self.wrong(name)))
            }
        }
    }

    fn invalid(&self, name: &str) -> Option<&'static str> {
        (!self.wrong(name).is_empty()).then_some("true")
    }

    fn described(&self, name: &str, hint: &str) -> Option<String> {
        super::described(&self.id(name), hint, &self.wrong(name))
    }

    /// A single-line text field.
    pub(crate) fn line(&self, name: &str, label: &str, hint: &str) -> Markup {
        self.around(name, label, hint, html! {
            input id=(self.id(name)) name=(name) value=(self.text(name)) autocomplete="off" spellcheck="false" aria-invalid=[self.invalid(name)] aria-describedby=[self.described(name, hint)];
        })
    }

    /// A password field. Stored values are never filled in; it holds only what was typed just now.
    pub(crate) fn secret(&self, name: &str, label: &str, hint: &str) -> Markup {
        self.around(name, label, hint, html! {
            input id=(self.id(name)) name=(name) type="password" value=(self.text(name)) autocomplete="new-password" aria-invalid=[self.invalid(name)] aria-describedby=[self.described(name, hint)];
        })
    }

    /// A multi-line text field.
    pub(crate) fn lines(&self, name: &str, label: &str, hint: &str, rows: usize) -> Markup {
        self.around(name, label, hint, html! {
            textarea id=(self.id(name)) name=(name) rows=(rows) spellcheck="false" aria-invalid=[self.invalid(name)] aria-describedby=[self.described(name, hint)] {
                // Browsers drop the first line break in a textarea.
                "\n" (self.text(name))
            }
        })
    }

    /// A dropdown.
    pub(crate) fn choice(&self, name: &str, label: &str, hint: &str, options: &[(&str, &str)]) -> Markup {
        let (id, described) = (self.id(name), self.described(name, hint));
        let select = super::choice_with((&id, name), options, self.text(name), described, self.invalid(name));
        self.around(name, label, hint, select)
    }

    /// A checkbox.
    pub(crate) fn flag(&self, name: &str, label: &str) -> Markup {
        html! {
            div.field {
                label.flag {
                    input type="checkbox" id=(self.id(name)) name=(name) value="true" checked[self.text(name) == "true"]
                        aria-invalid=[self.invalid(name)] aria-describedby=[self.described(name, "")];
                    " " (label)
                }
                (super::wrong(&self.id(name), &self.wrong(name)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::PageError;

    #[test]
    fn a_value_that_is_not_among_the_choices_stays_selected() {
        let chosen = |text: &str| {
            let texts = FieldValues::from([("method".to_owned(), text.to_owned())]);
            Controls::new(texts).choice("method", "Method", "", &[("GET", "GET")]).into_string()
        };
        for text in ["GET", "OPTIONS", ""] {
            let shown = chosen(text);
            assert!(shown.contains(&format!("<option value=\"{text}\" selected>")), "{shown}");
        }
    }

    #[test]
    fn what_is_wrong_stands_beside_its_control_and_what_was_typed_stays() {
        let texts = FieldValues::from([("lock".to_owned(), "\"><script>".to_owned())]);
        let problem = PageError::Form("lock: must be a duration".to_owned()).problem();
        let controls = Controls::new(texts).with_errors(&problem, &|field| Some(field.to_owned()));
        let shown = controls.line("lock", "Lock", "").into_string();
        assert!(shown.contains("must be a duration") && shown.contains("aria-invalid"), "{shown}");
        assert!(shown.contains("&quot;&gt;&lt;script&gt;"), "{shown}");
        assert!(!controls.line("other", "Other", "").into_string().contains("must be"));
    }

    #[test]
    fn hints_and_errors_are_tied_to_their_control() {
        let problem = PageError::Form("a b: must be a duration".to_owned()).problem();
        let controls = Controls::default().with_errors(&problem, &|field| Some(field.to_owned()));
        let shown = [
            controls.line("a b", "Label", "A hint."),
            controls.secret("a b", "Label", "A hint."),
            controls.lines("a b", "Label", "A hint.", 2),
            controls.choice("a b", "Label", "A hint.", &[("x", "x")]),
        ];
        for shown in shown.map(Markup::into_string) {
            assert!(shown.contains("aria-describedby=\"a_b-hint a_b-wrong\""), "{shown}");
            assert!(shown.contains("aria-invalid=\"true\""), "{shown}");
            assert!(shown.contains("id=\"a_b-hint\"") && shown.contains("id=\"a_b-wrong\""), "{shown}");
        }
        let own = Controls::default().with_ids("new-").line("lock", "Lock", "A hint.").into_string();
        for part in ["for=\"new-lock\"", "id=\"new-lock\"", "name=\"lock\"", "id=\"new-lock-hint\""] {
            assert!(own.contains(part), "{part}: {own}");
        }
        let flag = controls.flag("a b", "Label").into_string();
        assert!(flag.contains("aria-describedby=\"a_b-wrong\""), "{flag}");
        assert!(!controls.line("other", "Label", "").into_string().contains("aria-describedby"));
    }
}
