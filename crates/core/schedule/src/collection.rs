//! A collection's document: read from what clients write, kept in one canonical form.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use types::CollectionSpec;

use crate::limits::{TAG_NAME_CHARS_MAX, TAG_VALUE_CHARS_MAX, TAGS_MAX};
use crate::merge::merge;
use crate::problem::{Problems, Report, below};
use crate::region;
use crate::shape::{Mode, ShapeReader, require};
use crate::shapes::COLLECTION;
use crate::spelling::{CollectionState, Plan, QuotaFrequency};

/// A collection as its client described it, valid and in canonical form.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CollectionDocument {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub location: Option<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tags: BTreeMap<String, String>,
    pub properties: CollectionProperties,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CollectionProperties {
    pub sku: Sku,
    pub state: CollectionState,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quota: Option<Quota>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sku {
    pub name: Plan,
}

/// What the client asked for within its plan; returned only when it asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Quota {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_job_count: Option<u32>,
    /// Kept and returned; it had no effect in Azure Scheduler and has none here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_job_occurrence: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_recurrence: Option<MaxRecurrence>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct MaxRecurrence {
    pub frequency: QuotaFrequency,
    pub interval: u32,
}

/// Through which paths a collection is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrontEnd {
    /// A location is required; the plan is Standard unless it is named.
    Azure,
    /// The plan is Sortie's own unless another is named.
    Native,
}

/// What a PATCH changes of a collection.
#[derive(Debug, Clone, PartialEq)]
pub struct CollectionPatch {
    members: Map<String, Value>,
}

/// Reads the body of a PUT.
pub fn read_collection(body: &Value, front_end: FrontEnd) -> Result<CollectionDocument, Problems> {
    let mut report = Report::default();
    let mut reader = ShapeReader { mode: Mode::Whole, report: &mut report };
    let members = reader.object(&COLLECTION, body, "").unwrap_or_default();
    if front_end == FrontEnd::Azure && body.is_object() && !members.contains_key("location") {
        report.add("location", "required");
    }
    finish(members, front_end, report)
}

/// Reads the body of a PATCH.
pub fn read_collection_patch(body: &Value) -> Result<CollectionPatch, Problems> {
    let mut report = Report::default();
    let mut reader = ShapeReader { mode: Mode::Patch, report: &mut report };
    let members = reader.object(&COLLECTION, body, "").unwrap_or_default();
    for name in ["location", "properties"] {
        if members.get(name) == Some(&Value::Null) {
            report.add(name, "cannot be removed");
        }
    }
    report.finish(Some(CollectionPatch { members }))
}

fn finish(
    mut members: Map<String, Value>,
    front_end: FrontEnd,
    mut report: Report,
) -> Result<CollectionDocument, Problems> {
    let plan = match front_end {
        FrontEnd::Azure => Plan::Standard,
        FrontEnd::Native => Plan::Sortie,
    };
    if let Value::Object(properties) = members.entry("properties").or_insert_with(|| json!({})) {
        properties.entry("sku").or_insert_with(|| json!({"name": plan}));
        properties.entry("state").or_insert_with(|| json!(CollectionState::Enabled));
    }
    if let Some(Value::String(location)) = members.get_mut("location") {
        *location = region::display_name(location);
    }
    require(&COLLECTION, &members, "", &mut report);
    if let Some(Value::Object(tags)) = members.get("tags") {
        check_tags(tags, &mut report);
    }
    if !report.is_empty() {
        return Err(report.into_problems());
    }
    let Ok(document) = serde_json::from_value::<CollectionDocument>(Value::Object(members)) else {
        return Err(Problems::one("", "is not a collection that can be kept"));
    };
    document.check_quota(&mut report);
    report.finish(Some(document))
}

fn check_tags(tags: &Map<String, Value>, report: &mut Report) {
    if tags.len() > TAGS_MAX {
        report.add("tags", format!("{} tags are more than {TAGS_MAX}", tags.len()));
    }
    for (name, value) in tags {
        let path = below("tags", &name.chars().take(80).collect::<String>());
        if name.is_empty() || name.chars().count() > TAG_NAME_CHARS_MAX {
            report.add(&path, format!("the name of a tag has 1 to {TAG_NAME_CHARS_MAX} characters"));
        }
        if value.as_str().is_some_and(|value| value.chars().count() > TAG_VALUE_CHARS_MAX) {
            report.add(&path, format!("the value of a tag has at most {TAG_VALUE_CHARS_MAX} characters"));
        }
    }
}

impl CollectionDocument {
    /// This document changed by a patch, checked as if all of it had been written now.
    pub fn patched(&self, patch: &CollectionPatch) -> Result<CollectionDocument, Problems> {
        let Ok(Value::Object(mut members)) = serde_json::to_value(self) else {
            unreachable!("a canonical collection is an object")
        };
        merge(&mut members, &patch.members);
        // A plan that is removed falls back to Sortie's own only where it was Sortie's own.
        let front_end = match self.plan() {
            Plan::Sortie => FrontEnd::Native,
            _ => FrontEnd::Azure,
        };
        finish(members, front_end, Report::default())
    }

    /// The same document in another state.
    pub fn with_state(&self, state: CollectionState) -> CollectionDocument {
        let mut document = self.clone();
        document.properties.state = state;
        document
    }

    pub fn plan(&self) -> Plan {
        self.properties.sku.name
    }

    /// What the kernel holds its jobs to.
    pub fn spec(&self) -> CollectionSpec {
        let plan = self.plan();
        let quota = self.properties.quota.as_ref();
        let max_recurrence = quota.and_then(|quota| quota.max_recurrence);
        CollectionSpec {
            jobs_max: quota.and_then(|quota| quota.max_job_count).unwrap_or_else(|| plan.jobs_max()),
            period_min: max_recurrence
                .map_or_else(|| plan.period_min(), |max| max.frequency.times(max.interval)),
            authentication: plan.authentication(),
            enabled: self.properties.state == CollectionState::Enabled,
        }
    }

    /// The whole document as it is kept.
    pub fn stored(&self) -> String {
        serde_json::to_string(self).expect("a canonical collection is JSON")
    }

    /// The document that [`CollectionDocument::stored`] has written.
    pub fn from_stored(text: &str) -> Result<CollectionDocument, serde_json::Error> {
        serde_json::from_str(text)
    }

    fn check_quota(&self, report: &mut Report) {
        let Some(quota) = &self.properties.quota else { return };
        let plan = self.plan();
        if let Some(count) = quota.max_job_count.filter(|count| *count > plan.jobs_max()) {
            let message =
                format!("{count} jobs are more than {}, the most of the plan {plan}", plan.jobs_max());
            report.add("properties.quota.maxJobCount", message);
        }
        let too_often = |max: &MaxRecurrence| max.frequency.times(max.interval) < plan.period_min();
        if let Some(MaxRecurrence { frequency, interval }) = quota.max_recurrence.filter(too_often) {
            let plural = if interval == 1 { "" } else { "s" };
            let message = format!(
                "every {interval} {frequency}{plural} is more often than every {}, the most of the plan {plan}",
                plan.period_min()
            );
            report.add("properties.quota.maxRecurrence", message);
        }
    }
}
