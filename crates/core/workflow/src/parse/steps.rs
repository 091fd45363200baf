//! Reads the steps: their order first, then what each of them does.

use types::plan::PlanStep;
use types::{Retry, StepIndex, StepName};

use super::fields::{Field, Fields};
use super::retry::{self, Of};
use super::scope::Scope;
use super::{action, expression};
use crate::action::{Action, Service};
use crate::context::{ANSWER, StepSet};
use crate::definition::{Alternative, Judgement, StepDefinition};
use crate::limits::STEPS_MAX;
use crate::yaml::join;
use types::problem::{Report, did_you_mean, quote};

const STEP_FIELDS: [&str; 9] =
    ["after", "call", "accept_if", "output", "retry", "alternative", "undo", "pivot", "complete_by"];

/// What steps take over from their workflow.
pub(super) struct Defaults<'s> {
    pub services: &'s [Service],
    pub retry: Retry,
    pub undo_retry: Retry,
}

/// The steps as the kernel sees them and as they are called.
pub(super) struct Steps {
    pub names: Vec<StepName>,
    pub plan: Vec<PlanStep>,
    pub steps: Vec<StepDefinition>,
}

pub(super) fn read(field: &Field<'_>, defaults: &Defaults<'_>, report: &mut Report) -> Option<Steps> {
    let entries = Fields::read_any(field, report)?;
    let (mut names, mut maps, mut unread) = (Vec::new(), Vec::new(), Vec::new());
    for (name, at, step) in entries.iter() {
        let valid = StepName::new(name).map_err(|error| report.add_at(at, &step.path, error.to_string()));
        match (valid, Fields::read(&step, &STEP_FIELDS, report)) {
            (Ok(name), Some(fields)) => {
                names.push(name);
                maps.push(fields);
            }
            _ => unread.push(name),
        }
    }
    if names.is_empty() && unread.is_empty() {
        field.wrong("a workflow has at least one step", report);
        return None;
    }
    if names.len() > STEPS_MAX {
        field.wrong(format!("a workflow has at most {STEPS_MAX} steps, not {}", names.len()), report);
        return None;
    }
    let after: Vec<_> = maps.iter().map(|fields| read_after(fields, &names, &unread, report)).collect();
    // In a circle nothing comes first; what is wrong besides is still worth telling.
    let order = ancestors(&maps, &names, &after, report).unwrap_or(vec![StepSet::ALL; names.len()]);
    refuse_second_pivot(&maps, report);

    let mut steps = Steps { names: names.clone(), plan: Vec::new(), steps: Vec::new() };
    for (n, fields) in maps.iter().enumerate() {
        let read = read_step(n, fields, &names, &after[n], order[n], defaults, report);
        if let Some((plan, step)) = read {
            steps.plan.push(plan);
            steps.steps.push(step);
        }
    }
    Some(steps)
}

/// The steps that a step waits for. Those in `unread` have problems of their own and are not reported here.
fn read_after(
    fields: &Fields<'_>,
    names: &[StepName],
    unread: &[&str],
    report: &mut Report,
) -> Vec<StepIndex> {
    let mut after = Vec::new();
    let items = fields.get("after").map_or_else(Vec::new, |field| field.list(report));
    for item in items {
        let Some(name) = item.text(report).filter(|name| !unread.contains(name)) else { continue };
        let Some(n) = names.iter().position(|step| step.as_str() == name) else {
            let hint = did_you_mean(name, names.iter().map(StepName::as_str));
            item.wrong(format!("no step {}{hint}", quote(name)), report);
            continue;
        };
        let index = StepIndex(u16::try_from(n).expect("there are at most 64 steps"));
        if after.contains(&index) {
            item.wrong(format!("step '{name}' is named twice"), report);
        } else {
            after.push(index);
        }
    }
    after
}

/// For each step the steps that are done before it begins; a problem and nothing when they run in a circle.
fn ancestors(
    maps: &[Fields<'_>],
    names: &[StepName],
    after: &[Vec<StepIndex>],
    report: &mut Report,
) -> Option<Vec<StepSet>> {
    let mut known: Vec<Option<StepSet>> = vec![None; names.len()];
    // Each round settles every step whose predecessors are settled; what is left at a standstill is
    // a circle or comes after one.
    loop {
        let ready =
            |n: &usize| known[*n].is_none() && after[*n].iter().all(|p| known[usize::from(p.0)].is_some());
        let ready: Vec<usize> = (0..names.len()).filter(ready).collect();
        if ready.is_empty() {
            break;
        }
        for n in ready {
            let set = after[n].iter().fold(StepSet::default(), |set, p| {
                let p = usize::from(p.0);
                StepSet(set.0 | known[p].unwrap_or_default().0).with(p)
            });
            known[n] = Some(set);
        }
    }
    if let Some(stuck) = known.iter().position(Option::is_none) {
        let (first, circle) = circle(stuck, after, &known);
        let text: Vec<&str> = circle.iter().map(|n| names[*n].as_str()).collect();
        let message = format!("steps wait for each other in a circle: {}", text.join(" after "));
        let field = maps[first].get("after").expect("a step of a circle waits for another");
        field.wrong(message, report);
        return None;
    }
    Some(known.into_iter().flatten().collect())
}

/// A circle of steps, its first repeated at the end, found by walking back from a stuck step.
fn circle(stuck: usize, after: &[Vec<StepIndex>], known: &[Option<StepSet>]) -> (usize, Vec<usize>) {
    let mut walk = vec![stuck];
    loop {
        let here = *walk.last().expect("the walk begins with a step");
        let back = after[here].iter().map(|p| usize::from(p.0)).find(|p| known[*p].is_none());
        let back = back.expect("a stuck step waits for a stuck step");
        if let Some(start) = walk.iter().position(|n| *n == back) {
            walk.push(back);
            return (back, walk.split_off(start));
        }
        walk.push(back);
    }
}

fn refuse_second_pivot(maps: &[Fields<'_>], report: &mut Report) {
    let is_pivot =
        |fields: &Fields<'_>| matches!(fields.get("pivot"), Some(field) if field.node.to_json() == true);
    let pivots: Vec<_> = maps.iter().filter(|fields| is_pivot(fields)).collect();
    for second in pivots.iter().skip(1) {
        let first = &pivots[0].path;
        report.add_at(
            second.at,
            &join(&second.path, "pivot"),
            format!("a workflow has one pivot; {first} is it already"),
        );
    }
}

fn read_step(
    n: usize,
    fields: &Fields<'_>,
    names: &[StepName],
    after: &[StepIndex],
    before: StepSet,
    defaults: &Defaults<'_>,
    report: &mut Report,
) -> Option<(PlanStep, StepDefinition)> {
    let scope = Scope::call(names, before);
    let retry = fields.get("retry").and_then(|field| retry::read(&field, Of::Step, report));
    let retry = retry.unwrap_or(defaults.retry);
    let call = fields
        .require("call", report)
        .and_then(|field| action::read(&field, &[], defaults.services, &scope, report));
    let judgement = read_judgement(fields, names, before, report);
    let alternative =
        fields.get("alternative").and_then(|field| read_alternative(&field, names, before, defaults, report));
    let undo_scope = Scope::call(names, before.with(n));
    let undo = fields.get("undo").and_then(|field| read_undo(&field, &undo_scope, defaults, report));
    let plan = PlanStep {
        name: names[n].clone(),
        after: after.to_vec(),
        retry,
        alternative: alternative.as_ref().map(|(own, _)| own.unwrap_or(retry)),
        undo: undo.as_ref().map(|(retry, _)| *retry),
        pivot: fields.flag("pivot", report),
        complete_by: fields.span("complete_by", report),
    };
    let step = StepDefinition {
        call: call?,
        judgement,
        alternative: alternative.map(|(_, alternative)| alternative),
        undo: undo.map(|(_, action)| action),
        visible: before,
    };
    Some((plan, step))
}

fn read_judgement(
    fields: &Fields<'_>,
    names: &[StepName],
    before: StepSet,
    report: &mut Report,
) -> Judgement {
    let scope = Scope { fields: ANSWER, steps: names, visible: before };
    let mut read = |name| {
        let field = fields.get(name)?;
        let expression = expression(&field, report)?;
        scope.check(&expression, &field, report);
        Some(expression)
    };
    Judgement { accept_if: read("accept_if"), output: read("output") }
}

fn read_alternative(
    field: &Field<'_>,
    names: &[StepName],
    before: StepSet,
    defaults: &Defaults<'_>,
    report: &mut Report,
) -> Option<(Option<Retry>, Alternative)> {
    let fields = Fields::read(field, &["action", "call", "accept_if", "output", "retry"], report)?;
    let retry = fields.get("retry").and_then(|field| retry::read(&field, Of::Step, report));
    let given = match (fields.get("action"), fields.get("call")) {
        (Some(given), None) | (None, Some(given)) => given,
        _ => {
            field.wrong("give 'action' or 'call'", report);
            return None;
        }
    };
    let scope = Scope::call(names, before);
    let judgement = read_judgement(&fields, names, before, report);
    let action = action::read(&given, &[], defaults.services, &scope, report)?;
    Some((retry, Alternative { action, judgement }))
}

fn read_undo(
    field: &Field<'_>,
    scope: &Scope<'_>,
    defaults: &Defaults<'_>,
    report: &mut Report,
) -> Option<(Retry, Action)> {
    let action = action::read(field, &["retry"], defaults.services, scope, report);
    let own = Fields::read_any(field, report)?.get("retry");
    let retry = own.and_then(|field| retry::read(&field, Of::Undo, report)).unwrap_or(defaults.undo_retry);
    Some((retry, action?))
}
