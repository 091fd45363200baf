//! The envelope of every resource: its id, type and name, and the ids that Azure Resource Manager gives.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

pub const COLLECTION_TYPE: &str = "Microsoft.Scheduler/jobCollections";
pub const JOB_TYPE: &str = "Microsoft.Scheduler/jobCollections/jobs";
pub const HISTORY_TYPE: &str = "Microsoft.Scheduler/jobCollections/jobs/history";

/// A resource as a client reads it, members in Azure's order.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Resource<P> {
    pub id: String,
    #[serde(rename = "type")]
    pub kind: &'static str,
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub location: Option<String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub tags: BTreeMap<String, String>,
    pub properties: P,
}

/// A page of resources. The link to the next one is written even when there is none, as null.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ResourcePage<T> {
    pub value: Vec<T>,
    #[serde(rename = "nextLink")]
    pub next_link: Option<String>,
}

/// The subscription and resource group that a collection is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scope<'a> {
    pub subscription: &'a str,
    pub resource_group: &'a str,
}

impl Scope<'_> {
    pub fn collection_id(&self, collection: &str) -> String {
        let Scope { subscription, resource_group } = self;
        format!(
            "/subscriptions/{subscription}/resourceGroups/{resource_group}/providers/{COLLECTION_TYPE}/{collection}"
        )
    }

    pub fn job_id(&self, collection: &str, job: &str) -> String {
        format!("{}/jobs/{job}", self.collection_id(collection))
    }

    pub fn history_id(&self, collection: &str, job: &str, record: &str) -> String {
        format!("{}/history/{record}", self.job_id(collection, job))
    }

    pub fn collection(
        &self,
        name: &str,
        document: &crate::CollectionDocument,
    ) -> Resource<crate::CollectionProperties> {
        Resource {
            id: self.collection_id(name),
            kind: COLLECTION_TYPE,
            name: name.to_owned(),
            location: document.location.clone(),
            tags: document.tags.clone(),
            properties: document.properties.clone(),
        }
    }

    pub fn job<P>(&self, collection: &str, job: &str, properties: P) -> Resource<P> {
        Resource {
            id: self.job_id(collection, job),
            kind: JOB_TYPE,
            name: format!("{collection}/{job}"),
            location: None,
            tags: BTreeMap::new(),
            properties,
        }
    }

    pub fn history<P>(&self, collection: &str, job: &str, record: &str, properties: P) -> Resource<P> {
        Resource {
            id: self.history_id(collection, job, record),
            kind: HISTORY_TYPE,
            name: format!("{collection}/{job}/{record}"),
            location: None,
            tags: BTreeMap::new(),
            properties,
        }
    }
}

/// What a body says of its own identity, for the caller to compare with the path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ResourceIdentity<'a> {
    pub id: Option<&'a str>,
    pub name: Option<&'a str>,
}

/// The `id` and `name` at the top of a body, whatever else is in it.
pub fn identity(body: &Value) -> ResourceIdentity<'_> {
    let member = |name: &str| {
        let mut members = body.as_object()?.iter();
        members.find(|(written, _)| written.eq_ignore_ascii_case(name))?.1.as_str()
    };
    ResourceIdentity { id: member("id"), name: member("name") }
}
