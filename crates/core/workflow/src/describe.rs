//! A definition in words, for people and for JSON. Header values are omitted: they may be secrets.

use serde::Serialize;
use types::{QueueName, Retry, Span};

use crate::action::{Action, Service};
use crate::definition::{Definition, StepDefinition};
use crate::expression::Expression;

/// What a workflow is, without what it must keep to itself.
#[derive(Debug, Clone, Serialize)]
pub struct Description {
    pub name: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub description: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub route: Option<String>,
    pub serial: bool,
    pub deadline: Option<Span>,
    pub services: Vec<ServiceDescription>,
    pub steps: Vec<StepDescription>,
    /// The endings that notices report, and where these go.
    pub notices: Vec<(&'static str, String)>,
    /// The built-in queue that receives parked and undone runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub feed: Option<String>,
}

#[derive(Debug, Clone, Serialize)]
pub struct ServiceDescription {
    pub name: String,
    pub url: String,
    pub timeout: Span,
    pub concurrency: u32,
}

#[derive(Debug, Clone, Serialize)]
pub struct StepDescription {
    pub name: String,
    pub after: Vec<String>,
    /// Method and target as written, like `PUT http://drone/api/${.run.id}`, or where a message goes.
    pub call: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accept_if: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
    pub retry: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alternative: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub undo: Option<String>,
    pub pivot: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub complete_by: Option<Span>,
}

impl Definition {
    pub fn describe(&self) -> Description {
        let notices = [
            ("completed", &self.notices.completed),
            ("undone", &self.notices.undone),
            ("parked", &self.notices.parked),
        ];
        let told =
            |(ending, action): (&'static str, &Option<Action>)| Some((ending, action.as_ref()?.describe()));
        Description {
            name: self.name.to_string(),
            description: self.description.clone(),
            route: self.accept.route.clone(),
            serial: self.plan.serial,
            deadline: self.plan.deadline,
            services: self.services.iter().map(service).collect(),
            steps: (0..self.steps.len()).map(|n| self.describe_step(n, &self.steps[n])).collect(),
            notices: notices.into_iter().filter_map(told).collect(),
            feed: self.feed.as_ref().map(QueueName::to_string),
        }
    }

    fn describe_step(&self, n: usize, step: &StepDefinition) -> StepDescription {
        let plan = &self.plan.steps[n];
        let source = |expression: &Option<Expression>| expression.as_ref().map(|e| e.source().to_owned());
        let name = |index: &types::StepIndex| self.step_names[usize::from(index.0)].to_string();
        StepDescription {
            name: plan.name.to_string(),
            after: plan.after.iter().map(name).collect(),
            call: step.call.describe(),
            accept_if: source(&step.judgement.accept_if),
            output: source(&step.judgement.output),
            retry: retry(plan.retry),
            alternative: step.alternative.as_ref().map(|other| other.action.describe()),
            undo: step.undo.as_ref().map(Action::describe),
            pivot: plan.pivot,
            complete_by: plan.complete_by,
        }
    }
}

fn service(service: &Service) -> ServiceDescription {
    let Service { name, url, timeout, concurrency, .. } = service;
    ServiceDescription {
        name: name.to_string(),
        url: url.clone(),
        timeout: *timeout,
        concurrency: *concurrency,
    }
}

fn retry(retry: Retry) -> String {
    let factor = |percent: u32| f64::from(percent) / 100.0;
    match retry {
        Retry::None => "none".to_owned(),
        Retry::Fixed { delay, attempts } => format!("{attempts} attempts, {delay} apart"),
        Retry::Exponential { first, factor_percent, max, attempts } => {
            format!("{attempts} attempts, {first} apart, growing {}-fold to {max}", factor(factor_percent))
        }
        Retry::Patient { first, factor_percent, max, patience } => {
            format!("for {patience}, {first} apart, growing {}-fold to {max}", factor(factor_percent))
        }
    }
}
