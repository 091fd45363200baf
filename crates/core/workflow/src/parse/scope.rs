//! Checks that an expression asks only for what there is where it stands.

use types::StepName;

use super::fields::Field;
use crate::context::{CALL, NOTICE, RESPONSE, RUN, StepSet};
use crate::expression::Expression;
use crate::template::Template;
use types::problem::{Report, did_you_mean, quote};

/// What the expressions of one place can use.
pub(super) struct Scope<'s> {
    /// The fields of the input.
    pub fields: &'static [&'static str],
    pub steps: &'s [StepName],
    /// The steps whose outputs are settled there.
    pub visible: StepSet,
}

impl Scope<'_> {
    /// A scope for a call that may use the outputs of `visible` steps.
    pub(super) fn call<'s>(steps: &'s [StepName], visible: StepSet) -> Scope<'s> {
        Scope { fields: CALL, steps, visible }
    }

    /// Reports what an expression asks for and cannot have. Whoever takes the input as a whole gets all of
    /// it that there is.
    pub(super) fn check(&self, expression: &Expression, field: &Field<'_>, report: &mut Report) {
        for message in self.problems(expression) {
            field.wrong(message, report);
        }
    }

    pub(super) fn check_template(&self, template: &Template, field: &Field<'_>, report: &mut Report) {
        template.expressions().for_each(|expression| self.check(expression, field, report));
    }

    /// What is wrong with the names that an expression uses.
    pub(super) fn problems(&self, expression: &Expression) -> Vec<String> {
        let source = quote(expression.source());
        let problems = expression.uses().filter_map(|(first, second)| self.check_use(first, second).err());
        problems.map(|message| format!("expression {source}: {message}")).collect()
    }

    fn check_use(&self, first: &str, second: Option<&str>) -> Result<(), String> {
        if !self.fields.contains(&first) {
            let hint = did_you_mean(first, self.fields.iter().copied());
            let known: Vec<String> = self.fields.iter().map(|name| format!(".{name}")).collect();
            return Err(format!("there is no '.{first}' here; there are {}{hint}", known.join(", ")));
        }
        let Some(second) = second else { return Ok(()) };
        match first {
            "run" => {
                let known = if self.fields == NOTICE { RUN } else { &RUN[..3] };
                check_name("run", second, known)
            }
            "response" => check_name("response", second, RESPONSE),
            "steps" => self.check_step(second),
            _ => Ok(()),
        }
    }

    fn check_step(&self, name: &str) -> Result<(), String> {
        match self.steps.iter().position(|step| step.as_str() == name) {
            None => {
                let hint = did_you_mean(name, self.steps.iter().map(StepName::as_str));
                Err(format!("no step {}{hint}", quote(name)))
            }
            Some(step) if self.visible.contains(step) => Ok(()),
            Some(_) => Err(format!("step '{name}' need not be done by then; name it in 'after'")),
        }
    }
}

fn check_name(of: &str, name: &str, known: &[&str]) -> Result<(), String> {
    if known.contains(&name) {
        return Ok(());
    }
    let hint = did_you_mean(name, known.iter().copied());
    Err(format!("'.{of}' has no '{name}'; it has {}{hint}", known.join(", ")))
}
