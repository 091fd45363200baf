//! Collections: written whole, merged, switched on and off, deleted.

use engine::jobs::{JobAnswer, JobCommand};
use kernel::job::{Collection, CollectionDraft, Expect, JobRejection};
use schedule::{CollectionDocument, CollectionState, FrontEnd, Plan, Scope, Sku};
use serde_json::Value;

use super::CollectionPath;
use super::{Jobs, JobsError, RACES_MAX, check_name, new_uid};
use crate::azure;
use crate::error::ApiError;

impl Jobs {
    pub(crate) fn collection(&self, at: &CollectionPath) -> Result<Collection, JobsError> {
        Ok(self.reader.collection(&at.id())?.ok_or(JobRejection::NoCollection)?)
    }

    /// Writes a collection whole. True when it is new.
    pub(crate) async fn put_collection(
        &self,
        at: &CollectionPath,
        body: &Value,
        front: FrontEnd,
        expect: Expect,
    ) -> Result<(Collection, bool), JobsError> {
        check_name(&at.name)?;
        let document = schedule::read_collection(body, front)?;
        self.write_collection(at, &document, expect).await
    }

    pub(crate) async fn patch_collection(
        &self,
        at: &CollectionPath,
        body: &Value,
        expect: Expect,
    ) -> Result<Collection, JobsError> {
        let patch = schedule::read_collection_patch(body)?;
        self.change_collection(at, expect, |document| Ok(document.patched(&patch)?)).await
    }

    /// Enables or disables a collection and the jobs that follow it.
    pub(crate) async fn switch_collection(&self, at: &CollectionPath, on: bool) -> Result<(), JobsError> {
        let state = if on { CollectionState::Enabled } else { CollectionState::Disabled };
        let switch = |document: &CollectionDocument| Ok(document.with_state(state));
        self.change_collection(at, Expect::Anything, switch).await.map(drop)
    }

    async fn change_collection(
        &self,
        at: &CollectionPath,
        expect: Expect,
        change: impl Fn(&CollectionDocument) -> Result<CollectionDocument, JobsError>,
    ) -> Result<Collection, JobsError> {
        for _ in 0..RACES_MAX {
            let current = self.collection(at)?;
            expect.check(Some(current.version))?;
            let document = change(&stored_collection(&current)?)?;
            match self.write_collection(at, &document, Expect::Version(current.version)).await {
                Err(JobsError::Rejected(JobRejection::Changed { .. })) => continue,
                written => return written.map(|(collection, _)| collection),
            }
        }
        Err(JobsError::Conflict("the collection is being changed by others; try again".to_owned()))
    }

    async fn write_collection(
        &self,
        at: &CollectionPath,
        document: &CollectionDocument,
        expect: Expect,
    ) -> Result<(Collection, bool), JobsError> {
        self.check_free(at, document).await?;
        let draft = CollectionDraft {
            subscription: at.subscription.clone(),
            group: at.group.clone(),
            name: at.name.clone(),
            uid: new_uid(),
            spec: document.spec(),
            document: document.stored(),
        };
        match self.ask(at, JobCommand::PutCollection { draft, expect }).await? {
            JobAnswer::Collection { collection, created } => Ok((*collection, created)),
            other => unreachable!("a collection is answered with a collection: {other:?}"),
        }
    }

    /// A subscription has one free collection.
    async fn check_free(&self, at: &CollectionPath, document: &CollectionDocument) -> Result<(), JobsError> {
        if document.plan() != Plan::Free {
            return Ok(());
        }
        for other in self.reader.collections_in(
            self.cluster.owned_partitions(),
            &format!("{}/", at.subscription.to_lowercase()),
        )? {
            if other.id() != at.id() && stored_collection(&other)?.plan() == Plan::Free {
                return Err(taken(&other.name));
            }
        }
        let others = self.cluster.parts_of_other_instances(&azure::collections_uri(&at.subscription)).await?;
        for part in others {
            let part: FreeOnes = serde_json::from_slice(&part)
                .map_err(|error| ApiError::View(format!("the part of another instance: {error}")))?;
            if let Some(other) = part.value.iter().find(|other| other.properties.sku.name == Plan::Free) {
                return Err(taken(&other.name));
            }
        }
        Ok(())
    }

    pub(crate) async fn delete_collection(
        &self,
        at: &CollectionPath,
        expect: Expect,
    ) -> Result<(), JobsError> {
        self.ask(at, JobCommand::DeleteCollection { collection: at.id(), expect }).await.map(drop)
    }
}

/// What has to be known of collections that other instances hold.
#[derive(serde::Deserialize)]
struct FreeOnes {
    value: Vec<FreeOne>,
}

#[derive(serde::Deserialize)]
struct FreeOne {
    name: String,
    properties: FreePlan,
}

#[derive(serde::Deserialize)]
struct FreePlan {
    sku: Sku,
}

fn taken(name: &str) -> JobsError {
    JobsError::Conflict(format!("the subscription already has a free job collection, '{name}'"))
}

/// The document inside a collection.
pub(crate) fn stored_collection(collection: &Collection) -> Result<CollectionDocument, JobsError> {
    let read = CollectionDocument::from_stored(&collection.document);
    read.map_err(|error| ApiError::View(format!("collection {}: {error}", collection.name)).into())
}

/// The subscription and resource group of a collection.
pub(crate) fn scope(collection: &Collection) -> Scope<'_> {
    Scope { subscription: &collection.subscription, resource_group: &collection.group }
}
